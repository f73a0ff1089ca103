//! What damaged replies cost a client, in memory: each word of each reply says the largest number that there is, and
//! the stream announces records without end.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use client::Version;
use peak_alloc::PeakAlloc;
use properties::{Around, Damage, client_v2, client_v3, client_v4, damage_replies};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;
/// The tests count the memory of the whole program, so that one runs after the other.
static TURN: Mutex<()> = Mutex::new(());

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];
/// The bytes of a word, of which everything consists.
const WORD_BYTES: usize = 4;
/// The least number of places that are damaged in each version.
const LEAST: usize = 350;
/// The most that a call may take beyond what there was before it, in bytes, with what the server in this program needs
/// to answer: a stream that takes the place of another receives into a block of 256 KiB.
const MOST_PER_CALL: usize = 512 << 10;
/// The most that a whole client and its server may take, in bytes.
const MOST_PER_CLIENT: usize = 6 << 20;

/// How much memory each call took.
#[derive(Default)]
struct Cost {
    before: usize,
    most: usize,
}

impl Around for Cost {
    fn before(&mut self) {
        MEMORY.reset_peak_usage();
        self.before = MEMORY.current_usage();
    }

    fn after(&mut self, call: fmt::Arguments<'_>) {
        let taken = MEMORY.peak_usage().saturating_sub(self.before);
        self.most = self.most.max(taken);
        assert!(taken <= MOST_PER_CALL, "{call}: {taken} bytes");
    }
}

#[test]
fn call_ends_in_little_memory_whichever_word_of_its_reply_is_too_large_and_the_next_call_succeeds() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for version in VERSIONS {
        let mut cost = Cost::default();
        let damaged = damage_replies(version, Damage::Largest, (0..).step_by(WORD_BYTES), &mut cost);
        println!("{version}: {damaged} replies, at most {} bytes", cost.most);
        assert!(damaged >= LEAST, "{version}: {damaged}");
    }
}

#[test]
fn stream_that_announces_records_without_end_takes_little_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // In the place of the reply behind so many others come the marks: of one record of 2 GiB, and of fragments that
    // never are the last.
    let marks: [&[u8]; 3] = [&[0xff; 4], &[0x7f, 0xff, 0xff, 0xff], &[0, 16, 0, 0]];
    let mut most = 0;
    for (client, first) in [(client_v2 as properties::Property, &[][..]), (client_v3, &[]), (client_v4, &[1])] {
        for (passing, mark) in (0..40).step_by(4).flat_map(|passing| marks.map(|mark| (passing, mark))) {
            MEMORY.reset_peak_usage();
            let before = MEMORY.current_usage();
            // The alteration is "these bytes instead", of which there are as many as the next number says.
            client(&[first, &[passing, 9, mark.len() as u8], mark].concat());
            let taken = MEMORY.peak_usage().saturating_sub(before);
            most = most.max(taken);
            assert!(taken <= MOST_PER_CLIENT, "{mark:?} after {passing} replies: {taken} bytes");
        }
    }
    println!("at most {most} bytes");
}
