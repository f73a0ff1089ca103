//! Which block comes next, and whether it is read or written.

use std::num::NonZeroU32;

use fastrand::Rng;

use super::block_split::BlockSplit;
use super::distribution::Distribution;
use super::permutation::permuted;
use super::{End, Files, Job, Operation, Order, Workload, build, mix};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    /// Which of the files that there is a choice from.
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) is_write: bool,
    /// Whether a COMMIT follows it.
    pub(super) has_commit: bool,
}

/// The operations of one connection, in their order.
#[derive(Debug)]
pub(super) struct Plan {
    workload: Workload,
    sizes: BlockSplit,
    distribution: Distribution,
    /// The least of all sizes: what random orders count in.
    unit_bytes: u64,
    /// The units of each file, and of all that there is a choice from.
    file_units: u64,
    unit_count: u64,
    /// Where the next sequential operation begins, in the bytes of all these files.
    next_byte: u64,
    /// How many random operations are planned so far.
    planned: u64,
    /// How many connections share the random order of the blocks, and the number of this one.
    sharers: (u64, u64),
    seed: u64,
    random: Rng,
    /// How many writes are planned so far, and after how many of them comes a COMMIT.
    writes: u64,
    commit_every: Option<NonZeroU32>,
    /// How many bytes there are still to transfer, when that is limited.
    left_bytes: Option<u64>,
}

impl Plan {
    /// The plan of the connection with this number, from 0.
    pub(super) fn new(job: &Job, connection: u32) -> Plan {
        let (all, number) = (u64::from(job.connections), u64::from(connection));
        let file_units = job.unit_count();
        let unit_bytes = job.unit_bytes().into();
        let unit_count = file_units * u64::from(job.files.choice());
        let share = |total: u64| total / all + u64::from(number < total % all);
        let first_unit = (u128::from(unit_count) * u128::from(number) / u128::from(all)) as u64;
        Plan {
            workload: job.workload,
            sizes: job.sizes(),
            distribution: job.distribution,
            unit_bytes,
            file_units,
            unit_count,
            next_byte: first_unit * unit_bytes,
            planned: 0,
            sharers: match job.files {
                Files::OnePerConnection => (1, 0),
                Files::One | Files::Spread(_) => (all, number),
            },
            seed: job.seed,
            random: Rng::with_seed(job.seed ^ number << u32::BITS),
            writes: 0,
            commit_every: job.commit_every,
            left_bytes: match job.end {
                End::After(_) => None,
                End::Bytes(bytes) => Some(share(bytes.div_ceil(unit_bytes)) * unit_bytes),
            },
        }
    }

    /// The file of the next operation, and where in it that begins.
    fn next_place(&mut self, bytes: u64, is_write: bool) -> (usize, u64) {
        match self.workload.order {
            Order::Sequential => self.next_in_sequence(bytes),
            Order::Random => self.next_at_random(bytes, is_write),
        }
    }

    /// Right behind the last operation; in the next file where the rest of this one is too small.
    fn next_in_sequence(&mut self, bytes: u64) -> (usize, u64) {
        let file_bytes = self.file_units * self.unit_bytes;
        let mut at = self.next_byte;
        if at % file_bytes + bytes > file_bytes {
            at = at.next_multiple_of(file_bytes) % (self.unit_count * self.unit_bytes);
        }
        self.next_byte = (at + bytes) % (self.unit_count * self.unit_bytes);
        ((at / file_bytes) as usize, at % file_bytes)
    }

    /// At a multiple of the least size of the direction, and not over the end of the file.
    fn next_at_random(&mut self, bytes: u64, is_write: bool) -> (usize, u64) {
        let unit = self.next_unit();
        let align = self.sizes.sizes(is_write).min().map_or(self.unit_bytes, u64::from);
        let last = self.file_units * self.unit_bytes - bytes;
        let offset = (unit % self.file_units * self.unit_bytes).min(last);
        ((unit / self.file_units) as usize, offset - offset % align)
    }

    /// Counts a write.
    fn is_commit_due(&mut self) -> bool {
        self.writes += 1;
        self.commit_every.is_some_and(|every| self.writes.is_multiple_of(every.get().into()))
    }

    fn next_unit(&mut self) -> u64 {
        if let Some(rank) = self.distribution.rank(self.unit_count, &mut self.random) {
            return permuted(rank, self.unit_count, self.seed);
        }
        // The connections take turns in one order of all units, and have another one when it has ended.
        let place = self.planned * self.sharers.0 + self.sharers.1;
        self.planned += 1;
        permuted(place % self.unit_count, self.unit_count, self.seed.wrapping_add(place / self.unit_count))
    }
}

