//! Which block comes next, and whether it is read or written.

use super::pattern::mix;
use super::{End, Job, Order, Workload};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) offset: u64,
    pub(super) is_write: bool,
}

/// The operations of one connection, in their order.
#[derive(Debug)]
pub(super) struct Plan {
    workload: Workload,
    block_bytes: u64,
    block_count: u64,
    cursor: u64,
    random: u64,
    /// How many operations there are still, when that is limited.
    left: Option<u64>,
}

impl Plan {
    /// The plan of the connection with this number, from 0.
    pub(super) fn new(job: &Job, connection: u32) -> Plan {
        let block_count = job.block_count();
        let share = |total: u64| {
            let (all, number) = (u64::from(job.connections), u64::from(connection));
            total / all + u64::from(number < total % all)
        };
        Plan {
            workload: job.workload,
            block_bytes: job.block_bytes.into(),
            block_count,
            cursor: (u128::from(block_count) * u128::from(connection) / u128::from(job.connections)) as u64,
            random: mix(job.seed ^ mix(connection.into())),
            left: match job.end {
                End::After(_) => None,
                End::Bytes(bytes) => Some(share(bytes.div_ceil(job.block_bytes.into()))),
            },
        }
    }

    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    fn next_block(&mut self) -> u64 {
        match self.workload.order {
            // The high half of the product is below the count; its bias is too small to be seen.
            Order::Random => ((u128::from(self.next_random()) * u128::from(self.block_count)) >> 64) as u64,
            Order::Sequential => {
                let block = self.cursor;
                self.cursor = (block + 1) % self.block_count;
                block
            }
        }
    }
}

impl Iterator for Plan {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let offset = self.next_block() * self.block_bytes;
        let is_write = match self.workload.read_percent {
            0 => true,
            100 => false,
            percent => self.next_random() % 100 >= u64::from(percent),
        };
        Some(Step { offset, is_write })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn job(workload: &str) -> Job {
        Job {
            workload: workload.parse().unwrap(),
            block_bytes: 4096,
            file_bytes: 10 * 4096 + 100,
            connections: 2,
            ..Job::new("nfs://localhost/x".parse().unwrap())
        }
    }

    #[test]
    fn sequential_connections_start_apart_and_go_round() {
        let blocks =
            |connection| Plan::new(&job("read"), connection).take(7).map(|step| step.offset / 4096).collect::<Vec<_>>();
        assert_eq!(blocks(0), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(blocks(1), [5, 6, 7, 8, 9, 0, 1]);
    }

    #[test]
    fn random_blocks_are_all_of_the_file_and_the_same_for_the_same_seed() {
        let offsets = || Plan::new(&job("randread"), 0).take(500).map(|step| step.offset);
        let distinct: HashSet<u64> = offsets().collect();
        assert_eq!(distinct, (0..10).map(|block| block * 4096).collect());
        assert!(offsets().eq(offsets()));
        assert!(!offsets().eq(Plan::new(&job("randread"), 1).take(500).map(|step| step.offset)));
    }

    #[test]
    fn share_of_reads_is_the_one_asked_for() {
        let mut job = job("randrw");
        job.workload.read_percent = 70;
        let reads = Plan::new(&job, 0).take(10_000).filter(|step| !step.is_write).count();
        assert!((6_800..7_200).contains(&reads), "{reads}");
        assert!(Plan::new(&self::job("write"), 0).take(100).all(|step| step.is_write));
    }

    #[test]
    fn limited_plans_of_all_connections_make_the_whole() {
        let job = Job { end: End::Bytes(5 * 4096 - 1), ..job("read") };
        assert_eq!((Plan::new(&job, 0).count(), Plan::new(&job, 1).count()), (3, 2));
    }
}
