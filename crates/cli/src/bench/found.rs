//! What was found so far, also of a job whose files are not removed yet.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab::bench::{BenchResult, Observer};
use measure::record::JobSummary;

use crate::failure::BenchError;

/// The figures of all jobs, which a thread of their own finds.
#[derive(Debug, Clone, Default)]
pub(super) struct Found(Arc<Mutex<Figures>>);

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) summaries: Vec<JobSummary>,
    /// The first failure of an operation.
    pub(super) first_error: Option<BenchError>,
}

impl Found {
    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes them.
    pub(super) fn take(&self) -> Figures {
        mem::take(&mut self.figures())
    }

    pub(super) fn push(&self, summary: JobSummary) {
        self.figures().summaries.push(summary);
    }

    pub(super) fn note_error(&self, error: BenchError) {
        self.figures().first_error.get_or_insert(error);
    }

    /// Does a job that tells the observer what it measured, and adds its result. What it measured counts also if it
    /// failed later, unless it was `wrong`.
    pub(super) fn add<E>(
        &self,
        run: impl FnOnce(Observer<JobSummary>) -> Result<BenchResult, E>,
        is_wrong: impl FnOnce(&E) -> bool,
    ) -> Result<BenchResult, E> {
        let (before, found) = (self.figures().summaries.len(), self.clone());
        let result = run(Observer(Arc::new(move |summary: &JobSummary| found.push(summary.clone()))));
        match &result {
            Ok(result) => {
                self.figures().summaries.truncate(before);
                self.push(result.summary.clone());
            }
            Err(error) if is_wrong(error) => self.figures().summaries.truncate(before),
            Err(_) => {}
        }
        result
    }
}
