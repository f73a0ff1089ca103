//! PUTROOTFH and PUTPUBFH (RFC 7530 §16.22, §16.21; RFC 8881 §18.21, §18.20): both select the root of the pseudo file
//! system.

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn putrootfh(compound: &mut Compound<'_>, (): &()) -> OpResult<()> {
    let cx = compound.cx;
    let (exported, handle) = cx.exports.top(cx.client());
    compound.set_current(exported, handle)
}
