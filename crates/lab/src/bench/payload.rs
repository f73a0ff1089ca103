//! What WRITEs write.

use std::cell::Cell;

use bytes::Bytes;

use super::Job;
use super::pattern::Pattern;

/// The bytes of the writes of one connection.
#[derive(Debug)]
pub(super) enum Payload {
    /// The same bytes each time, which costs the client least.
    Same(Bytes),
    /// Other bytes for each write.
    Fresh { pattern: Pattern, next_number: Cell<u64> },
    /// Bytes that follow from their place in the file, so that they can be checked.
    Checked(Pattern),
}

/// The numbers of a connection's writes are below those of the next connection.
const NUMBER_BITS: u32 = 40;

impl Payload {
    /// That of the connection with this number, from 0.
    pub(super) fn new(job: &Job, connection: u32) -> Payload {
        let pattern = job.pattern();
        match job.compress_percent {
            _ if job.verify => Payload::Checked(pattern.next()),
            Some(_) => Payload::Fresh { pattern, next_number: Cell::new(u64::from(connection) << NUMBER_BITS) },
            None => Payload::Same(pattern.block(0, job.max_block_bytes())),
        }
    }

    /// What the next write puts at `offset`.
    pub(super) fn block(&self, offset: u64, length: u32) -> Bytes {
        match self {
            Payload::Same(bytes) => bytes.slice(..bytes.len().min(length as usize)),
            Payload::Checked(pattern) => pattern.block(offset, length),
            Payload::Fresh { pattern, next_number } => {
                pattern.numbered(next_number.replace(next_number.get() + 1)).block(offset, length)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn data_that_can_be_compressed_never_comes_twice() {
        let job = |percent| Job { compress_percent: percent, ..Job::new("nfs://localhost/x".parse().unwrap()) };
        let blocks = |percent| {
            let payloads = [0, 1].map(|connection| Payload::new(&job(percent), connection));
            let both = |_| payloads.iter().map(|payload| payload.block(8192, 4096)).collect::<Vec<Bytes>>();
            (0..100).flat_map(both).chain([job(percent).pattern().block(8192, 4096)]).collect::<Vec<Bytes>>()
        };
        let parts = |percent| blocks(percent).iter().flat_map(|block| block.chunks(512).map(<[u8]>::to_vec)).collect();
        let (fresh, same): (HashSet<Vec<u8>>, HashSet<Vec<u8>>) = (parts(Some(50)), parts(None));
        assert_eq!((fresh.len(), same.len()), (201 * 8, 2 * 8));
    }
}
