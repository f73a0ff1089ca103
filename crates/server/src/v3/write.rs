//! WRITE (RFC 1813 §3.3.7).

use proto::nfs3::{WccData, WriteArgs, WriteOk};
use state::AccessKind;
use vfs::{Attributes, Written};

use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::stable_how::{stability, stable_how};
use crate::transfer;

pub(super) fn write(cx: &CallContext<'_>, args: &WriteArgs<'_>) -> Nfs3Result<WriteOk, WccData> {
    let node = cx.node(args.file.as_bytes())?;
    let wcc = Wcc::begin_write(&node, stability(args.stable))?;
    // The verifier is taken first. If it is renewed during the write, the client must not take the data as written
    // under the new one.
    let verifier = node.write_verifier();
    let (written, after) = write_bytes(cx, &node, &wcc, args).map_err(|fault| fault.with(|| wcc.data()))?;
    Ok(WriteOk {
        file_wcc: wcc.data_with(after),
        count: written.count as u32,
        committed: stable_how(written.stability),
        verifier,
    })
}

/// Writes, and fetches the attributes from the open file, where they are likely cached.
fn write_bytes(
    cx: &CallContext<'_>,
    node: &Node<'_>,
    wcc: &Wcc<'_>,
    args: &WriteArgs<'_>,
) -> Result<(Written, Option<Attributes>), Fault> {
    if args.count as usize != args.data.len() {
        return Err(vfs::Error::Invalid.into());
    }
    node.require_unreserved(AccessKind::Write)?;
    let file = transfer::open_for_write(node, &wcc.before()?)?;
    let written =
        transfer::write_at(node, &*file, args.offset, transfer::writable(cx, args.data), stability(args.stable))?;
    Ok((written, file.attributes(&node.context).ok()))
}
