//! Captures of every form that `trace` reads, written by hand, and files that are none.

use std::slice;
use std::time::Duration;

use etherparse::{PacketBuilder, PacketBuilderStep, TcpHeader, TcpOptionElement};
use segments::trace::{Error, MssSource, Options, Tally, Trace, read};

const OPTIONS: Options = Options { mss: None, interval: Duration::from_millis(1) };
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
const ETHERNET: u32 = 1;
/// Options of data packets: two fillers and a timestamp, 12 bytes.
const STAMP: [TcpOptionElement; 3] =
    [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(1, 2)];

/// An IPv4 packet with `data` bytes from client to server.
fn data(data: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4(CLIENT, SERVER, 64).tcp(700, 2049, 1, 1000).ack(1);
    written(builder.options(&STAMP).unwrap(), data)
}

/// A SYN, or the answer to one.
fn syn(mss: u16, is_answer: bool) -> Vec<u8> {
    let (from, to, ports) = if is_answer { (SERVER, CLIENT, (2049, 700)) } else { (CLIENT, SERVER, (700, 2049)) };
    let builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, 9, 1000).syn();
    let builder = if is_answer { builder.ack(10) } else { builder };
    written(builder.options(&[TcpOptionElement::MaximumSegmentSize(mss)]).unwrap(), 0)
}

fn written(builder: PacketBuilderStep<TcpHeader>, data: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![7; data]).unwrap();
    bytes
}

fn ethernet(ip: Vec<u8>) -> Vec<u8> {
    let kind: [u8; 2] = if ip[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    [vec![2; 12], kind.to_vec(), ip].concat()
}

/// A capture in the classic format; frame n is at n milliseconds, and at most `snap` bytes of it are there.
fn pcap(link: u32, frames: &[Vec<u8>], snap: usize) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, link];
    let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (number, frame) in frames.iter().enumerate() {
        let captured = frame.len().min(snap);
        let head = [5, number * 1000, captured, frame.len()];
        bytes.extend(head.iter().flat_map(|word| (*word as u32).to_le_bytes()));
        bytes.extend(&frame[..captured]);
    }
    bytes
}

/// The same in pcapng's format, big-endian, with times in nanoseconds.
fn pcapng(link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let block = |kind: u32, body: Vec<u8>| {
        let length = (body.len() as u32 + 12).to_be_bytes();
        [kind.to_be_bytes().to_vec(), length.to_vec(), body, length.to_vec()].concat()
    };
    let section = [vec![0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0], vec![0xff; 8]].concat();
    let resolution = [0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0];
    let interface = [link.to_be_bytes().to_vec(), vec![0; 6], resolution.to_vec()].concat();
    let mut bytes = [block(0x0a0d_0d0a, section), block(1, interface)].concat();
    for (number, frame) in frames.iter().enumerate() {
        let at = number as u64 * 1_000_000;
        let head = [0, (at >> 32) as u32, at as u32, frame.len() as u32, frame.len() as u32];
        let mut body: Vec<u8> = head.iter().flat_map(|word| word.to_be_bytes()).collect();
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        bytes.extend(block(6, body));
    }
    bytes
}

fn read_whole(capture: &[u8]) -> Trace {
    let (trace, ended) = read(capture, OPTIONS);
    ended.unwrap();
    trace
}

/// The counts of the only sender of data.
fn tally(capture: &[u8]) -> Tally {
    let trace = read_whole(capture);
    let mut senders = trace.flows.iter().filter(|flow| flow.tally.packets() > 0);
    let tally = senders.next().unwrap().tally;
    assert_eq!(senders.next(), None);
    tally
}

fn connection() -> Vec<Vec<u8>> {
    [syn(1460, false), syn(1460, true), data(0), data(1448), data(2896), data(65_000), data(100)].into()
}

const CONNECTION: Tally = Tally { single: 1, whole: 1, fractional: 1, short: 1, wire_packets: 49, bytes: 69_444 };

