//! What else the machine does during a pass, from `/proc` and `/sys`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use measure::record::Disturbance;

use super::Bound;
use crate::process::Process;

/// Reads what the processors do from now on.
pub(super) struct Watch {
    processes: Vec<Process>,
    began: Instant,
    first: Reading,
}

/// Processor time so far, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    busy: f64,
    stolen: f64,
    own: f64,
}

impl Watch {
    /// Begins now. What this process and those of the servers do is no disturbance.
    pub(super) fn start(servers: &[u32]) -> Watch {
        let processes: Vec<Process> =
            servers.iter().map(|&pid| Process::Id(pid)).chain([Process::This, Process::Children]).collect();
        let first = Reading::take(&processes);
        Watch { processes, began: Instant::now(), first }
    }

    /// What was seen until now.
    pub(super) fn finish(self) -> Disturbance {
        let (elapsed, last) = (self.began.elapsed().as_secs_f64(), Reading::take(&self.processes));
        let since = |of: fn(&Reading) -> f64| of(&last) - of(&self.first);
        let processors = |seconds: f64| if elapsed > 0.0 { (seconds / elapsed).max(0.0) } else { 0.0 };
        Disturbance {
            foreign_processors: processors(since(|reading| reading.busy) - since(|reading| reading.own)),
            stolen_processors: processors(since(|reading| reading.stolen)),
            frequency_mhz: frequency_mhz(),
            temperature_c: temperature_c(),
        }
    }
}

impl Bound {
    /// Whether a pass that was disturbed like this says little.
    pub(super) fn is_exceeded_by(&self, disturbance: &Disturbance) -> bool {
        disturbance.foreign_processors + disturbance.stolen_processors > self.processors
    }
}

impl Reading {
    fn take(processes: &[Process]) -> Reading {
        let (busy, stolen) = processor_seconds(&fs::read_to_string("/proc/stat").unwrap_or_default());
        // A server that has ended meanwhile counts for nothing; its pass fails by itself.
        let own = processes.iter().filter_map(|process| process.time().ok()).sum::<Duration>().as_secs_f64();
        Reading { busy, stolen, own }
    }
}

/// How long all processors were busy here, and how long the hypervisor had them, from the first line of `/proc/stat`. Guests'
/// times are part of others (proc(5)).
fn processor_seconds(stat: &str) -> (f64, f64) {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let seconds = |index: usize| ticks.get(index).unwrap_or(&0.0) / rustix::param::clock_ticks_per_second() as f64;
    // user, nice and system, and the two kinds of interrupts; idle and iowait are the fields in between.
    ([0, 1, 2, 5, 6].into_iter().map(seconds).sum(), seconds(7))
}

fn frequency_mhz() -> Option<f64> {
    let of_each = numbers("/sys/devices/system/cpu", "cpu", "cpufreq/scaling_cur_freq");
    let count = of_each.len();
    (count > 0).then(|| of_each.into_iter().sum::<f64>() / count as f64 / 1e3)
}

fn temperature_c() -> Option<f64> {
    let of_each = numbers("/sys/class/thermal", "thermal_zone", "temp");
    of_each.into_iter().map(|millidegrees| millidegrees / 1e3).reduce(f64::max)
}

/// The numbers in the files of this name in each folder whose name begins so.
fn numbers(folder: &str, prefix: &str, file: &str) -> Vec<f64> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_meant = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    let paths = entries.flatten().map(|entry| entry.path()).filter(is_meant);
    paths.filter_map(|path| fs::read_to_string(path.join(file)).ok()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy_and_stolen_time_is_told_apart() {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let (busy, stolen) = processor_seconds("cpu  10 1 20 1000 500 2 3 4 10 0\ncpu0 …");
        assert_eq!((busy * ticks, stolen * ticks), (36.0, 4.0));
        assert_eq!(processor_seconds(""), (0.0, 0.0));
    }

    #[test]
    fn bound_is_exceeded_by_both_kinds_together() {
        let bound = Bound { processors: 0.3, max_repeats: 1 };
        let with = |foreign_processors, stolen_processors| Disturbance {
            foreign_processors,
            stolen_processors,
            ..Disturbance::default()
        };
        assert!(bound.is_exceeded_by(&with(0.2, 0.2)) && !bound.is_exceeded_by(&with(0.2, 0.05)));
    }
}
