//! Latencies over the course of a measurement.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Each doubling of a latency has 2 to the power of this many buckets, so that a quantile is within 1.6 %.
const STEPS_BITS: u32 = 5;
const STEPS: u64 = 1 << STEPS_BITS;
/// The bits of a latency in nanoseconds: 2^40 ns are eighteen minutes; longer ones count as that.
const VALUE_BITS: u32 = 40;
const BUCKETS: usize = ((VALUE_BITS - STEPS_BITS + 1) as usize) << STEPS_BITS;

/// How long a period is at first.
const FIRST_PERIOD: Duration = Duration::from_millis(50);
/// The most periods: when a measurement takes longer, each two become one.
const MAX_PERIODS: usize = 64;

/// Counts operations and their latencies in periods of equal length, at most 64: they get longer with the measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    period: Duration,
    slots: Vec<Slot>,
}

/// The operations that ended in a period. A period without any has no buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Slot {
    bytes: u64,
    buckets: Vec<u32>,
}

/// What was measured in a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// When it begins, in seconds from the start of the measurement.
    pub at_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// How many operations ended in it.
    pub operations: u64,
    /// How many bytes they moved.
    pub bytes: u64,
    /// The median of their latencies in microseconds, 0 without operations.
    pub p50_us: f64,
    /// The latency that 99 % of them stay within, in microseconds, 0 without operations.
    pub p99_us: f64,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { period: FIRST_PERIOD, slots: Vec::new() }
    }
}

impl Timeline {
    /// Counts an operation that ended `at` from the start, with its latency in nanoseconds.
    pub fn record(&mut self, at: Duration, latency_ns: u64, bytes: u64) {
        let slot = loop {
            let number = (at.as_nanos() / self.period.as_nanos()) as usize;
            if number < MAX_PERIODS {
                break self.slot(number);
            }
            self.widen();
        };
        slot.bytes += bytes;
        if slot.buckets.is_empty() {
            slot.buckets = vec![0; BUCKETS];
        }
        let count = &mut slot.buckets[bucket_of(latency_ns)];
        *count = count.saturating_add(1);
    }

    /// Adds what another timeline with the same start counted.
    pub fn merge(&mut self, other: &Timeline) {
        let mut other = other.clone();
        while self.period < other.period {
            self.widen();
        }
        while other.period < self.period {
            other.widen();
        }
        for (number, slot) in other.slots.into_iter().enumerate() {
            self.slot(number).merge(slot);
        }
    }

    /// What was measured in each period of this time; no operation may have ended later. A last period that is shorter
    /// than half of the others belongs to the one in front of it: the rate of a moment says nothing.
    pub fn periods(&self, measured: Duration) -> Vec<Period> {
        let mut timeline = self.clone();
        while measured > timeline.period * MAX_PERIODS as u32 {
            timeline.widen();
        }
        let mut slots = timeline.slots.into_iter();
        let (mut found, mut left) = (Vec::<(Duration, Slot)>::new(), measured);
        while !left.is_zero() {
            let length = left.min(timeline.period);
            left -= length;
            let slot = slots.next().unwrap_or_default();
            match found.last_mut() {
                Some((before, last)) if length < timeline.period / 2 => {
                    *before += length;
                    last.merge(slot);
                }
                _ => found.push((length, slot)),
            }
        }
        (0..).zip(&found).map(|(number, (length, slot))| slot.period(timeline.period * number, *length)).collect()
    }

    fn slot(&mut self, number: usize) -> &mut Slot {
        if self.slots.len() <= number {
            self.slots.resize_with(number + 1, Slot::default);
        }
        &mut self.slots[number]
    }

    /// Makes one period of each two.
    fn widen(&mut self) {
        self.period *= 2;
        let mut slots = std::mem::take(&mut self.slots).into_iter();
        while let Some(mut slot) = slots.next() {
            slot.merge(slots.next().unwrap_or_default());
            self.slots.push(slot);
        }
    }
}

impl Slot {
    fn period(&self, at: Duration, length: Duration) -> Period {
        Period {
            at_s: at.as_secs_f64(),
            seconds: length.as_secs_f64(),
            operations: self.count(),
            bytes: self.bytes,
            p50_us: self.quantile_us(0.5),
            p99_us: self.quantile_us(0.99),
        }
    }

