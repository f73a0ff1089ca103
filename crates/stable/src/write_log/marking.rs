//! The marks that exports need a log, and the number of its header.

use std::sync::Arc;

use super::WriteLog;
use crate::dependence::needed;
use crate::error::WriteLogError;
use crate::layer::LoggedExport;
use crate::mark::{self, Mark};

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

    /// Keeps the generation of the log, so that an older copy is refused.
    pub(super) fn keep_generation(&self) -> Result<(), WriteLogError> {
        let needed = needed(&self.lines);
        let is_needed = |id: &str| needed.values().any(|mark| mark.log == id);
        self.state_file.keep_generation(&self.log.id(), self.log.generation(), is_needed)
    }
}
