//! What must hold between the counters of a pass.

use super::way;
use crate::contender::Work;
use crate::file_load::{FileLoad, FileLoadFound};

/// The counters do not add up.
#[derive(Debug, thiserror::Error)]
#[error("the counters disagree: {what} is {is}, and must be {must}")]
pub(super) struct Disagreement {
    what: &'static str,
    is: u64,
    must: u64,
}

/// Checks what must hold between the counters of client and server, the file and the operations.
pub(super) fn check(load: &FileLoad, found: &FileLoadFound, way: &str, work: Option<Work>) -> Result<(), Disagreement> {
    let mut identities = of_client(load, found);
    let flattened = way::flattened(way, found.statistics.calls("READ"));
    identities.extend(work.zip(flattened).map(|(is, must)| ("the number of flattened replies", is.flattened, must)));
    match identities.into_iter().find(|(_, is, must)| is != must) {
        Some((what, is, must)) => Err(Disagreement { what, is, must }),
        None => Ok(()),
    }
}

/// What is, and what must be, of the client.
fn of_client(load: &FileLoad, found: &FileLoadFound) -> Vec<(&'static str, u64, u64)> {
    let caches = found.statistics.caches;
    let transfers = load.file_bytes.div_ceil(load.transfer_bytes.into());
    // An operation looks at each block that it touches.
    let looks = found.operations * u64::from(load.block_bytes.div_ceil(load.transfer_bytes));
    let sum = |found: client::HitsMisses| found.hits + found.misses;
    let (statistics, writes) = (&found.statistics, found.statistics.calls("WRITE"));
    let getattrs = statistics.calls("GETATTR");
    let of_procedures = statistics.procedures().map(|(_, counted)| counted.calls).sum();
    let mut identities = vec![
        ("the number of calls", statistics.rpc.calls, of_procedures),
        ("the number of replies", statistics.rpc.replies, statistics.rpc.calls),
        // The server would carry out a READ once more that is counted once.
        ("the number of calls that were sent again", statistics.rpc.retransmissions, 0),
        // Only a lookup that misses asks for attributes; several may share a GETATTR.
        ("the number of GETATTRs", getattrs, getattrs.min(caches.attributes.misses)),
    ];
    identities.extend(match load.is_write {
        false => vec![
            ("BioR hits + misses", sum(caches.block_reads), looks),
            ("the number of READs", statistics.calls("READ"), transfers),
            ("BioR misses", caches.block_reads.misses, transfers),
        ],
        // A block is written as often as parts of it are dirty when it leaves: once where the program writes all of it.
        true => {
            let most = if load.block_bytes < load.transfer_bytes { found.operations } else { transfers };
            vec![
                ("BioW hits + misses", sum(caches.block_writes), looks),
                ("the number of WRITEs", writes, writes.clamp(transfers, most)),
                ("BioW misses", caches.block_writes.misses, caches.block_writes.misses.max(writes)),
            ]
        }
    });
    identities
}
