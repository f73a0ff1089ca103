//! Decodes a captured COMPOUND.

use client::proto::nfs4::{ArgOp, CompoundHead, OpNumber};
use xdr::{Decode, Decoder};

use super::compound::{Compound, Holder};
use super::left_out::{LeftOut, OperationName};
use super::states::Numbering;
use super::walk::Walk;

/// The most operations besides SEQUENCE: sessions have room for one more.
const MAX_OPERATIONS: u32 = 31;

/// A decoded COMPOUND, and who made it.
pub(super) struct Decoded {
    pub compound: Compound,
    pub holder: Option<Holder>,
}

impl Compound {
    /// Decodes the arguments.
    pub(super) fn decode(mut from: Decoder<'_>, numbering: Numbering<'_>) -> Result<Decoded, LeftOut> {
        let head = CompoundHead::decode(&mut from)?;
        if head.operations > MAX_OPERATIONS + 1 {
            return Err(LeftOut::ManyOperations);
        }
        let mut walk = Walk::new(numbering);
        for _ in 0..head.operations {
            let number = from.clone().u32()?;
            if number == OpNumber::Write.number() {
                let is_whole = walk.write(&mut from)?;
                if !is_whole {
                    break;
                }
            } else {
                walk.add(&argument(number, &mut from)?)?;
            }
        }
        let holder = walk.holder;
        Ok(Decoded { compound: walk.end()?, holder })
    }
}

fn argument<'a>(number: u32, from: &mut Decoder<'a>) -> Result<ArgOp<'a>, LeftOut> {
    ArgOp::decode(from).map_err(|error| match error {
        xdr::Error::Truncated { .. } => LeftOut::Truncated,
        // The codec has no operations of pNFS.
        _ if OpNumber::from_number(number).is_some() => LeftOut::Operation(OperationName(number)),
        _ => LeftOut::Damaged,
    })
}
