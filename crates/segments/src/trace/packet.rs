//! Reads the TCP header, or the part of a UDP datagram, of a captured frame.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TransportSlice, ip_number,
};
use pcap_parser::Linktype;

use super::capture::Frame;

/// The length of Linux's header for packets of the interface `any`, version 2.
const SLL2_HEADER_BYTES: usize = 20;
/// The link type of that header.
const SLL2: Linktype = Linktype(276);
/// Bytes of the address family before packets of BSD's loopback.
const NULL_HEADER_BYTES: usize = 4;

/// The relevant contents of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram, or a part of one.
    Udp(Part<'a>),
    /// TCP with an incompletely captured header.
    Short,
    /// Something else: another protocol, or a fragment of TCP.
    Other,
    /// A packet of an unknown link type, which has this number in the list of tcpdump.org.
    Unknown(i32),
}

/// A TCP segment, or a super-segment for a card to segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Whether it begins a connection.
    pub is_syn: bool,
    /// Whether it acknowledges.
    pub is_ack: bool,
    /// The number of the first byte that is not acknowledged.
    pub acknowledgment: u32,
    /// The window, before it is scaled.
    pub window: u16,
    /// The MSS option.
    pub mss: Option<u16>,
    /// Bytes of options.
    pub option_bytes: usize,
    /// Bytes of data, on the wire.
    pub data_bytes: usize,
    /// What was captured of the data, from its first byte.
    pub data: &'a [u8],
}

/// The whole of a UDP datagram with its header, or a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The number that the fragments of a datagram share.
    pub identification: u32,
    /// Where it is in the datagram.
    pub offset: usize,
    /// Whether nothing follows.
    pub is_last: bool,
    /// Its bytes on the wire.
    pub wire_bytes: usize,
    /// What was captured of them.
    pub data: &'a [u8],
}

impl Part<'_> {
    /// Whether it is all of the datagram.
    pub fn is_whole(&self) -> bool {
        self.offset == 0 && self.is_last
    }
}

/// Looks into a frame.
pub(super) fn parse<'a>(frame: &Frame<'a>) -> Packet<'a> {
    let bytes = frame.bytes;
    let sliced = match frame.link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(bytes).ok(),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => LaxSlicedPacket::from_ip(bytes).ok(),
        Linktype::NULL | Linktype::LOOP => {
            bytes.get(NULL_HEADER_BYTES..).and_then(|ip| LaxSlicedPacket::from_ip(ip).ok())
        }
        Linktype::LINUX_SLL => with_ether_type(bytes, 14, 16),
        SLL2 => with_ether_type(bytes, 0, SLL2_HEADER_BYTES),
        other => return Packet::Unknown(other.0),
    };
    sliced.map_or(Packet::Other, |sliced| segment(frame, &sliced))
}

/// Parses the packet behind a header of `header_bytes` with an Ethernet type at `type_at`.
fn with_ether_type(bytes: &[u8], type_at: usize, header_bytes: usize) -> Option<LaxSlicedPacket<'_>> {
    let kind = bytes.get(type_at..type_at + 2)?;
    let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
    Some(LaxSlicedPacket::from_ether_type(kind, bytes.get(header_bytes..)?))
}

