//! The load that the others are made of.

use client::Options;

use super::factors::TRANSFER_BYTES;
use crate::bench::Order;
use crate::contender::Server;
use crate::file_load::FileLoad;

/// The file that is read and written.
pub(super) const FILE: &str = "data";
/// The one that is read from a limited server. It is read to its end, too, so that no READ ahead is left over.
pub(super) const LIMITED_FILE: &str = "limited";

/// Reads the first bytes of a server's file in order, as fast as it goes.
pub(super) fn reading(server: &Server, file_bytes: u64) -> FileLoad {
    FileLoad {
        url: server.url(FILE),
        order: Order::Sequential,
        is_write: false,
        block_bytes: 128 << 10,
        file_bytes,
        transfer_bytes: TRANSFER_BYTES,
        max_pending: Options::default().max_pending,
        reads_in_any_order: false,
        bytes_per_second: None,
        seed: 0,
        server_pid: server.pid(),
    }
}
