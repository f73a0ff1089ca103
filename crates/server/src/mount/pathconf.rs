//! PATHCONF of version 2, which gives NFSv2 clients the limits that NFSv2 itself lacks.

use proto::mount::{DirPath, PC_CHOWN_RESTRICTED, PC_ERROR, PC_NO_TRUNC, PathconfReply};
use vfs::Properties;

use super::directory;
use super::reply::answerable;
use crate::fault::NoResults;
use crate::node::CallContext;

/// The longest path on Linux, in bytes (PATH_MAX).
const PATH_MAX_BYTES: u32 = 4096;
/// The size of an atomic write to a pipe, in bytes (PIPE_BUF). Pipes belong to the client, and every UNIX has at least
/// this.
const PIPE_BUFFER_BYTES: u32 = 4096;

pub(super) fn pathconf(cx: &CallContext<'_>, args: &DirPath<'_>) -> Result<PathconfReply, NoResults> {
    match directory::find(cx, args.path) {
        Ok(node) => Ok(known(&node.fs().properties())),
        Err(fault) => {
            answerable(fault)?;
            Ok(PathconfReply { mask: [PC_ERROR, 0], ..known(&Properties::default()) })
        }
    }
}

/// Limits of terminals are 0, since terminals belong to the client.
fn known(properties: &Properties) -> PathconfReply {
    PathconfReply {
        max_links: properties.max_links,
        max_canonical_bytes: 0,
        max_input_bytes: 0,
        max_name_bytes: properties.max_name_bytes,
        max_path_bytes: PATH_MAX_BYTES,
        pipe_buffer_bytes: PIPE_BUFFER_BYTES,
        disabling_character: 0,
        padding: 0,
        mask: [PC_NO_TRUNC | PC_CHOWN_RESTRICTED, 0],
    }
}
