//! The lock manager, in both directions: versions 1 and 3 differ only in what they have.

use proto::nlm::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

/// Procedures whose arguments and replies are another one's are here once.
const MESSAGES: [Property; 16] = [
    arguments::<Test<V3>>,
    reply::<Test<V3>>,
    arguments::<Lock<V3>>,
    arguments::<Cancel<V3>>,
    arguments::<Unlock<V3>>,
    arguments::<Test<V4>>,
    reply::<Test<V4>>,
    arguments::<Lock<V4>>,
    arguments::<Cancel<V4>>,
    arguments::<Unlock<V4>>,
    reply::<Lock<V4>>,
    arguments::<TestRes<V4>>,
    arguments::<LockRes<V4>>,
    arguments::<Share<V4>>,
    reply::<Share<V4>>,
    arguments::<FreeAll<V4>>,
];

/// The message that the first byte chooses.
pub fn nlm(input: &[u8]) -> bool {
    choose(&MESSAGES, input)
}
