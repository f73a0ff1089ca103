//! Peers that send what makes no sense.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};

use rustix::process::Signal;

use testing::PATIENCE;
use testing::program::wire::{LAST_FRAGMENT, NULL, READ, call, read_arguments, record, reply};
use testing::program::{Server, serve_within, wharf_ok};

/// How often each kind of nonsense is sent.
const TIMES: usize = 100;
/// The longest record that is taken, and a little more than that (`rpc::record::Limits`).
const TOO_LONG: u32 = (1 << 20) + (128 << 10) + 1;
/// How much memory for data the server may have (`ulimit -d`), in KiB: half messages announce ten times as much.
const MAX_DATA_KIB: u64 = 100 << 10;

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the peer has closed the connection, or does so now; what it still sends is not looked at.
fn is_closed(mut stream: TcpStream) -> bool {
    match io::copy(&mut stream, &mut io::sink()) {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe),
    }
}

/// Sends `bytes` until the server has enough.
fn is_cut_off(server: &Server, bytes: &[u8], most: usize) -> bool {
    let mut stream = connect(server);
    for _ in 0..most {
        if stream.write_all(bytes).is_err() {
            return true;
        }
    }
    is_closed(stream)
}

/// Bytes that look like noise, the same ones each time (xorshift).
fn noise(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

/// How often the event loops counted something, as the log tells at the end. What never happened is left out.
fn counter(server: &Server, name: &str) -> usize {
    let log = server.log();
    let Some((_, rest)) = log.split_once(&format!("{name}=")) else { return 0 };
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn streams_that_make_no_sense_are_closed_and_counted_and_nobody_else_notices() {
    let mut server = Server::start(1, &["mem:16M"]);
    let mut witness = connect(&server);
    let mut closed = 0;
    for round in 0..TIMES {
        // The first word of noise is made a mark of a record that is too long, so that every stream is closed for it.
        let garbage: Vec<u8> = [0xff].into_iter().chain(noise(round as u64)).take(5000).collect();
        assert!(is_cut_off(&server, &garbage, 1));
        assert!(is_cut_off(&server, &(LAST_FRAGMENT | TOO_LONG).to_be_bytes(), 1));
        closed += 2;
    }
    for fragment in [&0_u32.to_be_bytes()[..], &[0, 0, 0, 1, b'x'], &[&[0, 0, 0x40, 0][..], &[b'x'; 0x4000]].concat()] {
        assert!(is_cut_off(&server, fragment, 1_000_000), "a record without end");
        closed += 1;
    }
    let half = record(&call(1, NULL, &[]));
    let no_call = record(&[0; 40].map(|_: u8| 1));
    assert!(is_cut_off(&server, &no_call, 1));
    drop((0..half.len()).map(|end| connect(&server).write_all(&half[..end])).collect::<Vec<_>>());

    witness.write_all(&half).unwrap();
    assert_eq!(reply(&mut witness).unwrap().0, 1);
    assert_eq!(wharf_ok(&["ls", &server.url("/mem")]), "");
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    server.wait_for_log(" ended ");
    assert_eq!((counter(&server, "closed_bad_frame"), counter(&server, "closed_by_service")), (closed, 1));
    assert_eq!(counter(&server, "closed_panic"), 0);
}

#[test]
fn messages_that_never_end_take_no_memory_for_what_they_announce() {
    const HALF_MESSAGES: usize = 1000;
    let mut command = serve_within(&format!("-d {MAX_DATA_KIB}"));
    // Each event loop has a stack of its own.
    command.args(["--listen", "127.0.0.1:0", "--loops", "2", "mem:16M"]);
    let server = Server::spawn(1, command);
    let announced = LAST_FRAGMENT | (TOO_LONG - 1);
    let mut half: Vec<TcpStream> = (0..HALF_MESSAGES).map(|_| connect(&server)).collect();
    for stream in &mut half {
        stream.write_all(&announced.to_be_bytes()).unwrap();
        stream.write_all(&call(1, READ, &[0; 100])).unwrap();
    }
    assert_eq!(wharf_ok(&["ls", &server.url("/mem")]), "");
    for stream in &mut half {
        stream.set_nonblocking(true).unwrap();
        let error = stream.read(&mut [0]).expect_err("the connection is open and brings nothing");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}

/// A call as words, from the RPC version on.
fn call_of(xid: u32, version_and_on: &[u32]) -> Vec<u8> {
    [xid, 0].iter().chain(version_and_on).flat_map(|word| word.to_be_bytes()).collect()
}

/// What a reply says, as words.
fn answer(stream: &mut TcpStream, message: &[u8]) -> Vec<u32> {
    stream.write_all(&record(message)).unwrap();
    let (xid, rest) = reply(stream).unwrap();
    assert_eq!(xid.to_be_bytes(), message[..4]);
    rest.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// What comes before the status of an accepted call: a reply, accepted, with an empty verifier (RFC 5531 §9).
const ACCEPTED: [u32; 4] = [1, 0, 0, 0];

#[test]
fn calls_that_make_no_sense_get_their_error_and_the_next_one_its_answer() {
    let server = Server::start(1, &["mem:16M"]);
    let mut stream = connect(&server);
    let handle = read_arguments(&[7; 64], 1000);
    let mut longer_than_it_is = call(5, READ, &handle);
    longer_than_it_is[40..44].copy_from_slice(&0xffff_fff0_u32.to_be_bytes());
    for (message, says) in [
        // RPC_MISMATCH from version 2 to 2, and AUTH_ERROR with AUTH_TOOWEAK for GSS.
        (call_of(1, &[3, 100_003, 3, 0, 0, 0, 0, 0]), &[1, 1, 0, 2, 2][..]),
        (call_of(2, &[2, 100_003, 3, 1, 6, 0, 0, 0]), &[1, 1, 1, 5]),
        // PROG_UNAVAIL for the side protocol of quotas, PROG_MISMATCH for NFS version 5, PROC_UNAVAIL.
        (call_of(3, &[2, 100_011, 2, 0, 0, 0, 0, 0]), &[&ACCEPTED[..], &[1]].concat()),
        (call_of(4, &[2, 100_003, 5, 0, 0, 0, 0, 0]), &[&ACCEPTED[..], &[2, 2, 4]].concat()),
        (call(6, 999, &[]), &[&ACCEPTED[..], &[3]].concat()),
        // GARBAGE_ARGS.
        (longer_than_it_is, &[&ACCEPTED[..], &[4]].concat()),
        (call(7, READ, &handle[..20]), &[&ACCEPTED[..], &[4]].concat()),
        (call(8, NULL, &[]), &[&ACCEPTED[..], &[0]].concat()),
    ] {
        assert_eq!(answer(&mut stream, &message), says);
    }
}

#[test]
fn record_of_many_fragments_that_comes_byte_by_byte_is_one_call() {
    let server = Server::start(1, &["mem:16M"]);
    let mut stream = connect(&server);
    stream.set_nodelay(true).unwrap();
    let message = call(9, NULL, &[]);
    let (others, last) = message.split_last_chunk::<3>().unwrap();
    let fragments: Vec<u8> = others.chunks(1).flat_map(|byte| [0, 0, 0, 1, byte[0]]).collect();
    for byte in [&fragments[..], &record(last)].concat() {
        stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(reply(&mut stream).unwrap().0, 9);
}

#[test]
fn datagrams_that_make_no_sense_are_dropped_and_the_next_one_is_answered() {
    let server = Server::start(1, &["mem:16M"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(server.address()).unwrap();
    for round in 0..TIMES {
        let garbage: Vec<u8> = noise(round as u64).take(round * 500).collect();
        socket.send(&garbage).unwrap();
        socket.send(&call(7, READ, &[])[..round % 40]).unwrap();
        let xid = 1_000_000 + round as u32;
        socket.send(&call(xid, NULL, &[])).unwrap();
        let mut answer = [0; 2000];
        while !answer.starts_with(&xid.to_be_bytes()) {
            socket.recv(&mut answer).unwrap();
        }
    }
}
