//! Inputs by chance for the targets whose inputs need no form.

use properties::{Property, client_v2, client_v3, client_v4};

/// How many inputs of each target are tried when nothing else is said.
const SEEDS: u64 = 150;
const MAX_INPUT_BYTES: u64 = 64;

/// Numbers that a seed decides (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Few bytes are large: most steps are near the one before, and most words small.
fn input(seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let length = random.below(MAX_INPUT_BYTES);
    (0..length).map(|_| if random.below(4) == 0 { random.below(256) } else { random.below(24) } as u8).collect()
}

fn try_all(property: Property) {
    let only = number("WHARF_SEED");
    let seeds = only.map_or(0..number("WHARF_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    for seed in seeds {
        println!("WHARF_SEED={seed}");
        property(&input(seed));
    }
}

#[test]
fn client_of_nfsv2_ends_every_call_whatever_the_replies_by_chance() {
    try_all(client_v2);
}

#[test]
fn client_of_nfsv3_ends_every_call_whatever_the_replies_by_chance() {
    try_all(client_v3);
}

#[test]
fn client_of_nfsv4_ends_every_call_whatever_the_replies_by_chance() {
    try_all(client_v4);
}
