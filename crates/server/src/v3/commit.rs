//! COMMIT (RFC 1813 §3.3.21). The whole file is brought to stable storage, whatever range is named: that is always allowed.

use proto::nfs3::{CommitArgs, CommitOk, WccData};

use super::Outcome;
use super::wcc::Wcc;
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::transfer;

pub(super) fn commit(cx: &CallContext<'_>, args: &CommitArgs) -> Outcome<CommitOk, WccData> {
    let node = cx.node(args.file.as_bytes())?;
    let wcc = Wcc::begin(&node);
    sync(&node).map_err(|fault| fault.with(|| wcc.data()))?;
    Ok(CommitOk { file_wcc: wcc.data(), verifier: cx.server.write_verifier() })
}

fn sync(node: &Node<'_>) -> Result<(), Fault> {
    let attributes = node.attributes()?;
    let file = transfer::open_for_write(node, &attributes)?;
    Ok(transfer::sync(node, &*file)?)
}
