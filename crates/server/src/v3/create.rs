//! CREATE (RFC 1813 §3.3.8).

use proto::nfs3::{CreateArgs, CreateHow, CreateOk, Sattr, WccData};
use vfs::{CreateMode, Entry, FileKind, Place, SetAttributes};

use super::{Outcome, make};
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::set_attributes;

pub(super) fn create(cx: &CallContext<'_>, args: &CreateArgs<'_>) -> Outcome<CreateOk, WccData> {
    make::make(cx, &args.place, |dir, place| match args.how {
        CreateHow::Unchecked(sattr) => unchecked(dir, place, &sattr),
        CreateHow::Guarded(sattr) => {
            let set = make::first_attributes(dir, &sattr)?;
            Ok(dir.fs().create(&dir.context, place, CreateMode::Guarded, &set)?)
        }
        CreateHow::Exclusive(verifier) => {
            let mode = CreateMode::Exclusive(verifier);
            Ok(dir.fs().create(&dir.context, place, mode, &SetAttributes::default())?)
        }
    })
}

/// A file that exists is taken as it is, but for its size, which the caller must be allowed to set.
fn unchecked(dir: &Node<'_>, place: Place<'_>, sattr: &Sattr) -> Result<Entry, Fault> {
    match dir.fs().lookup(&dir.context, place) {
        Ok(existing) => take_existing(dir, existing, sattr.size),
        Err(vfs::Error::NoEntry) => {
            let set = make::first_attributes(dir, sattr)?;
            Ok(dir.fs().create(&dir.context, place, CreateMode::Unchecked, &set)?)
        }
        Err(error) => Err(error.into()),
    }
}

fn take_existing(dir: &Node<'_>, existing: Entry, size_bytes: Option<u64>) -> Result<Entry, Fault> {
    if existing.attributes.kind != FileKind::Regular {
        return Err(vfs::Error::Exists.into());
    }
    let set = SetAttributes { size_bytes, ..SetAttributes::default() };
    let attributes = set_attributes::set(&dir.sibling(existing.handle), &existing.attributes, &set)?;
    Ok(Entry { attributes, ..existing })
}