#[test]
fn packets_are_the_same_behind_every_link_header() {
    let null = |ip: Vec<u8>| [vec![2, 0, 0, 0], ip].concat();
    let sll = |ip: Vec<u8>| [vec![0; 14], vec![8, 0], ip].concat();
    let sll2 = |ip: Vec<u8>| [vec![8, 0], vec![0; 18], ip].concat();
    let vlan = |ip: Vec<u8>| [vec![2; 12], vec![0x81, 0, 0, 5, 8, 0], ip].concat();
    let framed = |frame: &dyn Fn(Vec<u8>) -> Vec<u8>| connection().into_iter().map(frame).collect::<Vec<_>>();
    let links: [(u32, Vec<Vec<u8>>); 6] = [
        (ETHERNET, framed(&ethernet)),
        (ETHERNET, framed(&vlan)),
        (0, framed(&null)),
        (101, framed(&|ip| ip)),
        (113, framed(&sll)),
        (276, framed(&sll2)),
    ];
    for (link, frames) in links {
        assert_eq!(tally(&pcap(link, &frames, 65_535)), CONNECTION, "{link}");
        assert_eq!(tally(&pcapng(link as u16, &frames)), CONNECTION, "{link}");
    }
}

#[test]
fn lengths_come_from_headers_where_only_headers_were_captured() {
    let frames: Vec<_> = connection().into_iter().map(ethernet).collect();
    assert_eq!(tally(&pcap(ETHERNET, &frames, 14 + 20 + 32)), CONNECTION);
    let trace = read_whole(&pcap(ETHERNET, &frames, 14 + 20 + 24));
    // Of SYNs the whole header is there, of the others only a part of the options.
    assert_eq!((trace.tcp_packets, trace.short_packets), (2, 5));
}

#[test]
fn padding_of_short_ethernet_frames_is_no_data() {
    let mut frame = ethernet(data(0));
    frame.resize(100, 0);
    let trace = read_whole(&pcap(ETHERNET, &[frame], 65_535));
    assert_eq!((trace.tcp_packets, trace.flows[0].tally), (1, Tally::default()));
}

#[test]
fn length_of_zero_in_a_super_segments_header_is_that_of_the_frame() {
    let mut frame = ethernet(data(60_000));
    frame[16..18].fill(0);
    assert_eq!(tally(&pcap(ETHERNET, &[frame], 128)).bytes, 60_000);
}

#[test]
fn packets_of_ipv6_are_counted_too() {
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(700, 2049, 1, 1000).options(&STAMP).unwrap();
    let capture = pcap(ETHERNET, &[ethernet(written(builder, 1428))], 65_535);
    assert_eq!(tally(&capture).single, 1);
    assert_eq!(read_whole(&capture).flows[0].from.to_string(), "[101:101:101:101:101:101:101:101]:700");
}

#[test]
fn smaller_mss_of_the_two_ends_counts_and_options_are_subtracted() {
    let frames = [syn(9000, false), syn(1012, true), data(1000), data(1012)].map(ethernet);
    let trace = read_whole(&pcap(ETHERNET, &frames, 65_535));
    let flow = &trace.flows[0];
    assert_eq!((flow.mss, flow.mss_source), (1000, MssSource::Handshake));
    assert_eq!((flow.tally.single, flow.tally.fractional), (1, 1));
}

#[test]
fn without_a_handshake_the_mss_is_ethernets_or_what_the_user_says() {
    let capture = pcap(ETHERNET, &[ethernet(data(1448))], 65_535);
    let trace = read_whole(&capture);
    assert_eq!((trace.flows[0].mss, trace.flows[0].mss_source), (1448, MssSource::Assumed));
    let (trace, _) = read(&*capture, Options { mss: Some(724), ..OPTIONS });
    assert_eq!((trace.flows[0].tally.whole, trace.flows[0].mss_source), (1, MssSource::Given));
}

#[test]
fn connection_that_begins_anew_between_the_same_ends_is_another_one() {
    let mut again = connection();
    // Another sequence number in the first SYN.
    again[0][24..28].copy_from_slice(&99_u32.to_be_bytes());
    again[1][24..28].copy_from_slice(&98_u32.to_be_bytes());
    let frames: Vec<_> = connection().into_iter().chain(again).map(ethernet).collect();
    let trace = read_whole(&pcap(ETHERNET, &frames, 65_535));
    let tallies: Vec<_> = trace.flows.iter().filter(|flow| flow.tally.bytes > 0).map(|flow| flow.tally).collect();
    assert_eq!(tallies, [CONNECTION, CONNECTION]);
}

