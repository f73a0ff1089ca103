use std::sync::Arc;
use std::time::{Duration, Instant};

use client::copy::{Event, Progress};
use indicatif::{ProgressBar, ProgressStyle};

/// A bar that shows how far a copy is, on a terminal; elsewhere nothing is drawn.
pub struct CopyProgress {
    bar: ProgressBar,
    began: Instant,
    /// Whether copies are compared with their originals.
    verifies: bool,
}

/// How often the bar moves when nothing else moves it.
const TICK: Duration = Duration::from_millis(200);

impl CopyProgress {
    /// Starts the clock of a copy that compares files afterwards, or does not.
    pub fn start(verifies: bool) -> CopyProgress {
        let template = "{bar:30} {bytes} of {total_bytes}  {binary_bytes_per_sec}  {elapsed}  {wide_msg}";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(0).with_style(style);
        bar.enable_steady_tick(TICK);
        CopyProgress { bar, began: Instant::now(), verifies }
    }

    /// What hears of the steps.
    pub fn listener(&self) -> Progress {
        let (bar, verifies) = (self.bar.clone(), self.verifies);
        Arc::new(move |event| match event {
            Event::Found { path, bytes } => {
                bar.inc_length(bytes);
                if !bar.is_hidden() {
                    bar.set_message(path.escape_ascii().to_string());
                }
            }
            Event::Copied(bytes) => {
                bar.inc(bytes);
                // Nobody shall take the comparison that follows for a copy that hangs.
                if verifies && bar.length().is_some_and(|length| bar.position() >= length) {
                    bar.set_message("comparing");
                }
            }
            _ => {}
        })
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
