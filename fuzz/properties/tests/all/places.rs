//! Replies to a client, cut at every word.

use client::Version;
use properties::{Damage, damage_replies};

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];
/// The bytes of a word, of which everything consists.
const WORD_BYTES: usize = 4;
/// The least number of places that are damaged in each version.
const LEAST: usize = 350;

#[test]
fn reply_that_is_cut_is_an_error_and_the_next_call_succeeds() {
    for version in VERSIONS {
        let damaged = damage_replies(version, Damage::Cut, (0..).step_by(WORD_BYTES), &mut ());
        println!("{version}: {damaged}");
        assert!(damaged >= LEAST, "{version}: {damaged}");
    }
}
