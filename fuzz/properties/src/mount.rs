//! MOUNT of all versions, in both directions.

use proto::mount::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

/// Procedures that differ only in the version are here once.
const MESSAGES: [Property; 9] = [
    arguments::<Mnt3>,
    reply::<Mnt3>,
    arguments::<Mnt<1>>,
    reply::<Mnt<1>>,
    reply::<Dump<3>>,
    arguments::<Umnt<3>>,
    reply::<Export<3>>,
    arguments::<Pathconf>,
    reply::<Pathconf>,
];

/// The message that the first byte chooses.
pub fn mount(input: &[u8]) -> bool {
    choose(&MESSAGES, input)
}
