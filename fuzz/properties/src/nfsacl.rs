//! Access lists beside NFSv2 and NFSv3.

use proto::nfsacl::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

const MESSAGES: [Property; 12] = [
    arguments::<Getacl2>,
    reply::<Getacl2>,
    arguments::<Setacl2>,
    reply::<Setacl2>,
    arguments::<Getattr2>,
    reply::<Getattr2>,
    arguments::<Access2>,
    reply::<Access2>,
    arguments::<Getacl3>,
    reply::<Getacl3>,
    arguments::<Setacl3>,
    reply::<Setacl3>,
];

/// The message that the first byte chooses.
pub fn nfsacl(input: &[u8]) -> bool {
    choose(&MESSAGES, input)
}
