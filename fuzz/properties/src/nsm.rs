//! The status monitor, in both directions.

use proto::nsm::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

const MESSAGES: [Property; 7] = [
    arguments::<Stat>,
    reply::<Stat>,
    arguments::<Mon>,
    arguments::<Unmon>,
    reply::<Unmon>,
    arguments::<UnmonAll>,
    arguments::<Notify>,
];

/// The message that the first byte chooses.
pub fn nsm(input: &[u8]) -> bool {
    choose(&MESSAGES, input)
}
