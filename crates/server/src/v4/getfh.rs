//! GETFH (RFC 7530 §16.8, RFC 8881 §18.8).

use buffer::Output;
use proto::nfs4::FileHandle;
use xdr::Encoder;

use super::compound::Compound;
use super::failure::OpResult;
use crate::node::Node;

pub(super) fn run(compound: &Compound<'_>, output: &mut Output) -> OpResult<()> {
    Encoder::new(&mut output.bytes).opaque(compound.current()?.wire_handle().as_bytes());
    Ok(())
}

/// The NFSv4 form of the handle.
pub(super) fn file_handle(node: &Node<'_>) -> FileHandle {
    FileHandle::new(node.wire_handle().as_bytes()).expect("our handles are shorter than 128 bytes")
}
