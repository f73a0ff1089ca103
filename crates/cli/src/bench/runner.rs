//! Jobs one after the other, and the rates of a curve.

use client::Url;
use lab::bench::{Error, Existing, Files, Job, LocalPath, Rate, Spacing};

use super::found::Found;

/// Runs jobs one after the other.
pub(super) struct Runner {
    /// How many rates of each job are measured after its maximum.
    pub(super) steps: u32,
    /// The files that these jobs made, which later ones may change.
    pub(super) made: Vec<(Url, Option<LocalPath>, Files)>,
    pub(super) found: Found,
}

/// How many operations of a connection wait for replies at most while their rate is given.
const OPEN_DEPTH: u32 = 64;

impl Runner {
    /// Runs all, until one fails or they are stopped.
    pub(super) fn run_all(&mut self, jobs: &[Job]) -> Result<(), Error> {
        for job in jobs {
            let most = self.run(job)?;
            for step in 1..=self.steps {
                let share = f64::from(step) / f64::from(self.steps);
                let rate = Rate { per_second: most * share, spacing: Spacing::Poisson };
                let name = format!("{} {:.0} %", job.name, share * 100.0);
                let depth = job.depth.max(OPEN_DEPTH);
                if rate.per_second > 0.0 {
                    self.run(&Job { name, depth, rate: Some(rate), ..job.clone() })?;
                }
            }
        }
        Ok(())
    }

    /// Runs a job, unless it is stopped. Returns how many operations a second it did.
    fn run(&mut self, job: &Job) -> Result<f64, Error> {
        if job.stop.is_stopped() {
            return Ok(0.0);
        }
        let files = (job.url.clone(), job.local.clone(), job.files);
        let existing = if self.made.contains(&files) { Existing::Overwrite } else { job.existing };
        let run = |observer| lab::bench::run(&Job { existing, on_measured: Some(observer), ..job.clone() });
        let outcome = self.found.add(run, |_| job.verify)?;
        if outcome.made_files {
            self.made.push(files);
        }
        if let Some(error) = outcome.first_error {
            self.found.note_error(error.into());
        }
        Ok(outcome.summary.work_in_runtime.operations_per_second(outcome.summary.runtime))
    }
}
