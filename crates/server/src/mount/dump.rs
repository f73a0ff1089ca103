//! DUMP (RFC 1094 §A.5.3, RFC 1813 §5.2.2).

use proto::mount::{DumpReply, Mount};
use xdr::{Encode, Encoder};

use super::reply::{ReplyRoom, string_bytes};
use crate::node::CallContext;

pub(super) fn dump(cx: &CallContext<'_>, to: &mut Encoder<'_>) {
    let mounts = cx.server.mounts.all();
    let mounts: Vec<_> = mounts.into_iter().map(|(client, path)| (client.to_string(), path)).collect();
    let mut room = ReplyRoom::of_reply(cx);
    let all = mounts.iter().map(|(client, directory)| Mount { host_name: client.as_bytes(), directory });
    DumpReply { mounts: all.take_while(|mount| room.take(mount_bytes(mount))).collect() }.encode(to);
}

/// The size of a mount in the reply, with the word that announces it.
fn mount_bytes(mount: &Mount<'_>) -> usize {
    4 + string_bytes(mount.host_name) + string_bytes(mount.directory)
}
