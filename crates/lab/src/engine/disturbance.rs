//! What else the machine does during a pass, from `/proc` and `/sys`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use measure::ProcessorTicks;
use measure::record::Disturbance;

use crate::process::{Process, kernel_threads};

/// Reads what the processors do from now on.
pub(super) struct Watch {
    processes: Vec<Process>,
    began: Instant,
    first: Reading,
}

/// Processor time so far, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    /// Of everything, in ticks of usually 10 ms.
    busy: f64,
    stolen: f64,
    /// How much of this the ticks may have added between two readings: one of each processor.
    uncertain: f64,
    /// Of what is measured: this process, the servers, and the kernel's threads, which write files and journals for
    /// them.
    own: f64,
}

impl Watch {
    /// Begins now. What this process, those of the servers and the kernel's threads do is no disturbance.
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
            foreign_processors: processors(
                since(|reading| reading.busy) - since(|reading| reading.own) - last.uncertain,
            ),
            stolen_processors: processors(since(|reading| reading.stolen)),
            frequency_mhz: frequency_mhz(),
            temperature_c: temperature_c(),
        }
    }
}

impl Reading {
    fn take(processes: &[Process]) -> Reading {
        let all = ProcessorTicks::parse(&fs::read_to_string("/proc/stat").unwrap_or_default());
        let seconds = |ticks: u64| ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        // A server that has ended meanwhile counts for nothing; its pass fails by itself.
        let own = processes.iter().filter_map(|process| process.time().ok()).sum::<Duration>().as_secs_f64();
        Reading {
            busy: all.map_or(0.0, |all| seconds(all.busy)),
            stolen: all.map_or(0.0, |all| seconds(all.stolen)),
            uncertain: all.map_or(0.0, |all| seconds(all.processors as u64)),
            own: own + kernel_threads().as_secs_f64(),
        }
    }
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