    fn merge(&mut self, other: Slot) {
        self.bytes += other.bytes;
        if self.buckets.is_empty() {
            self.buckets = other.buckets;
        } else {
            self.buckets.iter_mut().zip(other.buckets).for_each(|(mine, others)| *mine = mine.saturating_add(others));
        }
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(|count| u64::from(*count)).sum()
    }

    fn quantile_us(&self, q: f64) -> f64 {
        let rank = (q * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map_or(0.0, middle_of) / 1e3
    }
}

/// The bucket that counts a latency. Latencies below two times [`STEPS`] have one each.
fn bucket_of(latency_ns: u64) -> usize {
    let value = latency_ns.min((1 << VALUE_BITS) - 1);
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(STEPS_BITS + 1);
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The middle of a bucket.
fn middle_of(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    let shift = (bucket / STEPS).saturating_sub(1);
    let least = (bucket - shift * STEPS) << shift;
    least as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn each_period_has_the_operations_that_ended_in_it() {
        let mut timeline = Timeline::default();
        (0..100).for_each(|number| timeline.record(Duration::from_millis(number), (number / 50 + 1) * MS, 10));
        timeline.record(Duration::from_millis(210), 7 * MS, 10);
        let shape = |ms| -> Vec<(u64, f64)> {
            let found = timeline.periods(Duration::from_millis(ms));
            found.iter().map(|period| (period.operations, (period.seconds * 1e3).round())).collect()
        };
        assert_eq!(shape(230), [(50, 50.0), (50, 50.0), (0, 50.0), (0, 50.0), (1, 30.0)]);
        // A short end belongs to the period in front of it, and an end without operations is there too.
        assert_eq!(shape(220), [(50, 50.0), (50, 50.0), (0, 50.0), (1, 70.0)]);
        assert_eq!(shape(300)[4..], [(1, 50.0), (0, 50.0)]);
        assert_eq!((shape(10), shape(0)), (vec![(50, 10.0)], vec![]));
        let found = timeline.periods(Duration::from_millis(250));
        for (period, us) in found.iter().zip([1000.0, 2000.0]) {
            assert!((period.p50_us / us - 1.0).abs() < 0.016 && (period.p99_us / us - 1.0).abs() < 0.016);
        }
        assert_eq!((found[4].at_s, found[4].bytes, found[2].p50_us), (0.2, 10, 0.0));
    }

    #[test]
    fn periods_get_longer_with_the_measurement_and_lose_nothing() {
        let mut timeline = Timeline::default();
        (0..3600).for_each(|second| timeline.record(Duration::from_secs(second), MS, 1));
        let found = timeline.periods(HOUR);
        assert!((32..=64).contains(&found.len()), "{}", found.len());
        assert_eq!(found.iter().map(|period| period.operations).sum::<u64>(), 3600);
    }

    #[test]
    fn timelines_of_several_threads_add_up_whatever_their_periods() {
        let (mut short, mut long) = (Timeline::default(), Timeline::default());
        short.record(Duration::from_millis(10), MS, 1);
        long.record(Duration::from_secs(100), 2 * MS, 1);
        let merged = |first: &Timeline, second: &Timeline| {
            let mut merged = first.clone();
            merged.merge(second);
            merged
        };
        let both = merged(&short, &long);
        assert_eq!(both, merged(&long, &short));
        assert_eq!(both.periods(HOUR).iter().map(|period| period.operations).sum::<u64>(), 2);
    }

    #[test]
    fn quantile_is_within_its_bucket_whatever_the_latency() {
        for latency_ns in [0, 1, 63, 64, 65, 1000, 999_999, 123_456_789, 1 << 39, u64::MAX] {
            let mut timeline = Timeline::default();
            timeline.record(Duration::ZERO, latency_ns, 0);
            let (found, expected) = (timeline.periods(HOUR)[0].p99_us * 1e3, latency_ns.min((1 << 40) - 1) as f64);
            assert!((found - expected).abs() <= expected * 0.016, "{latency_ns}: {found}");
        }
    }
}
