//! How far a copy or a benchmark is: a bar on a terminal, and what is said of a copy when it ends early.

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

/// What to do about a copy that is not whole.
const RESUME: &str = "run the same command with --resume to go on";

/// A bar that shows how far a copy is, on a terminal; elsewhere nothing is drawn.
pub struct CopyProgress {
    bar: ProgressBar,
    began: Instant,
    /// Whether copies are compared with their originals.
    verifies: bool,
    under_way: UnderWay,
    total: Arc<Total>,
}

/// How much there is to copy.
struct Total {
    bar: ProgressBar,
    under_way: UnderWay,
    /// Whether that is known. Until then what was met is taken for it.
    is_known: AtomicBool,
}

/// How often the bar moves when nothing else moves it.
const TICK: Duration = Duration::from_millis(200);
/// What is shown while nobody knows how much there is.
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
    /// Starts the clock of a copy that compares files afterwards, or does not. `under_way` hears which files it is at.
    pub fn start(verifies: bool, under_way: &UnderWay) -> CopyProgress {
        let bar = ProgressBar::new(0).with_style(style(UNCOUNTED));
        bar.enable_steady_tick(TICK);
        let (under_way, is_known) = (under_way.clone(), AtomicBool::new(false));
        let total = Arc::new(Total { bar: bar.clone(), under_way: under_way.clone(), is_known });
        CopyProgress { bar, began: Instant::now(), verifies, under_way, total }
    }

    /// Counts what there is to copy of this machine meanwhile.
    pub fn count_here(&self, top: &Path) {
        let (top, total) = (top.to_owned(), Arc::downgrade(&self.total));
        // Without a thread for it the copy has no percentage.
        let _ = std::thread::Builder::new().name("count".to_owned()).spawn(move || count::count_here(&top, &total));
    }

    /// Counts what there is to copy of a server meanwhile. A tree is asked for a second time, which is done only for a
    /// terminal.
    pub fn count_there(&self, mount: &Mount, top: Entry) {
        if !self.bar.is_hidden() {
            tokio::spawn(count::count_there(mount.clone(), top, Arc::downgrade(&self.total)));
        }
    }

    /// What hears of the steps.
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
                    // Nothing was copied for it, which says nothing about the time that is left.
                    bar.reset_eta();
                }
                Event::Copied(bytes) => {
                    bar.inc(bytes);
                    // Nobody shall take the comparison that follows for a copy that hangs.
                    if verifies && bar.length().is_some_and(|length| bar.position() >= length) {
                        bar.set_message("comparing");
                    }
                }
                _ => {}
            }
        })
    }

    /// What hears of files that cannot be copied and tells of them; `file` is the remote side, as the user named it.
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

    /// What is left of a copy that ends early, and what to do about it; empty when nothing was begun.
    pub fn left(&self) -> String {
        if self.under_way.has_begun() { format!("; {}", self.under_way.left()) } else { String::new() }
    }

    /// Takes the bar away, and says how long it took.
    pub fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.began.elapsed()
    }
}

impl Drop for CopyProgress {
    /// Takes the bar away when the copy was interrupted.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
