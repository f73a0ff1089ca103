//! A proxy in front of a server, which counts the calls of each connection and writes what passes as a capture.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// How often each procedure of NFSv3 was called.
pub(crate) type Procedures = BTreeMap<u32, u32>;

/// A proxy, until the process ends.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    tape: Arc<Mutex<Tape>>,
}

/// A packet: when, from which end of which connection, and its data.
#[derive(Clone)]
pub(crate) struct Passed {
    pub(crate) at_us: u64,
    pub(crate) connection: u16,
    pub(crate) is_call: bool,
    /// The number of its first byte.
    pub(crate) sequence: u32,
    /// How many bytes of the other direction were passed before.
    pub(crate) acknowledgment: u32,
    pub(crate) data: Vec<u8>,
}

#[derive(Default)]
struct Tape {
    packets: Vec<Passed>,
    /// What each connection has sent in both directions.
    sent: Vec<[u32; 2]>,
}

/// How many bytes a packet has at most.
const PACKET_BYTES: usize = 32 << 10;

impl Recorder {
    pub(crate) fn start(server: SocketAddr) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, tape) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Tape::default())));
        let shared = Arc::clone(&tape);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                [&client, &server].iter().for_each(|socket| socket.set_nodelay(true).unwrap());
                let connection = {
                    let mut tape = shared.lock().unwrap();
                    tape.sent.push([0; 2]);
                    tape.sent.len() as u16 - 1
                };
                let ends = [(&client, &server, true), (&server, &client, false)];
                for (from, to, is_call) in ends {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let tape = Arc::clone(&shared);
                    thread::spawn(move || pass(from, to, connection, is_call, &tape));
                }
            }
        });
        Recorder { address, tape }
    }

    /// What was passed so far.
    pub(crate) fn packets(&self) -> Vec<Passed> {
        self.tape.lock().unwrap().packets.clone()
    }

    /// What the clients sent on each connection, in the order of their beginnings.
    pub(crate) fn sent(&self) -> Vec<Vec<u8>> {
        let packets = self.packets();
        let count = packets.iter().map(|packet| packet.connection + 1).max().unwrap_or(0);
        let sent = (0..count).map(|connection| {
            let mine = packets.iter().filter(|packet| packet.connection == connection && packet.is_call);
            mine.flat_map(|packet| packet.data.clone()).collect()
        });
        sent.collect()
    }

    /// The procedures of NFSv3 that were called on each connection that has some, in the order of their beginnings.
    pub(crate) fn procedures(&self) -> Vec<Procedures> {
        let calls = self.sent().into_iter().map(|sent| procedures_in(&sent));
        calls.filter(|calls| !calls.is_empty()).collect()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, connection: u16, is_call: bool, tape: &Mutex<Tape>) {
    let mut buffer = vec![0; PACKET_BYTES];
    loop {
        let length = from.read(&mut buffer).unwrap_or(0);
        if length == 0 {
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
        let data = buffer[..length].to_vec();
        let way = usize::from(is_call);
        let mut tape = tape.lock().unwrap();
        let at_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        let sent = tape.sent[usize::from(connection)];
        tape.sent[usize::from(connection)][way] += length as u32;
        let (sequence, acknowledgment) = (sent[way], sent[1 - way]);
        tape.packets.push(Passed { at_us, connection, is_call, sequence, acknowledgment, data });
        drop(tape);
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

/// The procedures of NFSv3 in a stream of whole records of one fragment.
fn procedures_in(stream: &[u8]) -> Procedures {
    let mut procedures = Procedures::new();
    for message in messages(stream) {
        let word = |index: usize| u32::from_be_bytes(message[index * 4..index * 4 + 4].try_into().unwrap());
        if (word(3), word(4)) == (100_003, 3) {
            *procedures.entry(word(5)).or_default() += 1;
        }
    }
    procedures
}

/// The messages in a stream of whole records of one fragment.
pub(crate) fn messages(mut stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (mark, rest) = stream.split_first_chunk()?;
        let (message, behind) = rest.split_at((u32::from_be_bytes(*mark) & !(1 << 31)) as usize);
        stream = behind;
        Some(message)
    })
}

/// A capture of raw IP in pcap format, of which each packet has at most `snap_bytes`.
pub(crate) fn pcap(packets: &[Passed], snap_bytes: usize) -> Vec<u8> {
    const RAW_IP: u32 = 101;
    const VERSION_2_4: u32 = 4 << 16 | 2;
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, VERSION_2_4, 0, 0, snap_bytes as u32, RAW_IP] {
        file.extend(u32::to_le_bytes(word));
    }
    for packet in packets {
        let bytes = ip(packet);
        let captured = bytes.len().min(snap_bytes);
        let at = [(packet.at_us / 1_000_000) as u32, (packet.at_us % 1_000_000) as u32];
        for word in [at[0], at[1], captured as u32, bytes.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&bytes[..captured]);
    }
    file
}

/// A packet with the headers of IPv4 and TCP, without checksums.
fn ip(packet: &Passed) -> Vec<u8> {
    const HEADER_BYTES: usize = 20;
    let client = (Ipv4Addr::new(10, 0, 0, 1), 1000 + packet.connection);
    let server = (Ipv4Addr::new(10, 0, 0, 2), 2049);
    let (from, to) = if packet.is_call { (client, server) } else { (server, client) };
    let length = (2 * HEADER_BYTES + packet.data.len()) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend(from.0.octets());
    bytes.extend(to.0.octets());
    bytes.extend(from.1.to_be_bytes());
    bytes.extend(to.1.to_be_bytes());
    // Numbers begin somewhere, here shortly before they wrap around.
    const FIRST: u32 = u32::MAX - 1000;
    bytes.extend(packet.sequence.wrapping_add(FIRST).to_be_bytes());
    bytes.extend(packet.acknowledgment.wrapping_add(FIRST).to_be_bytes());
    bytes.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(&packet.data);
    bytes
}
