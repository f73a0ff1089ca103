//! RENAME (RFC 1094 §2.2.12).

use proto::nfs2::RenameArgs;

use super::reply::Nfs2Result;
use crate::node::CallContext;
use crate::unlink::{self, NameIn};

pub(super) fn rename(cx: &CallContext<'_>, args: &RenameArgs<'_>) -> Nfs2Result<()> {
    let (from, to) = (cx.node(&args.from.dir.0)?, cx.node(&args.to.dir.0)?);
    let _changes = (from.begin_change()?, to.begin_change()?);
    unlink::rename(
        NameIn { dir: &from, attributes: from.attributes(), name: args.from.name },
        NameIn { dir: &to, attributes: to.attributes(), name: args.to.name },
    )
}
