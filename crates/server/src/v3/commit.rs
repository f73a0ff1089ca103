//! COMMIT (RFC 1813 §3.3.21). It flushes the whole file, whatever the range, as the RFC allows.

use proto::nfs3::{CommitArgs, CommitOk, WccData};

use super::reply::Nfs3Result;
use super::wcc::Wcc;
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::transfer;

pub(super) fn commit(cx: &CallContext<'_>, args: &CommitArgs) -> Nfs3Result<CommitOk, WccData> {
    let node = cx.node(args.file.as_bytes())?;
    let wcc = Wcc::begin(&node)?;
    sync(&node, &wcc).map_err(|fault| fault.with(|| wcc.data()))?;
    Ok(CommitOk { file_wcc: wcc.data(), verifier: node.write_verifier() })
}

fn sync(node: &Node<'_>, wcc: &Wcc<'_>) -> Result<(), Fault> {
    let file = transfer::open_for_write(node, &wcc.before()?)?;
    Ok(transfer::sync(node, &*file)?)
}
