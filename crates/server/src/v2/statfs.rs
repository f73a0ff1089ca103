//! STATFS (RFC 1094 §2.2.18).

use proto::nfs2::{MAX_DATA_BYTES, StatfsArgs, StatfsOk};

use super::reply::Nfs2Result;
use crate::node::CallContext;

/// The smallest block, in bytes.
const MIN_BLOCK_BYTES: u32 = 4096;
/// The largest block, in bytes: it can represent 2⁶² bytes.
const MAX_BLOCK_BYTES: u32 = 1 << 31;
/// The most blocks to report: clients treat the number as signed.
const MAX_BLOCKS: u64 = i32::MAX as u64;

/// A file system with too many blocks is reported with larger blocks.
pub(super) fn statfs(cx: &CallContext<'_>, args: &StatfsArgs) -> Nfs2Result<StatfsOk> {
    let node = cx.node(&args.file.0)?;
    let space = node.fs().space(&node.context, &node.handle)?;
    let block_bytes = block_bytes(space.total_bytes);
    let blocks = |bytes: u64| (bytes / u64::from(block_bytes)).min(MAX_BLOCKS) as u32;
    Ok(StatfsOk {
        transfer_bytes: MAX_DATA_BYTES as u32,
        block_bytes,
        total_blocks: blocks(space.total_bytes),
        free_blocks: blocks(space.free_bytes),
        available_blocks: blocks(space.available_bytes),
    })
}

fn block_bytes(total_bytes: u64) -> u32 {
    let mut block_bytes = MIN_BLOCK_BYTES;
    while block_bytes < MAX_BLOCK_BYTES && total_bytes / u64::from(block_bytes) > MAX_BLOCKS {
        block_bytes *= 2;
    }
    block_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_until_their_number_fits() {
        assert_eq!(block_bytes(8 << 40), 8192);
        assert_eq!(block_bytes((8 << 40) - 4096), 4096);
        assert!(u64::MAX / u64::from(block_bytes(u64::MAX)) > MAX_BLOCKS, "the rest is clamped");
    }
}
