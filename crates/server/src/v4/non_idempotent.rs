//! Finds the COMPOUNDs of NFSv4.0 that are not idempotent: those with changes that no owner's seqid protects. Their
//! replies are cached as in NFSv3. From NFSv4.1 on, sessions do this (RFC 7530 §3.1.1, RFC 8881 §2.10.6).
//!
//! A retransmission must be recognized before its first operation runs. Operations have no length, so that this steps
//! over the arguments of each one to the next; an operation decodes its own arguments when it runs.

use proto::nfs4::{ArgOp, MAX_TAG_BYTES, MinorVersion, OpNumber, OperationInfo};
use rpc::Call;
use xdr::{Decode, Decoder};

use super::run_compound::MAX_OPERATIONS;

/// The number of COMPOUND; NULL does nothing.
const COMPOUND: u32 = 1;

/// Whether the reply to `call` must be cached. Malformed operations never run.
pub(crate) fn is_non_idempotent(call: &Call<'_>) -> bool {
    let mut from = call.arguments.clone();
    let minor = from.opaque(MAX_TAG_BYTES).and_then(|_| from.u32());
    minor == Ok(MinorVersion::V0.number()) && call.procedure.number == COMPOUND && has_unnumbered_change(from)
}

/// Whether one of the operations in an array must not run again.
#[inline(never)]
fn has_unnumbered_change(mut from: Decoder<'_>) -> bool {
    let operations = from.u32().unwrap_or_default().min(MAX_OPERATIONS);
    (0..operations).map_while(|_| read_operation(&mut from)).any(OperationInfo::is_unnumbered_change)
}

/// Reads an operation with its arguments.
fn read_operation(from: &mut Decoder<'_>) -> Option<&'static OperationInfo> {
    let number = OpNumber::from_number(from.clone().u32().ok()?)?;
    ArgOp::decode(from).ok()?;
    Some(number.info())
}
