//! Shows the progress of a run, and stops it on Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use tokio::sync::oneshot::Receiver;

use crate::failure::Failure;
use crate::interruption;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);
/// How soon the end of a run is noticed.
const LOOK: Duration = Duration::from_millis(10);

/// Whether Ctrl-C was pressed.
pub struct Interrupted {
    signals: Receiver<i32>,
    signal: Option<i32>,
}

/// A run in progress.
pub struct Watched<'a> {
    /// Its name.
    pub name: &'a str,
    /// The bytes transferred so far.
    pub bytes: &'a AtomicU64,
    /// Set to stop the run.
    pub stop: &'a AtomicBool,
    /// The bytes to transfer, if known.
    pub total: Option<u64>,
    /// The time of the run, if known.
    pub duration: Option<Duration>,
}

impl Interrupted {
    /// Listens for Ctrl-C.
    ///
    /// # Errors
    /// When signals cannot be received.
    pub fn listen() -> Result<Interrupted, Failure> {
        Ok(Interrupted { signals: interruption::listen()?, signal: None })
    }

    /// Whether Ctrl-C was pressed.
    pub fn look(&mut self) -> bool {
        self.signal = self.signal.or_else(|| self.signals.try_recv().ok());
        self.signal.is_some()
    }

    /// Runs something with a progress bar, and stops it on Ctrl-C; `None` if it panicked.
    pub fn watch<T: Send>(&mut self, watched: &Watched<'_>, run: impl FnOnce() -> T + Send) -> Option<T> {
        let bar = watched.bar();
        let began = Instant::now();
        let mut shown_at = None::<Instant>;
        let result = thread::scope(|scope| {
            let run = scope.spawn(run);
            while !run.is_finished() {
                watched.stop.store(self.look(), Ordering::Relaxed);
                if shown_at.is_none_or(|at| at.elapsed() >= TICK) {
                    watched.show(&bar, began.elapsed());
                    shown_at = Some(Instant::now());
                }
                thread::sleep(LOOK);
            }
            run.join().ok()
        });
        bar.finish_and_clear();
        result
    }

    /// Returns a failure after Ctrl-C.
    ///
    /// # Errors
    /// [`Failure::Interrupted`].
    pub fn end(&mut self) -> Result<(), Failure> {
        self.look();
        let left = || "the figures cover the data sent until then".to_owned();
        self.signal.map_or(Ok(()), |signal| Err(Failure::Interrupted { signal, left: left() }))
    }
}

impl Watched<'_> {
    fn bar(&self) -> ProgressBar {
        let style = ProgressStyle::with_template("{bar:10} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        ProgressBar::new(self.total.or(self.duration.map(milliseconds)).unwrap_or(0)).with_style(style)
    }

    fn show(&self, bar: &ProgressBar, elapsed: Duration) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        bar.set_position(if self.total.is_some() { bytes } else { milliseconds });
        let speed = bytes as f64 * 8e-6 / elapsed.as_secs_f64().max(0.001);
        bar.set_message(format!("{} {} {speed:.0} Mbit/s", self.name, HumanBytes(bytes)));
    }
}
