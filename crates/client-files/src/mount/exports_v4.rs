//! The exports of an NFSv4 server: the file systems below its root (RFC 7530 §7.3, RFC 8881 §7.3).

use client_calls::DirPosition;
use vfs::FileKind;

use crate::{Attributes, Entry, Result, v4};

/// How many directories above the exports are listed.
const MAX_DIRECTORIES: usize = 64;

/// How many exports are found.
const MAX_EXPORTS: usize = 256;

/// The length of a READDIR's reply, in bytes.
const REPLY_BYTES: u32 = 64 << 10;

/// The paths of the file systems below the root, as far as a few calls find them. Directories on the way to them belong
/// to the root's own file system.
pub(super) async fn exports(client: &v4::Client, root: &Entry) -> Result<Vec<Vec<u8>>> {
    let (mut waiting, mut exports) = (vec![(Vec::new(), *root)], Vec::new());
    for _ in 0..MAX_DIRECTORIES {
        let Some((path, dir)) = waiting.pop() else { break };
        let page = v4::readdirplus(client, &dir.handle, DirPosition::default(), REPLY_BYTES).await?;
        for listed in page.entries {
            let Some(entry) = listed.entry.filter(|entry| entry.attributes.kind == FileKind::Directory) else {
                continue;
            };
            let below = [&path[..], b"/", &listed.name].concat();
            if is_apart(&entry.attributes, &root.attributes) {
                exports.push(below);
            } else {
                waiting.push((below, entry));
            }
        }
        if exports.len() >= MAX_EXPORTS {
            break;
        }
    }
    exports.sort();
    Ok(exports)
}

fn is_apart(attributes: &Attributes, root: &Attributes) -> bool {
    attributes.fsid != root.fsid
}
