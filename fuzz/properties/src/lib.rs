//! What must hold for every input of Wharf's decoders: none panics, none takes memory that the input does not fill, and
//! what was decoded comes back out of its own encoding.
//!
//! Each function is the whole property of one fuzz target; it says whether the input was accepted. The targets under
//! `fuzz/fuzz_targets` call them with libFuzzer's inputs, and this crate's test with those of `fuzz/corpus`.
#![forbid(unsafe_code)]

mod call;
mod client;
mod fuse;
mod mount;
mod nfs2;
mod nfs3;
mod nfs4;
mod nfsacl;
mod nlm;
mod nsm;
mod record;
mod reply;
mod round_trip;
mod rpcbind;

pub use self::mount::mount;
pub use call::call;
pub use client::{Around, Damage, client_v2, client_v3, client_v4, damage_replies};
pub use fuse::fuse;
pub use nfs2::{nfs2_arguments, nfs2_replies};
pub use nfs3::{nfs3_arguments, nfs3_replies};
pub use nfs4::{nfs4_arguments, nfs4_attributes, nfs4_callbacks, nfs4_replies};
pub use nfsacl::nfsacl;
pub use nlm::nlm;
pub use nsm::nsm;
pub use record::record;
pub use reply::reply;
pub use rpcbind::rpcbind;

/// A property: whether the input was accepted.
///
/// # Panics
/// When the property does not hold.
pub type Property = fn(&[u8]) -> bool;

/// All fuzz targets by name.
pub const TARGETS: [(&str, Property); 20] = [
    ("call", call),
    ("client_v2", client_v2),
    ("client_v3", client_v3),
    ("client_v4", client_v4),
    ("fuse", fuse),
    ("mount", mount),
    ("nfs2_arguments", nfs2_arguments),
    ("nfs2_replies", nfs2_replies),
    ("nfs3_arguments", nfs3_arguments),
    ("nfs3_replies", nfs3_replies),
    ("nfs4_arguments", nfs4_arguments),
    ("nfs4_attributes", nfs4_attributes),
    ("nfs4_callbacks", nfs4_callbacks),
    ("nfs4_replies", nfs4_replies),
    ("nfsacl", nfsacl),
    ("nlm", nlm),
    ("nsm", nsm),
    ("record", record),
    ("reply", reply),
    ("rpcbind", rpcbind),
];

/// Lets the first byte of `input` choose one of `properties` for the others.
fn choose(properties: &[Property], input: &[u8]) -> bool {
    let Some((first, rest)) = input.split_first() else { return false };
    properties[usize::from(*first) % properties.len()](rest)
}
