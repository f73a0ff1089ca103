//! Frames of a TAP device: the virtio header with segmentation offload, Ethernet, IPv4 and TCP.

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::{
    ArpHardwareId, ArpOperation, ArpPacket, EtherType, Ethernet2Header, IpNumber, Ipv4Header, LaxNetSlice,
    LaxSlicedPacket, TcpHeader, TcpOptionElement, TransportSlice,
};

use crate::sender::{Flags, MAX_SACK_BLOCKS, Segment, SegmentOptions};

/// Bytes of the virtio header (`struct virtio_net_hdr`).
pub(super) const VIRTIO_BYTES: usize = 10;
/// The maximum size of a frame: an IP packet of 64 KiB with headers.
pub(super) const MAX_FRAME_BYTES: usize = VIRTIO_BYTES + 18 + 65_535;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is incomplete.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`.
const GSO_TCPV4: u8 = 1;
const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
/// The offset of the checksum in a TCP header.
const TCP_CHECKSUM_AT: usize = 16;
const TIME_TO_LIVE: u8 = 64;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub local: SocketAddrV4,
    pub remote: SocketAddrV4,
    pub local_mac: [u8; 6],
    pub remote_mac: [u8; 6],
}

/// The contents of a received frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming<'a> {
    /// A segment of the connection, with its data.
    Segment(Segment, &'a [u8]),
    /// An ARP request for our address; this is the reply.
    Question(Vec<u8>),
    /// Anything else.
    Other,
}

impl Ends {
    /// Writes a segment into `frame`. The kernel completes the checksum, and segments it if there is an `offload_mss`.
    pub fn encode(&self, segment: &Segment, data: [&[u8]; 2], offload_mss: Option<usize>, frame: &mut Vec<u8>) {
        let data_bytes = data[0].len() + data[1].len();
        let mut tcp = self.tcp_header(segment);
        let tcp_bytes = tcp.header_len();
        tcp.checksum = self.pseudo_checksum(tcp_bytes + data_bytes);
        let ethernet =
            Ethernet2Header { source: self.local_mac, destination: self.remote_mac, ether_type: EtherType::IPV4 };
        frame.clear();
        let header_bytes = ETHERNET_BYTES + IP_BYTES + tcp_bytes;
        frame.extend(virtio_header(header_bytes, offload_mss));
        frame.extend(ethernet.to_bytes());
        frame.extend(self.ip_header(tcp_bytes + data_bytes).to_bytes());
        frame.extend(tcp.to_bytes());
        data.iter().for_each(|part| frame.extend_from_slice(part));
    }

    fn tcp_header(&self, segment: &Segment) -> TcpHeader {
        let (from, to) = (self.local.port(), self.remote.port());
        let mut tcp = TcpHeader::new(from, to, segment.sequence, segment.window);
        let flags = segment.flags;
        (tcp.syn, tcp.ack, tcp.fin, tcp.rst, tcp.psh) = (flags.syn, flags.ack, flags.fin, flags.rst, flags.psh);
        tcp.acknowledgment_number = segment.acknowledgment;
        // All options of our segments fit: MSS, scale, SACK and a timestamp take 20 bytes.
        let _ = tcp.set_options(&options(&segment.options));
        tcp
    }

    fn ip_header(&self, payload_bytes: usize) -> Ipv4Header {
        let addresses = (self.local.ip().octets(), self.remote.ip().octets());
        let payload_bytes = u16::try_from(payload_bytes).unwrap_or(u16::MAX);
        let mut ip =
            Ipv4Header::new(payload_bytes, TIME_TO_LIVE, IpNumber::TCP, addresses.0, addresses.1).unwrap_or_default();
        ip.dont_fragment = true;
        ip.header_checksum = ip.calc_header_checksum();
        ip
    }

    /// The sum over addresses, protocol and length, which the kernel completes.
    fn pseudo_checksum(&self, bytes: usize) -> u16 {
        let words = |ip: &Ipv4Addr| {
            let [a, b, c, d] = ip.octets();
            u32::from(u16::from_be_bytes([a, b])) + u32::from(u16::from_be_bytes([c, d]))
        };
        let sum = words(self.local.ip()) + words(self.remote.ip()) + u32::from(IpNumber::TCP.0) + bytes as u32;
        let folded = (sum & 0xffff) + (sum >> 16);
        ((folded & 0xffff) + (folded >> 16)) as u16
    }

    /// Parses a frame of the device.
    pub fn decode<'a>(&self, frame: &'a [u8]) -> Incoming<'a> {
        let Some((virtio, ethernet)) = frame.split_at_checked(VIRTIO_BYTES) else { return Incoming::Other };
        let Ok(sliced) = LaxSlicedPacket::from_ethernet(ethernet) else { return Incoming::Other };
        match (&sliced.net, &sliced.transport) {
            (Some(LaxNetSlice::Arp(question)), _) => self.answer(&question.to_packet()),
            (Some(LaxNetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) => {
                let (from, to) = (ip.header().source_addr(), ip.header().destination_addr());
                let is_ours = SocketAddrV4::new(from, tcp.source_port()) == self.remote
                    && SocketAddrV4::new(to, tcp.destination_port()) == self.local;
                let is_whole = !ip.payload().fragmented && !ip.payload().incomplete;
                let is_right = virtio[0] & NEEDS_CHECKSUM != 0
                    || tcp.calc_checksum_ipv4(from.octets(), to.octets()).is_ok_and(|sum| sum == tcp.checksum());
                if !(is_ours && is_whole && is_right) {
                    return Incoming::Other;
                }
                let data = &tcp.slice()[usize::from(tcp.data_offset()) * 4..];
                let offset = data.as_ptr() as usize - frame.as_ptr() as usize;
                Incoming::Segment(segment(tcp), &frame[offset..offset + data.len()])
            }
            _ => Incoming::Other,
        }
    }

    fn answer<'a>(&self, question: &ArpPacket) -> Incoming<'a> {
        let address = self.local.ip().octets();
        if question.operation != ArpOperation::REQUEST || question.target_protocol_addr() != address {
            return Incoming::Other;
        }
        let (to_mac, to) = (question.sender_hw_addr(), question.sender_protocol_addr());
        let reply = ArpPacket::new(
            ArpHardwareId::ETHERNET,
            EtherType::IPV4,
            ArpOperation::REPLY,
            &self.local_mac,
            &address,
            to_mac,
            to,
        );
        let Ok(reply) = reply else { return Incoming::Other };
        let ethernet =
            Ethernet2Header { source: self.local_mac, destination: self.remote_mac, ether_type: EtherType::ARP };
        Incoming::Question([&[0; VIRTIO_BYTES][..], &ethernet.to_bytes(), &reply.to_bytes()].concat())
    }
}

/// Tells the kernel that the checksum is incomplete, and where and how to segment.
fn virtio_header(header_bytes: usize, offload_mss: Option<usize>) -> [u8; VIRTIO_BYTES] {
    let mut header = [0; VIRTIO_BYTES];
    let mut put = |at: usize, value: usize| header[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
    put(2, header_bytes);
    put(4, offload_mss.unwrap_or(0));
    put(6, ETHERNET_BYTES + IP_BYTES);
    put(8, TCP_CHECKSUM_AT);
    header[0] = NEEDS_CHECKSUM;
    header[1] = if offload_mss.is_some() { GSO_TCPV4 } else { 0 };
    header
}

fn options(options: &SegmentOptions) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale};
    let mut elements = Vec::new();
    elements.extend(options.mss.map(MaximumSegmentSize));
    elements.extend(options.window_scale.into_iter().flat_map(|shift| [Noop, WindowScale(shift)]));
    if options.sack_permitted {
        elements.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
    }
    elements.extend(options.timestamp.into_iter().flat_map(|(clock, echo)| [Noop, Noop, Timestamp(clock, echo)]));
    elements
}

fn segment(tcp: &etherparse::TcpSlice<'_>) -> Segment {
    let mut options = SegmentOptions::default();
    for element in tcp.options_iterator().flatten() {
        match element {
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::Timestamp(clock, echo) => options.timestamp = Some((clock, echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                let blocks = std::iter::once(Some(first)).chain(others).take(MAX_SACK_BLOCKS);
                options.sack.iter_mut().zip(blocks).for_each(|(place, block)| *place = block);
            }
            TcpOptionElement::Noop => {}
        }
    }
    Segment {
        sequence: tcp.sequence_number(),
        acknowledgment: tcp.acknowledgment_number(),
        flags: Flags { syn: tcp.syn(), ack: tcp.ack(), fin: tcp.fin(), rst: tcp.rst(), psh: tcp.psh() },
        window: tcp.window_size(),
        options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends {
        local: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 40_000),
        remote: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5201),
        local_mac: [2, 0, 0, 0, 0, 2],
        remote_mac: [2, 0, 0, 0, 0, 1],
    };

    fn other_end() -> Ends {
        Ends { local: ENDS.remote, remote: ENDS.local, local_mac: ENDS.remote_mac, remote_mac: ENDS.local_mac }
    }

    fn syn() -> Segment {
        Segment {
            sequence: 7,
            acknowledgment: 8,
            flags: Flags { syn: true, ack: true, ..Flags::default() },
            window: 9,
            options: SegmentOptions {
                mss: Some(1460),
                window_scale: Some(3),
                sack_permitted: true,
                timestamp: Some((1, 2)),
                ..SegmentOptions::default()
            },
        }
    }

    #[test]
    fn segment_is_read_as_it_was_written() {
        let mut frame = Vec::new();
        ENDS.encode(&syn(), [b"abc", b"de"], None, &mut frame);
        assert_eq!(other_end().decode(&frame), Incoming::Segment(syn(), b"abcde"));
        assert_eq!(ENDS.decode(&frame), Incoming::Other);
        (0..frame.len()).for_each(|length| assert_eq!(other_end().decode(&frame[..length]), Incoming::Other));
    }

    #[test]
    fn checksum_begins_with_the_sum_that_the_kernel_completes() {
        let mut frame = Vec::new();
        ENDS.encode(&syn(), [b"abcdef", b""], None, &mut frame);
        let tcp = &frame[VIRTIO_BYTES + ETHERNET_BYTES + IP_BYTES..];
        let words = tcp.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum = words.sum::<u32>();
        let folded = (sum & 0xffff) + (sum >> 16);
        let completed = !((folded & 0xffff) + (folded >> 16)) as u16;
        // A complete checksum is right, and detects one wrong bit.
        let at = VIRTIO_BYTES + ETHERNET_BYTES + IP_BYTES + TCP_CHECKSUM_AT;
        frame[at..at + 2].copy_from_slice(&completed.to_be_bytes());
        frame[0] = 0;
        assert!(matches!(other_end().decode(&frame), Incoming::Segment(..)));
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(other_end().decode(&frame), Incoming::Other);
    }

    #[test]
    fn super_segment_tells_the_kernel_where_to_cut() {
        let mut frame = Vec::new();
        ENDS.encode(&Segment::default(), [&[0; 3000], b""], Some(1448), &mut frame);
        let words: Vec<u16> =
            frame[2..VIRTIO_BYTES].chunks(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
        assert_eq!((frame[0], frame[1], words), (NEEDS_CHECKSUM, GSO_TCPV4, vec![54, 1448, 34, 16]));
    }

    #[test]
    fn question_for_our_address_is_answered_and_others_are_not() {
        let ask = |address: [u8; 4]| {
            let mac = ENDS.remote_mac;
            let packet = ArpPacket::new(
                ArpHardwareId::ETHERNET,
                EtherType::IPV4,
                ArpOperation::REQUEST,
                &mac,
                &[10, 0, 0, 1],
                &[0; 6],
                &address,
            );
            let ethernet = Ethernet2Header { source: mac, destination: [0xff; 6], ether_type: EtherType::ARP };
            [&[0; VIRTIO_BYTES][..], &ethernet.to_bytes(), &packet.unwrap().to_bytes()].concat()
        };
        let question = ask([10, 0, 0, 2]);
        let Incoming::Question(reply) = ENDS.decode(&question) else { panic!("no answer") };
        assert_eq!(reply[VIRTIO_BYTES..VIRTIO_BYTES + 6], ENDS.remote_mac);
        assert_eq!(reply[VIRTIO_BYTES + 14 + 8..VIRTIO_BYTES + 14 + 14], ENDS.local_mac);
        assert_eq!(ENDS.decode(&ask([10, 0, 0, 9])), Incoming::Other);
    }
}
