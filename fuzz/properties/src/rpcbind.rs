//! rpcbind of all versions, in both directions, and universal addresses.

use proto::rpcbind::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

/// Procedures that differ only in the version, and those whose arguments and replies are another one's, are here once.
const MESSAGES: [Property; 15] = [
    arguments::<portmap::Set>,
    reply::<portmap::Set>,
    reply::<portmap::Getport>,
    reply::<portmap::Dump>,
    arguments::<portmap::Callit>,
    reply::<portmap::Callit>,
    arguments::<Set<4>>,
    reply::<Getaddr<4>>,
    reply::<Dump<4>>,
    arguments::<Callit<4>>,
    reply::<Callit<4>>,
    reply::<Uaddr2taddr<4>>,
    reply::<Getaddrlist>,
    reply::<Getstat>,
    universal_address,
];

/// The message that the first byte chooses.
pub fn rpcbind(input: &[u8]) -> bool {
    choose(&MESSAGES, input)
}

fn universal_address(input: &[u8]) -> bool {
    let Ok(address) = UniversalAddress::parse(input) else { return false };
    let text = address.to_string();
    assert!(text.len() <= MAX_UADDR_BYTES, "{text}");
    assert_eq!(UniversalAddress::parse(text.as_bytes()), Ok(address));
    true
}
