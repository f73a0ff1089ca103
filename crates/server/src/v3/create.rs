//! CREATE (RFC 1813 §3.3.8).

use proto::nfs3::{CreateArgs, CreateHow, CreateOk, WccData};
use vfs::{CreateMode, SetAttributes};

use super::make::make;
use super::{Outcome, convert};
use crate::make::{regular, unchecked};
use crate::node::CallContext;

pub(super) fn create(cx: &CallContext<'_>, args: &CreateArgs<'_>) -> Outcome<CreateOk, WccData> {
    make(cx, &args.place, |dir, place| match args.how {
        CreateHow::Unchecked(sattr) => unchecked(dir, place, &convert::set_attributes(&sattr)?),
        CreateHow::Guarded(sattr) => regular(dir, place, CreateMode::Guarded, &convert::set_attributes(&sattr)?),
        CreateHow::Exclusive(verifier) => {
            regular(dir, place, CreateMode::Exclusive(verifier), &SetAttributes::default())
        }
    })
}
