//! Replies to a client, damaged everywhere.
//!
//! `WHARF_STEP` says how far the places are apart, in bytes: 4 are all of them.

use client::Version;
use properties::{Damage, damage_replies};

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];
/// The bytes of a word, of which everything consists.
const WORD_BYTES: usize = 4;
/// How far the places are apart when nothing else is said; each version begins at another one.
const STEP_BYTES: usize = 9 * WORD_BYTES;
/// The least number of places that are damaged in each version.
const LEAST: usize = 40;

fn damage_all(damage: Damage) {
    let step: usize = std::env::var("WHARF_STEP").map_or(STEP_BYTES, |text| text.parse().expect("a number"));
    for (version, first) in VERSIONS.into_iter().zip((0..).step_by(WORD_BYTES)) {
        let damaged = damage_replies(version, damage, (first % step..).step_by(step));
        println!("{version}: {damaged}");
        assert!(damaged >= LEAST, "{version}: {damaged}");
    }
}

#[test]
fn reply_that_is_cut_is_an_error_and_the_next_call_succeeds() {
    damage_all(Damage::Cut);
}

#[test]
fn call_ends_whichever_word_of_its_reply_is_too_large_and_the_next_call_succeeds() {
    damage_all(Damage::Largest);
}
