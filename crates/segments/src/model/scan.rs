//! Runs many settings of the receiver, and finds those whose packets are nearest to the trace of FreeBSD's document.
//!
//! A near setting is a possible cause, and no proof: the document does not give its receiver's settings.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{AckPolicy, DOCUMENT_BYTES, DOCUMENT_PACKETS, Frees, Situation, WindowUpdates, run};
use crate::Rule;
use crate::trace::Tally;

/// All settings run with this part of the stream first.
const FIRST_PART: u64 = 4;
/// For each wanted setting so many run with the whole stream.
const SECOND_RUNS: usize = 4;
/// The maximum number of threads.
const MAX_THREADS: usize = 8;
/// The maximum number of settings.
pub const MAX_SETTINGS: usize = 20_000;

/// The values of each setting; all combinations run.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// When the receiver acknowledges.
    pub acks: Vec<AckPolicy>,
    /// When it sends window updates.
    pub updates: Vec<WindowUpdates>,
    /// The shift of its windows.
    pub window_scales: Vec<u8>,
    /// The sizes of its reads in bytes.
    pub read_bytes: Vec<u64>,
    /// When the room of what is read becomes free.
    pub frees: Vec<Frees>,
    /// How much the times of its reads vary.
    pub jitters: Vec<f64>,
    /// The minimum time between two interrupts, of both hosts.
    pub interrupt_gaps: Vec<Duration>,
}

impl Default for Grid {
    fn default() -> Grid {
        let delay = Duration::from_millis(100);
        Grid {
            acks: vec![AckPolicy::Delayed(delay), AckPolicy::EachPacket, AckPolicy::Merged(delay)],
            updates: vec![WindowUpdates::QuarterOrTight, WindowUpdates::Segment],
            window_scales: vec![5, 6],
            read_bytes: vec![1024, 1200, 1300, 1400, 1500, 2048, 128 << 10],
            frees: vec![Frees::EachRead, Frees::EachPacket],
            jitters: vec![0.0, 0.2],
            interrupt_gaps: [0, 4].map(Duration::from_micros).to_vec(),
        }
    }
}

impl Grid {
    /// The number of combinations.
    pub fn len(&self) -> usize {
        let Grid { acks, updates, window_scales, read_bytes, frees, jitters, interrupt_gaps } = self;
        let lengths = [acks.len(), updates.len(), window_scales.len(), read_bytes.len(), frees.len(), jitters.len()];
        lengths.iter().chain([&interrupt_gaps.len()]).product()
    }

    /// Whether there is no combination.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The situation of one combination, by its number.
    fn situation(&self, base: &Situation, number: usize) -> Situation {
        let mut rest = number;
        let mut next = |count: usize| {
            let place = rest % count;
            rest /= count;
            place
        };
        let mut situation = base.clone();
        situation.receiver.acks = self.acks[next(self.acks.len())];
        situation.receiver.updates = self.updates[next(self.updates.len())];
        situation.receiver.window_scale = self.window_scales[next(self.window_scales.len())];
        situation.reader.read_bytes = self.read_bytes[next(self.read_bytes.len())];
        situation.reader.frees = self.frees[next(self.frees.len())];
        situation.reader.jitter = self.jitters[next(self.jitters.len())];
        let gap = self.interrupt_gaps[next(self.interrupt_gaps.len())];
        (situation.sender_interrupts.gap, situation.receiver_interrupts.gap) = (gap, gap);
        situation
    }
}

/// A setting and its packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The setting; its rule is that before the change.
    pub situation: Situation,
    /// The packets before and after the change.
    pub tallies: [Tally; 2],
    /// Bytes per second before and after the change.
    pub bytes_per_second: [f64; 2],
}

impl Fit {
    /// Runs a setting with both rules.
    pub fn new(situation: &Situation) -> Fit {
        let results = [Rule::Before, Rule::After].map(|rule| {
            let mut situation = situation.clone();
            situation.sender.rule = rule;
            run(&situation)
        });
        let mut situation = situation.clone();
        situation.sender.rule = Rule::Before;
        let bytes_per_second = results.each_ref().map(|result| result.bytes_per_second());
        Fit { situation, tallies: results.map(|result| result.tally), bytes_per_second }
    }

    /// The deviations from the document's four figures: data packets and single-MSS packets before the change, then
    /// after it. Each is a part of the document's figure, but the last one of its packets: the figure is 0.
    pub fn deviations(&self) -> [f64; 4] {
        // A shorter stream has fewer packets.
        let part = self.situation.total_bytes.max(1) as f64 / DOCUMENT_BYTES as f64;
        let [before, after] = self.tallies;
        let ours = [before.packets(), before.single, after.packets(), after.single].map(|count| count as f64 / part);
        let theirs = DOCUMENT_PACKETS.map(|count| count as f64);
        let units = [theirs[0], theirs[1], theirs[2], theirs[2]];
        std::array::from_fn(|place| (ours[place] - theirs[place]) / units[place])
    }

    /// The largest of the four deviations, without its sign.
    pub fn distance(&self) -> f64 {
        self.deviations().into_iter().map(f64::abs).fold(0.0, f64::max)
    }
}