#[test]
fn packets_are_found_at_their_time() {
    let frames: Vec<_> = connection().into_iter().map(ethernet).collect();
    for capture in [pcap(ETHERNET, &frames, 65_535), pcapng(1, &frames)] {
        let trace = read_whole(&capture);
        let packets: Vec<_> = trace.flows[0].timeline.tallies().iter().map(Tally::packets).collect();
        assert_eq!(packets, [0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(trace.duration, Duration::from_millis(6));
    }
}

#[test]
fn capture_that_ends_inside_of_a_packet_is_read_up_to_it() {
    let frames: Vec<_> = connection().into_iter().map(ethernet).collect();
    for capture in [pcap(ETHERNET, &frames, 65_535), pcapng(1, &frames)] {
        let (trace, ended) = read(&capture[..capture.len() - 50], OPTIONS);
        assert!(matches!(ended, Err(Error::Truncated { packets: 6 })), "{ended:?}");
        assert_eq!(trace.tcp_packets, 6);
    }
}

#[test]
fn files_that_are_no_captures_are_refused() {
    let failure = |capture: &[u8]| read(capture, OPTIONS).1.unwrap_err();
    assert!(matches!(failure(b""), Error::Empty));
    assert!(matches!(failure(&[0xd4, 0xc3, 0xb2]), Error::Truncated { packets: 0 }));
    assert!(matches!(failure(&[7; 4096]), Error::Foreign));
    assert!(matches!(failure(&pcap(105, &[vec![0; 80]], 65_535)), Error::LinkType { link_type: 105 }));
    let mut huge = pcap(ETHERNET, &[ethernet(data(10))], 65_535);
    huge[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    huge.resize(4 << 20, 0);
    assert!(matches!(failure(&huge), Error::TooLarge { packets: 0, .. }), "{:?}", failure(&huge));
}

#[test]
fn damaged_captures_end_in_an_error_or_in_figures_and_never_in_a_panic() {
    let frames: Vec<_> = connection().into_iter().map(ethernet).collect();
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut capture = if random.bool() { pcap(ETHERNET, &frames, 200) } else { pcapng(1, &frames[..4]) };
        for _ in 0..random.usize(1..6) {
            let place = random.usize(..capture.len().min(400));
            capture[place] = random.u8(..);
        }
        let (trace, _) = read(&*capture, OPTIONS);
        assert!(trace.flows.len() <= 14, "seed {seed}");
    }
}

/// A packet with `data` bytes at `sequence` from client to server.
fn data_at(sequence: u32, data: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4(CLIENT, SERVER, 64).tcp(700, 2049, sequence, 1000).ack(1);
    ethernet(written(builder.options(&STAMP).unwrap(), data))
}

/// An acknowledgment from server to client.
fn acknowledgment(number: u32) -> Vec<u8> {
    let builder = PacketBuilder::ipv4(SERVER, CLIENT, 64).tcp(2049, 700, 1, 1000).ack(number);
    ethernet(written(builder.options(&STAMP).unwrap(), 0))
}

/// Early packets of a capture; frame n is at n tenths of a millisecond.
fn early(frames: &[Vec<u8>]) -> u64 {
    let mut capture = pcap(ETHERNET, frames, 65_535);
    let mut at = 24;
    for (number, frame) in frames.iter().enumerate() {
        let microseconds = (number as u32 * 100).to_le_bytes();
        capture[at + 4..at + 8].copy_from_slice(&microseconds);
        at += 16 + frame.len();
    }
    read_whole(&capture).flows.iter().map(|flow| flow.early).sum()
}

#[test]
fn single_segment_is_early_when_more_leaves_at_once_though_nothing_has_allowed_it() {
    let begin = [ethernet(syn(1460, false)), ethernet(syn(1460, true)), acknowledgment(10), data_at(10, 2896)];
    let after = |frames: &[Vec<u8>]| early(&[&begin[..], frames].concat());
    let (single, more) = (data_at(2906, 1448), data_at(4354, 5000));
    assert_eq!(after(&[single.clone(), more.clone()]), 1);
    // What the other end has said before allows nothing.
    assert_eq!(after(&[acknowledgment(10), single.clone(), acknowledgment(10), more.clone()]), 1);
    // The window had no room for more.
    assert_eq!(after(&[single.clone(), acknowledgment(2906), more.clone()]), 0);
    assert_eq!(after(&[acknowledgment(2906), single.clone(), more.clone()]), 0);
    // More came later, when nothing had been there, or as a probe.
    let pause = vec![ethernet(data(0)); 12];
    assert_eq!(after(&[slice::from_ref(&single), &pause[..], slice::from_ref(&more)].concat()), 0);
    // A super-segment is none, nor is what is sent again.
    assert_eq!(after(&[data_at(2906, 2896), data_at(5802, 1448)]), 0);
    assert_eq!(after(&[single.clone(), acknowledgment(4354), more, single, data_at(9354, 9)]), 0);
}
