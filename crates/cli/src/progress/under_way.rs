use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::copy::Event;

use super::{AGAIN, RESUME};
use crate::failure::Failures;
use crate::remote::display_name;

/// The progress of a command's copies. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(Arc<Mutex<ProgressState>>);

#[derive(Debug, Default)]
struct ProgressState {
    /// Files with incomplete copies.
    incomplete: BTreeSet<Vec<u8>>,
    /// The number of regular files copied.
    copied: u64,
    /// The number of regular files found.
    found: u64,
    /// The number of regular files in total, if counted.
    total: Option<u64>,
    failures: Failures,
    /// Whether the copy is of a file that cannot be read again.
    is_stream: bool,
}

/// The maximum number of incomplete files that are listed.
const MAX_NAMED: usize = 4;

impl UnderWay {
    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hear(&self, event: Event<'_>) {
        let mut state = self.state();
        match event {
            Event::Found { .. } => state.found += 1,
            Event::Begun { path } => _ = state.incomplete.insert(path.to_vec()),
            Event::Finished { path, is_file } => {
                state.copied += u64::from(is_file);
                state.incomplete.remove(path);
            }
            _ => {}
        }
    }

    /// Whether the file being copied cannot be read again, as standard input.
    pub fn set_stream(&self, is_stream: bool) {
        self.state().is_stream = is_stream;
    }

    /// Sets the total number of files.
    pub(super) fn set_total(&self, files: u64) {
        self.state().total = Some(files);
    }

    /// Counts a failure. Returns whether to print it, and whether the file has an incomplete copy.
    pub(super) fn fail(&self, path: &[u8]) -> (bool, bool) {
        let mut state = self.state();
        // It is reported with the failure.
        let is_begun = state.incomplete.remove(path);
        (state.failures.is_told(), is_begun)
    }

    /// Whether any file is copied or begun.
    pub(super) fn has_begun(&self) -> bool {
        let state = self.state();
        state.copied > 0 || !state.incomplete.is_empty()
    }

    /// Lists the files that are incomplete if the copy ends now, without those that failed.
    pub fn incomplete(&self) -> String {
        let files = &self.state().incomplete;
        let named: Vec<_> = files.iter().take(MAX_NAMED).map(|path| display_name(path).to_string()).collect();
        match files.len() {
            0 => "no file is incomplete".to_owned(),
            count if count > MAX_NAMED => format!("incomplete: {} and {} more", named.join(", "), count - MAX_NAMED),
            _ => format!("incomplete: {}", named.join(", ")),
        }
    }

    /// Describes what is left of a copy that ends now, and the remedy.
    pub fn left(&self) -> String {
        format!("{}; {}", self.incomplete(), self.copied())
    }

    /// Describes how much is copied, and the remedy for the rest.
    pub fn copied(&self) -> String {
        let state = self.state();
        let remedy = if state.is_stream { AGAIN } else { RESUME };
        let total = state.total.map(|total| format!(" of {}", total.max(state.found))).unwrap_or_default();
        let failed = match (state.failures.count(), state.failures.untold()) {
            (0, _) => String::new(),
            (count, 0) => format!(", {count} failures"),
            (count, untold) => format!(", {count} failures, of which {untold} are not shown"),
        };
        format!("{}{total} files copied{failed}; {remedy}", state.copied)
    }
}
