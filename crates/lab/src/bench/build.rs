//! Steps like those of a build of software, in trees of small files.
//!
//! Each outstanding operation has a tree of its own, which is made before the measurement and removed after it. Every
//! step leaves a tree as it was, but for the contents of files.

use fastrand::Rng;

use super::{BuildStep, Job, Operation};

/// What of a hundred steps are these, like those of SWBUILD of SPEC SFS 2014, in which files that are written replace
/// others, and what is made is removed.
const SHARES: [(BuildStep, u32); 8] = [
    (BuildStep::Stat, 70),
    (BuildStep::Write, 7),
    (BuildStep::Read, 6),
    (BuildStep::Access, 6),
    (BuildStep::Chmod, 5),
    (BuildStep::CreateRemove, 3),
    (BuildStep::List, 2),
    (BuildStep::MakeDir, 1),
];
/// How many files a directory has.
pub(super) const FILES_PER_DIR: u64 = 32;
/// The name of what a step makes; each tree has one step at a time.
pub(super) const NEW: &str = "new";

/// The next step, and how many of a hundred of its kind read.
pub(super) fn draw(random: &mut Rng) -> (Operation, u8) {
    let all: u32 = SHARES.iter().map(|(_, share)| share).sum();
    let mut place = random.u32(..all);
    let is_drawn = |(_, share): &&(BuildStep, u32)| {
        let is_here = place < *share;
        place = place.saturating_sub(*share);
        is_here
    };
    let step = SHARES.iter().find(is_drawn).map_or(BuildStep::Stat, |(step, _)| *step);
    (Operation::BuildStep(step), if step == BuildStep::Write { 0 } else { 100 })
}

/// A tree, before it is made.
#[derive(Debug, Clone)]
pub(super) struct TreePlan {
    /// Its name in the directory of the job.
    pub(super) name: String,
    /// The sizes of its files, in bytes.
    pub(super) sizes: Vec<u32>,
    /// The largest that a file can have.
    pub(super) max_bytes: u32,
}

impl TreePlan {
    /// The tree of a worker of a connection.
    pub(super) fn new(job: &Job, connection: u32, worker: u32) -> TreePlan {
        let mut random = Rng::with_seed(job.seed ^ u64::from(connection) << 32 ^ u64::from(worker));
        let sizes = job.sizes();
        TreePlan {
            name: format!("{}.{connection}-{worker}.tree", job.temporary_name()),
            sizes: (0..job.files_of_tree()).map(|_| sizes.draw(&mut random, true)).collect(),
            max_bytes: job.max_block_bytes(),
        }
    }

    /// How many directories it has.
    pub(super) fn dirs(&self) -> u64 {
        (self.sizes.len() as u64).div_ceil(FILES_PER_DIR)
    }

    /// The file that a step with this random number uses.
    pub(super) fn file(&self, number: u64) -> u64 {
        number % (self.sizes.len() as u64).max(1)
    }
}

/// The name of a directory of a tree.
pub(super) fn dir_name(number: u64) -> String {
    format!("d{number}")
}

/// The name of a file in its directory.
pub(super) fn file_name(number: u64) -> String {
    format!("f{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_share_and_only_writes_write() {
        let mut random = Rng::with_seed(3);
        let drawn: Vec<(Operation, u8)> = (0..100_000).map(|_| draw(&mut random)).collect();
        assert_eq!(SHARES.iter().map(|(_, share)| share).sum::<u32>(), 100);
        for (step, share) in SHARES {
            let found = drawn.iter().filter(|(drawn, _)| *drawn == Operation::BuildStep(step)).count() as f64 / 1e3;
            assert!((found - f64::from(share)).abs() < 0.6, "{step:?}: {found} of {share}");
        }
        assert!(drawn.iter().all(|(step, reads)| (*reads == 0) == (*step == Operation::BuildStep(BuildStep::Write))));
    }

    #[test]
    fn trees_together_have_at_most_the_size_and_more_files_than_a_job_may_have_are_refused() {
        let job = Job {
            workload: "build".parse().unwrap(),
            block_bytes: 16 << 10,
            file_bytes: 16 << 20,
            connections: 4,
            depth: 2,
            ..Job::new("nfs://localhost/x".parse().unwrap())
        };
        assert!(job.check().is_ok());
        let trees: Vec<TreePlan> = (0..8).map(|number| TreePlan::new(&job, number / 2, number % 2)).collect();
        assert!(trees.iter().all(|tree| tree.sizes == [16 << 10; 128] && tree.dirs() == 4));
        assert!(trees.iter().all(|tree| trees.iter().filter(|other| other.name == tree.name).count() == 1));
        let error = Job { file_bytes: 1 << 40, ..job }.check().unwrap_err().to_string();
        assert!(error.contains("--size divided by --bs") && error.contains("can be 1 to 1000000"), "{error}");
    }
}
