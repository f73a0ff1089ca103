//! NFS version 4: whole COMPOUNDs, attributes and callbacks.

use buffer::Buffer;
use proto::nfs4::*;
use xdr::{Decode, Decoder};

use crate::round_trip::shortest;
use crate::{Property, choose};

/// A request, which reads the same at once and, as a server does it, operation by operation.
pub fn nfs4_arguments(input: &[u8]) -> bool {
    let accepted = shortest::<CompoundArgs<'_>>(input, &mut Buffer::new());
    assert_eq!(accepted, operations_one_by_one(input).is_some());
    accepted
}

fn operations_one_by_one(input: &[u8]) -> Option<()> {
    let whole = CompoundArgs::decode(&mut Decoder::new(input));
    let mut from = Decoder::new(input);
    let head = CompoundHead::decode(&mut from).ok()?;
    if head.operations as usize > MAX_COMPOUND_OPS {
        return None;
    }
    let operations = (0..head.operations).map(|_| ArgOp::decode(&mut from).ok()).collect::<Option<Vec<_>>>()?;
    assert_eq!(whole, Ok(CompoundArgs { tag: head.tag, minor_version: head.minor_version, operations }));
    Some(())
}

/// A reply.
pub fn nfs4_replies(input: &[u8]) -> bool {
    shortest::<CompoundReply<'_>>(input, &mut Buffer::new())
}

const CALLBACKS: [Property; 2] = [
    |input| shortest::<CbCompoundArgs<'_>>(input, &mut Buffer::new()),
    |input| shortest::<CbCompoundReply<'_>>(input, &mut Buffer::new()),
];

/// A callback or its reply, as the first byte chooses.
pub fn nfs4_callbacks(input: &[u8]) -> bool {
    choose(&CALLBACKS, input)
}

/// Attributes, whose values come in order, end at the first error, and come back when they are written again.
pub fn nfs4_attributes(input: &[u8]) -> bool {
    let Ok(attributes) = Fattr::decode(&mut Decoder::new(input)) else { return false };
    let values: Vec<_> = attributes.values().collect();
    let good: Vec<_> = values.iter().map_while(|value| value.as_ref().ok().cloned()).collect();
    assert!(values.len() - good.len() <= 1, "something comes behind an error: {values:?}");
    assert!(good.iter().map(AttributeValue::attribute).is_sorted_by(|a, b| a < b), "{good:?}");
    let mut buffer = Buffer::new();
    let again = Fattr::collect(&good, &mut buffer);
    assert_eq!(again.values().collect::<Result<Vec<_>, _>>().as_ref(), Ok(&good));
    if values.len() > good.len() {
        return false;
    }
    assert_eq!(again.mask, attributes.mask);
    true
}
