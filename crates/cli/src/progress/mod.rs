//! Shows the progress of a copy or a benchmark, and describes a copy that ends early.

mod bench;
mod count;
mod lab;
mod under_way;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::copy::{Event, OnFailure, Progress};
use client::{Entry, Mount};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::advice;
pub use bench::BenchProgress;
pub use lab::LabProgress;
pub use under_way::UnderWay;

/// The remedy for an incomplete copy.
const RESUME: &str = "run the same command with --resume to go on";

/// The remedy for an incomplete copy of what cannot be read again.
const AGAIN: &str = "run the same command with --overwrite to copy all of it again";

/// Shows the progress of a copy on a terminal; draws nothing elsewhere.
pub struct CopyProgress {
    bar: ProgressBar,
    began: Instant,
    /// Whether copies are verified.
    verifies: bool,
    under_way: UnderWay,
    total: Arc<Total>,
}

/// The amount to copy.
struct Total {
    bar: ProgressBar,
    under_way: UnderWay,
    /// Whether it is known. Until then it is the amount found so far.
    is_known: AtomicBool,
}

/// How often the bar is redrawn without other events.
const TICK: Duration = Duration::from_millis(200);
/// The line while the amount is unknown.
const UNCOUNTED: &str = "{spinner} {bytes}  {binary_bytes_per_sec}  {elapsed}  {wide_msg}";
const COUNTED: &str =
    "{bar:30} {percent:>3}%  {bytes} of {total_bytes}  {binary_bytes_per_sec}  {eta} left  {wide_msg}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Total {
    fn set(&self, files: u64, bytes: u64) {
        self.is_known.store(true, Ordering::Relaxed);
        self.under_way.set_total(files);
        self.bar.set_length(bytes);
        self.bar.set_style(style(COUNTED));
    }
}

impl CopyProgress {
    /// Starts the clock. `verifies` tells whether files are compared after the copy. `under_way` tracks the files in
    /// progress.
    pub fn start(verifies: bool, under_way: &UnderWay) -> CopyProgress {
        let bar = ProgressBar::new(0).with_style(style(UNCOUNTED));
        bar.enable_steady_tick(TICK);
        let (under_way, is_known) = (under_way.clone(), AtomicBool::new(false));
        let total = Arc::new(Total { bar: bar.clone(), under_way: under_way.clone(), is_known });
        CopyProgress { bar, began: Instant::now(), verifies, under_way, total }
    }

    /// Counts a local tree in the background.
    pub fn count_here(&self, top: &Path) {
        let (top, total) = (top.to_owned(), Arc::downgrade(&self.total));
        // Without a thread the copy has no percentage.
        let _ = std::thread::Builder::new().name("count".to_owned()).spawn(move || count::count_here(&top, &total));
    }

    /// Counts a remote tree in the background. This reads the tree a second time, so it is done only for a terminal.
    pub fn count_there(&self, mount: &Mount, top: Entry) {
        if !self.bar.is_hidden() {
            tokio::spawn(count::count_there(mount.clone(), top, Arc::downgrade(&self.total)));
        }
    }

    /// Returns a listener for the steps of a copy.
    pub fn listener(&self) -> Progress {
        let (bar, verifies, under_way, total) =
            (self.bar.clone(), self.verifies, self.under_way.clone(), Arc::clone(&self.total));
        Arc::new(move |event| {
            under_way.hear(event);
            match event {
                Event::Found { path, bytes } => {
                    if !total.is_known.load(Ordering::Relaxed) {
                        bar.inc_length(bytes);
                    }
                    if !bar.is_hidden() {
                        bar.set_message(path.escape_ascii().to_string());
                    }
                }
                Event::Kept(bytes) => {
                    bar.inc(bytes);
                    // These bytes were not transferred, so they must not affect the estimate.
                    bar.reset_eta();
                }
                Event::Copied(bytes) => {
                    bar.inc(bytes);
                    // Shows that verification is running, so that the copy does not seem to hang.
                    if verifies && bar.length().is_some_and(|length| bar.position() >= length) {
                        bar.set_message("comparing");
                    }
                }
                _ => {}
            }
        })
    }

    /// Returns a listener that prints files that cannot be copied; `file` is the remote side, as the user named it.
    pub fn failure_listener(&self, file: String) -> OnFailure {
        let (bar, under_way) = (self.bar.clone(), self.under_way.clone());
        Arc::new(move |path, error| {
            let (is_told, is_begun) = under_way.fail(path);
            if is_told {
                let left = if is_begun { "; its copy is incomplete" } else { "" };
                bar.suspend(|| eprintln!("wharf: {file}: {error}{}{left}", advice(error)));
            }
        })
    }

    /// Describes what is left of a copy that ends early, and the remedy; empty if nothing has begun.
    pub fn left(&self) -> String {
        if self.under_way.has_begun() { format!("; {}", self.under_way.left()) } else { String::new() }
    }

    /// Removes the bar, and returns the elapsed time.
    pub fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.began.elapsed()
    }
}

impl Drop for CopyProgress {
    /// Removes the bar after an interruption.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
