//! NFS version 3: what a server and what a client decodes, by the number of the procedure.

use proto::nfs3::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

const ARGUMENTS: [Property; 22] = [
    arguments::<Null>,
    arguments::<Getattr>,
    arguments::<Setattr>,
    arguments::<Lookup>,
    arguments::<Access>,
    arguments::<Readlink>,
    arguments::<Read>,
    arguments::<Write>,
    arguments::<Create>,
    arguments::<Mkdir>,
    arguments::<Symlink>,
    arguments::<Mknod>,
    arguments::<Remove>,
    arguments::<Rmdir>,
    arguments::<Rename>,
    arguments::<Link>,
    arguments::<Readdir>,
    arguments::<Readdirplus>,
    arguments::<Fsstat>,
    arguments::<Fsinfo>,
    arguments::<Pathconf>,
    arguments::<Commit>,
];

const REPLIES: [Property; 22] = [
    reply::<Null>,
    reply::<Getattr>,
    reply::<Setattr>,
    reply::<Lookup>,
    reply::<Access>,
    reply::<Readlink>,
    reply::<Read>,
    reply::<Write>,
    reply::<Create>,
    reply::<Mkdir>,
    reply::<Symlink>,
    reply::<Mknod>,
    reply::<Remove>,
    reply::<Rmdir>,
    reply::<Rename>,
    reply::<Link>,
    reply::<Readdir>,
    reply::<Readdirplus>,
    reply::<Fsstat>,
    reply::<Fsinfo>,
    reply::<Pathconf>,
    reply::<Commit>,
];

/// Arguments of the procedure that the first byte names.
pub fn nfs3_arguments(input: &[u8]) -> bool {
    choose(&ARGUMENTS, input)
}

/// A reply of the procedure that the first byte names.
pub fn nfs3_replies(input: &[u8]) -> bool {
    choose(&REPLIES, input)
}
