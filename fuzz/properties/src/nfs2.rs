//! NFS version 2: what a server and what a client decodes, by the number of the procedure.

use proto::nfs2::*;

use crate::round_trip::{arguments, reply};
use crate::{Property, choose};

const ARGUMENTS: [Property; 18] = [
    arguments::<Null>,
    arguments::<Getattr>,
    arguments::<Setattr>,
    arguments::<Root>,
    arguments::<Lookup>,
    arguments::<Readlink>,
    arguments::<Read>,
    arguments::<Writecache>,
    arguments::<Write>,
    arguments::<Create>,
    arguments::<Remove>,
    arguments::<Rename>,
    arguments::<Link>,
    arguments::<Symlink>,
    arguments::<Mkdir>,
    arguments::<Rmdir>,
    arguments::<Readdir>,
    arguments::<Statfs>,
];

const REPLIES: [Property; 18] = [
    reply::<Null>,
    reply::<Getattr>,
    reply::<Setattr>,
    reply::<Root>,
    reply::<Lookup>,
    reply::<Readlink>,
    reply::<Read>,
    reply::<Writecache>,
    reply::<Write>,
    reply::<Create>,
    reply::<Remove>,
    reply::<Rename>,
    reply::<Link>,
    reply::<Symlink>,
    reply::<Mkdir>,
    reply::<Rmdir>,
    reply::<Readdir>,
    reply::<Statfs>,
];

/// Arguments of the procedure that the first byte names.
pub fn nfs2_arguments(input: &[u8]) -> bool {
    choose(&ARGUMENTS, input)
}

/// A reply of the procedure that the first byte names.
pub fn nfs2_replies(input: &[u8]) -> bool {
    choose(&REPLIES, input)
}