fn segment<'a>(frame: &Frame<'a>, sliced: &LaxSlicedPacket<'a>) -> Packet<'a> {
    let Some(ip) = sliced.net.as_ref().and_then(Ip::new) else { return Packet::Other };
    if ip.protocol == ip_number::UDP {
        return Packet::Udp(part(frame, &ip));
    }
    if ip.protocol != ip_number::TCP {
        return Packet::Other;
    }
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else {
        return if ip.fragment.is_some() { Packet::Other } else { Packet::Short };
    };
    let tcp_at = offset(frame.bytes, tcp.slice());
    let ip_end = ip.end(frame);
    let header_bytes = usize::from(tcp.data_offset()) * 4;
    let mss = tcp.options_iterator().flatten().find_map(|option| match option {
        TcpOptionElement::MaximumSegmentSize(mss) => Some(mss),
        _ => None,
    });
    let data_bytes = ip_end.saturating_sub(tcp_at + header_bytes);
    let captured = frame.bytes.get(tcp_at + header_bytes..).unwrap_or_default();
    Packet::Tcp(Segment {
        from: SocketAddr::new(ip.source, tcp.source_port()),
        to: SocketAddr::new(ip.destination, tcp.destination_port()),
        sequence: tcp.sequence_number(),
        is_syn: tcp.syn(),
        is_ack: tcp.ack(),
        acknowledgment: tcp.acknowledgment_number(),
        window: tcp.window_size(),
        mss,
        option_bytes: tcp.options().len(),
        data_bytes,
        data: &captured[..captured.len().min(data_bytes)],
    })
}

fn part<'a>(frame: &Frame<'a>, ip: &Ip<'_, 'a>) -> Part<'a> {
    let at = offset(frame.bytes, ip.payload);
    let wire_bytes = ip.end(frame).saturating_sub(at);
    let Fragment { identification, offset, is_last } =
        ip.fragment.unwrap_or(Fragment { identification: 0, offset: 0, is_last: true });
    let data = &ip.payload[..ip.payload.len().min(wire_bytes)];
    Part { source: ip.source, destination: ip.destination, identification, offset, is_last, wire_bytes, data }
}

/// The offset of `part` in `whole`, of which it is a slice.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// An IP header of either version.
struct Ip<'h, 'a> {
    source: IpAddr,
    destination: IpAddr,
    header: &'h [u8],
    /// Bytes of header and payload; `None` if the header omits them.
    length: Option<usize>,
    payload: &'a [u8],
    protocol: IpNumber,
    /// If it is one.
    fragment: Option<Fragment>,
}

/// The place of a fragment.
#[derive(Clone, Copy)]
struct Fragment {
    identification: u32,
    offset: usize,
    is_last: bool,
}

impl<'h, 'a> Ip<'h, 'a> {
    fn new(net: &'h LaxNetSlice<'a>) -> Option<Ip<'h, 'a>> {
        let payload = net.ip_payload_ref()?;
        let (payload, protocol, is_fragment) = (payload.payload, payload.ip_number, payload.fragmented);
        match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let length = Some(usize::from(header.total_len())).filter(|length| *length > 0);
                let (source, destination) = (header.source_addr().into(), header.destination_addr().into());
                let fragment = is_fragment.then(|| Fragment {
                    identification: header.identification().into(),
                    offset: header.fragments_offset().byte_offset().into(),
                    is_last: !header.more_fragments(),
                });
                Some(Ip { source, destination, header: header.slice(), length, payload, protocol, fragment })
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let payload_bytes = usize::from(header.payload_length());
                let length = (payload_bytes > 0).then(|| header.slice().len() + payload_bytes);
                let (source, destination) = (header.source_addr().into(), header.destination_addr().into());
                let fragment = ip.extensions().clone().into_iter().find_map(|extension| match extension {
                    Ipv6ExtensionSlice::Fragment(fragment) => Some(Fragment {
                        identification: fragment.identification(),
                        offset: fragment.fragment_offset().byte_offset().into(),
                        is_last: !fragment.more_fragments(),
                    }),
                    _ => None,
                });
                let fragment = fragment.filter(|_| is_fragment);
                Some(Ip { source, destination, header: header.slice(), length, payload, protocol, fragment })
            }
            LaxNetSlice::Arp(_) => None,
        }
    }

    /// Where it ends in its frame.
    fn end(&self, frame: &Frame<'_>) -> usize {
        match self.length {
            // With offload beyond 64 KiB the field is 0, and only the frame's length is known.
            None => frame.wire_bytes,
            Some(length) => offset(frame.bytes, self.header) + length,
        }
    }
}
