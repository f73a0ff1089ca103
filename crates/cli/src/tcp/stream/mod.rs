//! `wharf tcp stream`: a stream from the sender in user space to this machine's kernel.

mod flags;
mod series;
mod shown;

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use segments::user::{Control, Error, Options, Outcome, run as run_stream};
use tokio::sync::oneshot::Receiver;

use crate::failure::{Failure, TcpError};
use crate::interruption;
pub use flags::Flags;
use series::Series;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// Sends the streams one after the other. Ctrl-C ends the one that runs and shows all that there are.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let mut interrupted = Interrupted { signals: interruption::listen()?, signal: None };
    let mut done = Vec::new();
    let mut ended = Ok(());
    for buffers in flags.buffer_pairs() {
        let mut all: Vec<Series> =
            flags.rules().into_iter().map(|rule| Series { rule, buffers, outcomes: Vec::new() }).collect();
        ended = repeat(flags, &mut all, &mut interrupted);
        done.extend(all.into_iter().filter(|series| !series.outcomes.is_empty()));
        if ended.is_err() || interrupted.signal.is_some() {
            break;
        }
    }
    if !done.is_empty() {
        shown::show(flags, &done)?;
    }
    ended?;
    match interrupted.signal {
        Some(signal) => {
            Err(Failure::Interrupted { signal, left: "the figures are of what was sent until then".to_owned() })
        }
        None => Ok(()),
    }
}

/// Runs each series until it is sure, in random order, so that what slows one down slows all.
fn repeat(flags: &Flags, all: &mut [Series], interrupted: &mut Interrupted) -> Result<(), Failure> {
    let repeats = flags.repeats();
    for round in 0..repeats.max {
        for place in measure::shuffled(flags.seed, round as u64, all.len()) {
            let series = &mut all[place];
            if !series.is_done(&repeats) && interrupted.signal.is_none() {
                let options = flags.options(series.rule, series.buffers);
                series.outcomes.push(one(&options, interrupted)?);
            }
        }
    }
    Ok(())
}

/// One stream, with progress.
fn one(options: &Options, interrupted: &mut Interrupted) -> Result<Outcome, Failure> {
    let control = Control::default();
    let bar = progress(options);
    let outcome = thread::scope(|scope| {
        let stream = scope.spawn(|| run_stream(options, &control));
        while !stream.is_finished() {
            control.stop.store(interrupted.look(), Ordering::Relaxed);
            let bytes = control.received_bytes.load(Ordering::Relaxed);
            bar.set_position(bytes);
            bar.set_message(format!("{} {}", options.sender.rule.name(), HumanBytes(bytes)));
            thread::sleep(TICK);
        }
        stream.join().unwrap_or(Err(Error::Died))
    });
    bar.finish_and_clear();
    let outcome = outcome.map_err(TcpError::Stream)?;
    match outcome.wrong_bytes {
        0 => Ok(outcome),
        count => Err(TcpError::WrongBytes { count }.into()),
    }
}

/// Ctrl-C, as far as it came.
struct Interrupted {
    signals: Receiver<i32>,
    signal: Option<i32>,
}

impl Interrupted {
    fn look(&mut self) -> bool {
        self.signal = self.signal.or_else(|| self.signals.try_recv().ok());
        self.signal.is_some()
    }
}

fn progress(options: &Options) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:10} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(options.total_bytes).with_style(style)
}
