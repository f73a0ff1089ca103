//! Which block comes next, and whether it is read or written.

use fastrand::Rng;

use super::permutation::permuted;
use super::{End, Files, Job, Operation, Order, Workload, mix};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    /// Which of the files that there is a choice from.
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) is_write: bool,
}

/// The operations of one connection, in their order.
#[derive(Debug)]
pub(super) struct Plan {
    workload: Workload,
    block_bytes: u64,
    /// The blocks of each file, and of all that there is a choice from.
    file_blocks: u64,
    block_count: u64,
    /// Where a sequential connection begins, in blocks.
    first: u64,
    /// How many operations are planned so far.
    planned: u64,
    /// How many connections share the random order of the blocks, and the number of this one.
    sharers: (u64, u64),
    seed: u64,
    random: Rng,
    /// How many operations there are still, when that is limited.
    left: Option<u64>,
}

impl Plan {
    /// The plan of the connection with this number, from 0.
    pub(super) fn new(job: &Job, connection: u32) -> Plan {
        let file_blocks = job.block_count();
        let block_count = file_blocks * u64::from(job.files.choice());
        let share = |total: u64| {
            let (all, number) = (u64::from(job.connections), u64::from(connection));
            total / all + u64::from(number < total % all)
        };
        Plan {
            workload: job.workload,
            block_bytes: job.block_bytes.into(),
            file_blocks,
            block_count,
            first: (u128::from(block_count) * u128::from(connection) / u128::from(job.connections)) as u64,
            planned: 0,
            sharers: match job.files {
                Files::OnePerConnection => (1, 0),
                Files::One | Files::Spread(_) => (job.connections.into(), connection.into()),
            },
            seed: job.seed,
            random: Rng::with_seed(job.seed ^ u64::from(connection) << u32::BITS),
            left: match job.end {
                End::After(_) => None,
                End::Bytes(bytes) => Some(share(bytes.div_ceil(job.block_bytes.into()))),
            },
        }
    }

    fn next_block(&mut self) -> u64 {
        let number = self.planned;
        self.planned += 1;
        match self.workload.order {
            Order::Sequential => (self.first + number) % self.block_count,
            Order::Random => {
                // The connections take turns in one order of all blocks, and have another one when it has ended.
                let place = number * self.sharers.0 + self.sharers.1;
                let pass = place / self.block_count;
                permuted(place % self.block_count, self.block_count, self.seed.wrapping_add(pass))
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
        let block = self.next_block();
        let (file, offset) = ((block / self.file_blocks) as usize, block % self.file_blocks * self.block_bytes);
        let (operation, read_percent) = match self.workload.operation {
            Operation::Mix => mix::draw(&mut self.random),
            operation => (operation, self.workload.read_percent),
        };
        let is_write = match read_percent {
            0 => true,
            100 => false,
            percent => self.random.u8(..100) >= percent,
        };
        Some(Step { operation, file, offset, is_write })
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
    fn random_blocks_come_once_a_pass_on_all_connections_together_and_the_same_for_the_same_seed() {
        let blocks = |connection| -> Vec<u64> {
            Plan::new(&job("randread"), connection).take(50).map(|step| step.offset / 4096).collect()
        };
        let (one, two) = (blocks(0), blocks(1));
        for pass in 0..10 {
            let mut both = [&one[pass * 5..][..5], &two[pass * 5..][..5]].concat();
            both.sort_unstable();
            assert!(both.into_iter().eq(0..10), "{pass}: {one:?} {two:?}");
        }
        assert_eq!(one, blocks(0));
        assert_ne!(one[..5], one[5..10]);
    }

    #[test]
    fn connection_with_a_file_of_its_own_takes_each_of_its_blocks_once() {
        let job = Job { files: Files::OnePerConnection, ..job("randread") };
        let blocks: HashSet<u64> = Plan::new(&job, 1).take(10).map(|step| step.offset).collect();
        assert_eq!(blocks, (0..10).map(|block| block * 4096).collect());
    }

    #[test]
    fn blocks_of_many_files_come_once_a_pass_each() {
        let job = Job { files: Files::Spread(3), ..job("randread") };
        let steps = |connection| Plan::new(&job, connection).take(15).map(|step| (step.file, step.offset / 4096));
        let all: HashSet<(usize, u64)> = steps(0).chain(steps(1)).collect();
        assert_eq!(all, (0..3).flat_map(|file| (0..10).map(move |block| (file, block))).collect());
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