impl Iterator for Plan {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.left_bytes == Some(0) {
            return None;
        }
        let (operation, read_percent) = match self.workload.operation {
            Operation::Mix => mix::draw(&mut self.random),
            Operation::Build => build::draw(&mut self.random),
            operation => (operation, self.workload.read_percent),
        };
        let is_write = match read_percent {
            0 => true,
            100 => false,
            percent => self.random.u8(..100) >= percent,
        };
        let bytes = self.sizes.draw(&mut self.random, is_write);
        let (file, offset) = self.next_place(bytes.into(), is_write);
        let has_commit = is_write && self.is_commit_due();
        if let Some(left) = &mut self.left_bytes {
            *left = left.saturating_sub(bytes.into());
        }
        Some(Step { operation, file, offset, bytes, is_write, has_commit })
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
    fn sequential_operations_of_several_sizes_follow_each_other_and_stay_within_their_files() {
        let block_split = Some("4k/50:12k/30:8k/20".parse().unwrap());
        let job = Job { block_split, files: Files::Spread(2), connections: 1, ..job("read") };
        let mut expected = (0, 0);
        for step in Plan::new(&job, 0).take(1000) {
            let (file, offset) = expected;
            let is_over = offset + u64::from(step.bytes) > 10 * 4096;
            let at = if is_over { ((file + 1) % 2, 0) } else { expected };
            assert_eq!((step.file, step.offset), at);
            let end = at.1 + u64::from(step.bytes);
            expected = if end == 10 * 4096 { ((at.0 + 1) % 2, 0) } else { (at.0, end) };
        }
    }

    #[test]
    fn random_operations_begin_at_multiples_of_their_least_size_and_end_within_the_file() {
        let block_split = Some("4k/50:12k/50,8k/50:24k/50".parse().unwrap());
        let job = Job { block_split, ..job("randrw") };
        let steps: Vec<Step> = Plan::new(&job, 0).take(10_000).collect();
        for step in &steps {
            let least = if step.is_write { 8192 } else { 4096 };
            assert!(step.offset % least == 0 && step.offset + u64::from(step.bytes) <= 10 * 4096, "{step:?}");
        }
        for (bytes, is_write) in [(4096, false), (12_288, false), (8192, true), (24_576, true)] {
            let found = steps.iter().filter(|step| (step.bytes, step.is_write) == (bytes, is_write)).count();
            assert!((2_200..2_800).contains(&found), "{bytes}: {found}");
        }
        let used: HashSet<u64> = steps.iter().filter(|step| !step.is_write).map(|step| step.offset / 4096).collect();
        assert_eq!(used.len(), 10);
    }

    #[test]
    fn commit_comes_after_so_many_writes_however_many_reads_are_between() {
        let job = Job { commit_every: NonZeroU32::new(4), ..job("randrw") };
        let steps: Vec<Step> = Plan::new(&job, 0).take(1000).collect();
        assert!(steps.iter().all(|step| step.is_write || !step.has_commit));
        let writes = steps.iter().filter(|step| step.is_write);
        assert!(writes.zip(1..).all(|(step, number)| step.has_commit == (number % 4 == 0)));
    }

    #[test]
    fn popular_blocks_are_the_same_on_every_connection_and_others_with_another_seed() {
        let job = |seed| Job { distribution: Distribution::Zipf { theta: 2.0 }, seed, ..job("randread") };
        let most_used = |seed, connection| {
            let mut counts = [0; 10];
            Plan::new(&job(seed), connection).take(1000).for_each(|step| counts[(step.offset / 4096) as usize] += 1);
            (0..10).max_by_key(|block| counts[*block]).unwrap()
        };
        assert_eq!(most_used(1, 0), most_used(1, 1));
        let all: HashSet<usize> = (1..20).map(|seed| most_used(seed, 0)).collect();
        assert!(all.len() > 3, "{all:?}");
    }

    #[test]
    fn limited_plans_of_all_connections_make_the_whole() {
        let job = Job { end: End::Bytes(5 * 4096 - 1), ..job("read") };
        assert_eq!((Plan::new(&job, 0).count(), Plan::new(&job, 1).count()), (3, 2));
        let split = Job { block_split: Some("4k/50:8k/50".parse().unwrap()), end: End::Bytes(10 << 20), ..job };
        let moved: u64 = (0..2).flat_map(|number| Plan::new(&split, number)).map(|step| u64::from(step.bytes)).sum();
        assert!((10 << 20..=(10 << 20) + 2 * 4096).contains(&moved), "{moved}");
    }
}