/// Reports the progress of a scan, and stops it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set to stop early.
    pub stop: AtomicBool,
    /// Bytes of streams that have run.
    pub done_bytes: AtomicU64,
}

/// The bytes of streams of a whole scan.
pub fn total_bytes(grid: &Grid, base: &Situation, wanted: usize) -> u64 {
    let count = grid.len().min(MAX_SETTINGS);
    let second = wanted.saturating_mul(SECOND_RUNS).min(count);
    2 * (count as u64 * (base.total_bytes / FIRST_PART) + second as u64 * base.total_bytes)
}

/// Returns the settings that are nearest to the document, the nearest first. All settings run with a part of the
/// stream, and the nearest of them with all of it. The result does not depend on the number of threads.
///
/// At most [`MAX_SETTINGS`] settings run. A scan that was stopped returns nothing.
pub fn scan(grid: &Grid, base: &Situation, wanted: usize, progress: &Progress) -> Vec<Fit> {
    let short = Situation { total_bytes: base.total_bytes / FIRST_PART, ..base.clone() };
    let first = (0..grid.len().min(MAX_SETTINGS)).map(|number| grid.situation(&short, number)).collect();
    let mut nearest = by_distance(run_all(first, progress));
    nearest.truncate(wanted.saturating_mul(SECOND_RUNS));
    let whole = |fit: Fit| Situation { total_bytes: base.total_bytes, ..fit.situation };
    let mut fits = by_distance(run_all(nearest.into_iter().map(whole).collect(), progress));
    fits.truncate(wanted);
    fits
}

/// Settings at the same distance stay in order.
fn by_distance(mut fits: Vec<Fit>) -> Vec<Fit> {
    fits.sort_by(|one, other| one.distance().total_cmp(&other.distance()));
    fits
}

/// Runs settings on all processors; returns them in order, or nothing after a stop.
fn run_all(situations: Vec<Situation>, progress: &Progress) -> Vec<Fit> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![None; situations.len()]);
    let work = || {
        while let Some((place, situation)) = take(&next, &situations)
            && !progress.stop.load(Ordering::Relaxed)
        {
            let fit = Fit::new(situation);
            progress.done_bytes.fetch_add(2 * situation.total_bytes, Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(fit);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// The next setting that no thread has taken.
fn take<'a>(next: &AtomicUsize, situations: &'a [Situation]) -> Option<(usize, &'a Situation)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    Some((place, situations.get(place)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::Limit;

    fn base() -> Situation {
        Situation { total_bytes: 4 << 20, ..Situation::document(Limit::Receiver, Rule::Before, 1) }
    }

    fn small() -> Grid {
        Grid {
            window_scales: vec![6],
            read_bytes: vec![1300, 64 << 10],
            jitters: vec![0.2],
            interrupt_gaps: vec![Duration::ZERO],
            frees: vec![Frees::EachRead],
            ..Grid::default()
        }
    }

    #[test]
    fn grid_has_each_combination_once() {
        let grid = Grid::default();
        let all = (0..grid.len()).map(|number| format!("{:?}", grid.situation(&base(), number)));
        assert_eq!(all.collect::<BTreeSet<_>>().len(), grid.len());
        assert!(grid.len() <= MAX_SETTINGS && !grid.is_empty());
    }

    #[test]
    fn scan_returns_the_nearest_settings_first_and_always_the_same() {
        let [one, other] = [(), ()].map(|()| scan(&small(), &base(), 3, &Progress::default()));
        assert_eq!(one, other);
        assert_eq!(one.len(), 3);
        assert!(one.is_sorted_by(|one, other| one.distance() <= other.distance()));
        // Nothing that was left out is nearer.
        let all = (0..small().len()).map(|number| Fit::new(&small().situation(&base(), number)).distance());
        assert_eq!(all.fold(f64::MAX, f64::min), one[0].distance());
    }

    #[test]
    fn stopped_scan_returns_nothing_and_a_whole_one_runs_what_it_announces() {
        let progress = Progress::default();
        progress.stop.store(true, Ordering::Relaxed);
        assert_eq!(scan(&small(), &base(), 3, &progress), []);
        let progress = Progress::default();
        scan(&small(), &base(), 1, &progress);
        assert_eq!(progress.done_bytes.into_inner(), total_bytes(&small(), &base(), 1));
    }

    #[test]
    fn deviations_are_parts_of_the_documents_figures() {
        let tally = |single, packets: u64| Tally { single, whole: packets - single, ..Tally::default() };
        let situation = Situation::document(Limit::Receiver, Rule::Before, 1);
        let fit =
            |before, after| Fit { situation: situation.clone(), tallies: [before, after], bytes_per_second: [0.0; 2] };
        assert_eq!(fit(tally(43_480, 57_005), tally(0, 35_729)).deviations(), [0.0; 4]);
        let off = fit(tally(21_740, 57_005), tally(35_729, 71_458));
        assert_eq!((off.deviations(), off.distance()), ([0.0, -0.5, 1.0, 1.0], 1.0));
    }
}
