//! Answers over TCP, however they are sent.

use std::io::Write;
use std::num::NonZero;
use std::time::Duration;

use net::SendPath;

use testing::echo::{TestServer, framed, framed_with, pattern, read_answer};

/// Every way to send that the switches make.
fn all_paths() -> impl Iterator<Item = SendPath> {
    let fragments = [None, NonZero::new(2048), NonZero::new(4096)];
    let limits = [None, NonZero::new(32)];
    let switches = [(false, true), (false, false), (true, true), (true, false)];
    fragments.into_iter().flat_map(move |fragment_bytes| {
        limits.into_iter().flat_map(move |max_segments| {
            switches.into_iter().map(move |(copies, batches)| SendPath {
                fragment_bytes,
                max_segments,
                copies,
                batches,
            })
        })
    })
}

#[test]
fn answers_are_the_same_on_every_path_even_to_a_slow_reader() {
    for send_path in all_paths() {
        let server = TestServer::sending(send_path);
        let mut stream = server.connect();
        let sizes = [1, 5000, 1_000_000, 64 << 10, 2047, 0, 300_000];
        let calls: Vec<u8> = sizes.iter().flat_map(|&size| framed_with(b'x', size)).collect();
        stream.write_all(&calls).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        for size in sizes {
            assert!(read_answer(&mut stream) == pattern(size), "{size} bytes came changed with {send_path:?}");
        }
        stream.write_all(&framed(b"e in step")).unwrap();
        assert_eq!(read_answer(&mut stream), b"e in step");
    }
}

/// The counters after answers of `size` bytes to `count` messages that came together.
fn counters_after(send_path: SendPath, count: usize, size: usize) -> net::Counters {
    let server = TestServer::sending(send_path);
    let mut stream = server.connect();
    stream.write_all(&framed_with(b'x', size).repeat(count)).unwrap();
    for _ in 0..count {
        assert_eq!(read_answer(&mut stream).len(), size);
    }
    // The last turn has counted its send when the next message is answered.
    stream.write_all(&framed_with(b'x', 0)).unwrap();
    read_answer(&mut stream);
    server.counters()
}

#[test]
fn answers_of_too_many_segments_are_copied_into_one_however_many_come_together() {
    let path = |fragment, limit| SendPath {
        fragment_bytes: NonZero::new(fragment),
        max_segments: NonZero::new(limit),
        ..SendPath::default()
    };
    // With its length an answer is 64 KiB: 32 segments of 2 KiB. One byte more makes one segment more.
    let (fits, over) = ((64 << 10) - 4, (64 << 10) - 3);
    for count in [1, 7] {
        let copied = |path, size| {
            let counters = counters_after(path, count, size);
            (counters.flattened, counters.bytes_copied)
        };
        let all = (count as u64, count as u64 * (over as u64 + 4));
        assert_eq!(copied(path(2048, 32), fits), (0, 0), "{count} answers that fit");
        assert_eq!(copied(path(2048, 32), over), all, "{count} answers with a segment more");
        assert_eq!(copied(path(4096, 32), over), (0, 0), "{count} answers of larger segments");
        assert_eq!(copied(path(2048, 0), over), (0, 0), "{count} answers without a limit");
    }
}

#[test]
fn fragments_are_segments() {
    let path = |fragment| SendPath { fragment_bytes: NonZero::new(fragment), ..SendPath::default() };
    let segments = |fragment| counters_after(path(fragment), 1, (64 << 10) - 4).send_segments;
    assert!(segments(2048) >= 32 && segments(4096) >= 16);
}

#[test]
fn with_a_limit_of_segments_each_answer_has_a_send_of_its_own() {
    let path = SendPath { max_segments: NonZero::new(32), ..SendPath::default() };
    assert!(counters_after(path, 50, 100).sends >= 50);
}

#[test]
fn batch_leaves_in_one_send_and_without_batching_each_answer_has_its_own() {
    let batched = counters_after(SendPath::default(), 50, 100);
    assert!(batched.sends < 25, "{batched:?}");
    let single = counters_after(SendPath { batches: false, ..SendPath::default() }, 50, 100);
    assert!(single.sends >= 50, "{single:?}");
}

#[test]
fn copying_counts_every_byte_of_the_answers() {
    let copied = counters_after(SendPath { copies: true, ..SendPath::default() }, 3, 1000);
    assert!(copied.bytes_copied >= 3 * 1004, "{copied:?}");
    assert_eq!(counters_after(SendPath::default(), 3, 1000).bytes_copied, 0);
}
