//! CREATE (RFC 1813 §3.3.8).

use proto::nfs3::{CreateArgs, CreateHow, CreateOk, WccData};
use vfs::{CreateMode, SetAttributes};

use super::convert;
use super::make::{make, make_or_take};
use super::reply::Nfs3Result;
use crate::make::{regular, unchecked};
use crate::node::CallContext;

pub(super) fn create(cx: &CallContext<'_>, args: &CreateArgs<'_>) -> Nfs3Result<CreateOk, WccData> {
    match args.how {
        CreateHow::Unchecked(sattr) => make_or_take(cx, &args.place, |dir, attributes| {
            unchecked(dir, attributes, args.place.name, &convert::set_attributes(&sattr)?)
        }),
        CreateHow::Guarded(sattr) => make(cx, &args.place, |dir, place| {
            regular(dir, place, CreateMode::Guarded, &convert::set_attributes(&sattr)?)
        }),
        CreateHow::Exclusive(verifier) => make(cx, &args.place, |dir, place| {
            regular(dir, place, CreateMode::Exclusive(verifier), &SetAttributes::default())
        }),
    }
}
