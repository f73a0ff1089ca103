//! A client that does random things, a few at a time, and sends each call until it is answered.

use std::collections::HashMap;

use crate::simulation::model::{Kind, Model, NodeId};
use crate::simulation::operation::{How, Operation, Spot};
use testing::Random;

/// How many calls a client has in progress.
pub const WINDOW: usize = 3;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A call that was not answered yet.
pub struct Pending {
    pub message: Vec<u8>,
    pub timeout_ms: u64,
}

pub struct Client {
    pub version: u32,
    /// How many operations it still begins.
    pub left: usize,
    pub pending: HashMap<u32, Pending>,
}

/// A random operation on what is there, was there, or never was.
pub fn invent(random: &mut Random, model: &Model, version: u32) -> Operation {
    let dirs = model.known(|kind| matches!(kind, Kind::Dir(_)));
    let files = model.known(|kind| matches!(kind, Kind::File(_)));
    let spot = |random: &mut Random| Spot { dir: random.of(&dirs), name: random.of(&NAMES) };
    let here = spot(random);
    let kind = random.below(20);
    let Some(file) = (!files.is_empty()).then(|| random.of(&files)) else {
        return Operation::Create(here, How::Unchecked { cut: false });
    };
    match kind {
        0..=4 => Operation::Create(here, how(random, version)),
        5 | 6 => Operation::Mkdir(here),
        7 => Operation::Symlink(here),
        8..=10 => Operation::Remove(here),
        11 => Operation::Rmdir(here),
        12..=14 => Operation::Rename(here, spot(random)),
        15 => Operation::Link(random.of(&linkable(model)), here),
        16 => Operation::SetSize(file, random.below(40) as u32),
        17 => Operation::Write(file, random.below(30) as u32, random.next().to_be_bytes().to_vec()),
        18 => Operation::Read(file),
        _ => Operation::Lookup(here),
    }
}

fn linkable(model: &Model) -> Vec<NodeId> {
    model.known(|_| true)
}

fn how(random: &mut Random, version: u32) -> How {
    match random.below(if version == 2 { 2 } else { 4 }) {
        0 => How::Unchecked { cut: false },
        1 => How::Unchecked { cut: true },
        2 => How::Guarded,
        _ => How::Exclusive(random.next().to_be_bytes()),
    }
}
