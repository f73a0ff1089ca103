//! The sender in user space.

use segments::Rule;
use segments::trace::Tally;
use segments::user::{self, Control, Error, Options, TransferResult};

use super::{Flags, shown};
use crate::failure::{Failure, TcpError};
use crate::tcp::series::{self, Figure};
use crate::tcp::watch::{Interrupted, Watched};

/// Runs of the same stream.
pub type Series = series::Series<Case, TransferResult>;

/// What all runs of a stream have in common.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The rule.
    pub rule: Rule,
    /// Send and receive buffer in bytes, if they are one of the pairs of `--buffers`.
    pub buffers: Option<(usize, u64)>,
}

/// Bits per second, and processor time in µs per KiB at the sender and at the receiver.
pub const FIGURES: [Figure<TransferResult>; 3] =
    [TransferResult::bits_per_second, TransferResult::sender_us_per_kib, TransferResult::receiver_us_per_kib];

/// Runs the streams one after the other.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if flags.is_ambiguous() {
        return Err(TcpError::SeveralCaptures.into());
    }
    let mut interrupted = Interrupted::listen()?;
    let mut done = Vec::new();
    let mut ended = Ok(());
    for buffers in flags.buffer_pairs() {
        let rules = flags.rules().into_iter();
        let mut all: Vec<Series> = rules.map(|rule| Series::new(Case { rule, buffers }, &FIGURES)).collect();
        ended = series::repeat(&flags.repeat.repeats(), &mut all, |case| {
            if interrupted.look() {
                return Ok(None);
            }
            one(&flags.options(case.rule, case.buffers), &mut interrupted).map(Some)
        });
        done.extend(all.into_iter().filter(|series| !series.outcomes.is_empty()));
        if ended.is_err() || interrupted.look() {
            break;
        }
    }
    if !done.is_empty() {
        shown::show(flags, &done)?;
    }
    ended.and_then(|()| interrupted.end())
}

/// Runs one stream, with progress.
fn one(options: &Options, interrupted: &mut Interrupted) -> Result<TransferResult, Failure> {
    let control = Control::default();
    let watched = Watched {
        name: options.sender.rule.name(),
        bytes: &control.received_bytes,
        stop: &control.stop,
        total: (options.total_bytes < u64::MAX).then_some(options.total_bytes),
        duration: options.duration,
    };
    let outcome = interrupted.watch(&watched, || user::run(options, &control)).unwrap_or(Err(Error::Died));
    let outcome = outcome.map_err(TcpError::Stream)?;
    match outcome.wrong_bytes {
        0 => Ok(outcome),
        count => Err(TcpError::WrongBytes { count }.into()),
    }
}

/// Adds up the packets of all runs.
pub fn tally(series: &Series) -> Tally {
    series.outcomes.iter().fold(Tally::default(), |mut sum, outcome| {
        sum += outcome.tally;
        sum
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn figures_are_those_of_netperf() {
        let outcome = TransferResult {
            tally: Tally { single: 1, ..Tally::default() },
            statistics: segments::sender::Statistics::default(),
            mss: 1448,
            elapsed: Duration::from_secs(1),
            received_bytes: 100 << 20,
            wrong_bytes: 0,
            sender_time: Duration::from_millis(100),
            receiver_time: Duration::from_millis(200),
            machine_time: None,
            frames: None,
        };
        let [speed, sender, receiver] = FIGURES.map(|figure| figure(&outcome));
        assert_eq!(speed, 100.0 * 8.0 * 1_048_576.0);
        assert!((sender - 1000.0 / 1024.0).abs() < 1e-9 && (receiver - 2000.0 / 1024.0).abs() < 1e-9);
        let outcomes = vec![outcome.clone(), outcome];
        let series = Series { outcomes, ..Series::new(Case { rule: Rule::Today, buffers: None }, &FIGURES) };
        assert_eq!(tally(&series).single, 2);
    }
}
