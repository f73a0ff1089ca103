//! PATHCONF of version 2, by which clients of NFSv2 find out what they cannot ask NFS.

use proto::mount::{DirPath, PC_CHOWN_RESTRICTED, PC_ERROR, PC_NO_TRUNC, PathconfReply};
use vfs::Properties;

use super::{answerable, directory};
use crate::fault::Stop;
use crate::node::CallContext;

/// The longest path that a client may send to Linux, in bytes (PATH_MAX).
const PATH_MAX_BYTES: u32 = 4096;
/// What a pipe takes in one piece, in bytes (PIPE_BUF); pipes are the client's, and every UNIX has at least this.
const PIPE_BUFFER_BYTES: u32 = 4096;

pub(super) fn pathconf(cx: &CallContext<'_>, args: &DirPath<'_>) -> Result<PathconfReply, Stop> {
    match directory::find(cx, args.path) {
        Ok(node) => Ok(known(&node.fs().properties())),
        Err(fault) => {
            answerable(fault)?;
            Ok(PathconfReply { mask: [PC_ERROR, 0], ..known(&Properties::default()) })
        }
    }
}

/// Terminals are the client's business: their limits are 0.
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
