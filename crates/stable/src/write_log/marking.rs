//! The marks that exports need a log, and how far it has come.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{WriteLog, hold};
use crate::dependence::needed;
use crate::error::WriteLogError;
use crate::layer::LoggedExport;
use crate::mark::{self, Mark};
use crate::state_file::LogReach;

/// How often the state directory is told where the log ends.
const BETWEEN_ENDS: Duration = Duration::from_secs(1);

/// The end of a log that could not be kept, which is tried again with the next trim.
const NOT_KEPT: u64 = u64::MAX;

impl WriteLog {
    /// Marks exports as ones that need this log, which is empty: all of them or none.
    pub(super) fn mark_all(&self, exports: &[Arc<LoggedExport>]) -> Result<(), WriteLogError> {
        exports.iter().try_for_each(|export| self.mark(export, true)).inspect_err(|_| {
            // What cannot be released depends on a log that stays.
            let _ = exports.iter().try_for_each(|export| self.mark(export, false));
        })
    }

    /// Marks an export as one that needs this log, or releases it.
    pub(super) fn mark(&self, export: &LoggedExport, is_needed: bool) -> Result<(), WriteLogError> {
        if self.options.is_expendable {
            return Ok(());
        }
        let (log, generation, root) = (self.log.id(), self.log.generation(), mark::root(&*export.inner));
        let state_dir = Some(mark::absolute(&self.options.state_dir));
        let mark = Mark { is_needed, log, generation, path: self.site().path, root, state_dir };
        mark.store(&export.name, &*export.inner, &self.state_file)
    }

    /// Keeps how far the log has come, so that an older copy is refused.
    pub(super) fn keep_generation(&self) -> Result<(), WriteLogError> {
        let needed = needed(&self.lines);
        let is_needed = |id: &str| needed.values().any(|mark| mark.log == id);
        let reach = LogReach { generation: self.log.generation(), end: self.log.durable().bytes() };
        self.state_file.keep_generation(&self.log.id(), reach, is_needed)?;
        *hold(&self.kept_end) = (Instant::now(), reach.end);
        Ok(())
    }

    /// The same between two trims, now and then.
    pub(super) fn keep_end(&self) {
        let (kept_at, kept_end) = *hold(&self.kept_end);
        if kept_at.elapsed() < BETWEEN_ENDS || [NOT_KEPT, self.log.durable().bytes()].contains(&kept_end) {
            return;
        }
        if let Err(error) = self.keep_generation() {
            tracing::error!(%error, "a start with an older copy of the write log would not be refused");
            hold(&self.kept_end).1 = NOT_KEPT;
        }
    }
}
