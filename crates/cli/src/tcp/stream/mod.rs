//! `wharf tcp stream`: a stream from the sender in user space to this machine's kernel.

mod flags;
mod shown;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use segments::user::{Control, Outcome, run as run_stream};

use crate::failure::{Failure, TcpError};
use crate::interruption;
pub use flags::Flags;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// Sends the streams one after the other. Ctrl-C ends the one that runs and shows all that there are.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let mut interrupted = interruption::listen()?;
    let mut done = Vec::new();
    let mut signal = None;
    for rule in flags.rules() {
        let control = Arc::new(Control::default());
        let options = flags.options(rule);
        let bar = progress(options.total_bytes);
        let outcome = thread::scope(|scope| {
            let stream = scope.spawn(|| run_stream(&options, &control));
            while !stream.is_finished() {
                if signal.is_none() {
                    signal = interrupted.try_recv().ok();
                }
                control.stop.store(signal.is_some(), Ordering::Relaxed);
                let bytes = control.received_bytes.load(Ordering::Relaxed);
                bar.set_position(bytes);
                bar.set_message(format!("{} {}", rule.name(), HumanBytes(bytes)));
                thread::sleep(TICK);
            }
            stream.join()
        });
        bar.finish_and_clear();
        done.push((rule, finished(outcome)?));
        if signal.is_some() {
            break;
        }
    }
    shown::show(flags, &done)?;
    match signal {
        Some(signal) => {
            Err(Failure::Interrupted { signal, left: "the figures are of what was sent until then".to_owned() })
        }
        None => Ok(()),
    }
}

fn finished(outcome: thread::Result<Result<Outcome, segments::user::Error>>) -> Result<Outcome, Failure> {
    let outcome = outcome.unwrap_or(Err(segments::user::Error::Died)).map_err(TcpError::Stream)?;
    if outcome.wrong_bytes > 0 {
        return Err(TcpError::WrongBytes { count: outcome.wrong_bytes }.into());
    }
    Ok(outcome)
}

fn progress(total_bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:10} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total_bytes).with_style(style)
}
