use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::copy::{Event, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::remote::display_name;

/// The files that are being copied.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(Arc<Mutex<BTreeSet<Vec<u8>>>>);

/// How many files that are incomplete are named.
const MAX_NAMED: usize = 4;

impl UnderWay {
    fn hear(&self, event: Event<'_>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Found { path, .. } => _ = files.insert(path.to_vec()),
            Event::Finished { path } => _ = files.remove(path),
            _ => {}
        }
    }

    /// Says which files are incomplete when the copy ends now.
    pub fn left(&self) -> String {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named: Vec<_> = files.iter().take(MAX_NAMED).map(|path| display_name(path).to_string()).collect();
        match files.len() {
            0 => "no file is incomplete".to_owned(),
            count if count > MAX_NAMED => format!("incomplete: {} and {} more", named.join(", "), count - MAX_NAMED),
            _ => format!("incomplete: {}", named.join(", ")),
        }
    }
}

/// A bar that shows how far a copy is, on a terminal; elsewhere nothing is drawn.
pub struct CopyProgress {
    bar: ProgressBar,
    began: Instant,
    /// Whether copies are compared with their originals.
    verifies: bool,
    under_way: UnderWay,
}

/// How often the bar moves when nothing else moves it.
const TICK: Duration = Duration::from_millis(200);

impl CopyProgress {
    /// Starts the clock of a copy that compares files afterwards, or does not. `under_way` hears which files it is at.
    pub fn start(verifies: bool, under_way: &UnderWay) -> CopyProgress {
        let template = "{bar:30} {bytes} of {total_bytes}  {binary_bytes_per_sec}  {elapsed}  {wide_msg}";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(0).with_style(style);
        bar.enable_steady_tick(TICK);
        CopyProgress { bar, began: Instant::now(), verifies, under_way: under_way.clone() }
    }

    /// What hears of the steps.
    pub fn listener(&self) -> Progress {
        let (bar, verifies, under_way) = (self.bar.clone(), self.verifies, self.under_way.clone());
        Arc::new(move |event| {
            under_way.hear(event);
            match event {
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
            }
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
