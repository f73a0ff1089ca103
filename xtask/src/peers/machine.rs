//! What the machine is, what its processors do, and how much memory a process has.

use std::ops::Sub;
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use measure::ProcessorTicks;
use serde_json::{Value, json};

use super::options::Options;
use crate::command;

/// The unit of times in `/proc`, which is the same on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Everything that figures have to be seen with.
pub fn describe(root: &Path, options: &Options) -> Value {
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    json!({
        "commit": commit(root),
        "processor": model.trim_start_matches([' ', '\t', ':']),
        "processors": thread::available_parallelism().map_or(0, usize::from),
        "memory_kib": field(&read("/proc/meminfo"), "MemTotal:"),
        "kernel": kernel(),
        "ganesha": first_line("ganesha.nfsd", root, &["-v"]),
        "export": options.export.name(),
        "seconds": options.seconds,
        "rounds": options.rounds,
        "seed": options.seed,
    })
}

/// The commit of the checkout, and whether it was changed.
pub fn commit(root: &Path) -> String {
    first_line("git", root, &["describe", "--always", "--dirty", "--abbrev=12"])
}

/// The kernel's release.
pub fn kernel() -> String {
    read("/proc/sys/kernel/osrelease").trim().to_owned()
}

/// Processor time since the machine and the server started, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BusyTime {
    /// Of everything but the server and what this program has started and waited for.
    pub foreign_s: f64,
}

impl Sub for BusyTime {
    type Output = BusyTime;
    fn sub(self, earlier: BusyTime) -> BusyTime {
        BusyTime { foreign_s: self.foreign_s - earlier.foreign_s }
    }
}

/// What the processors did so far, but for the server's process.
pub fn busy_time(server: u32) -> BusyTime {
    let all = ProcessorTicks::parse(&read("/proc/stat")).map_or(0.0, |ticks| (ticks.busy + ticks.stolen) as f64);
    let server = process_ticks(&read(&format!("/proc/{server}/stat")), 14..=15);
    let waited_for = process_ticks(&read("/proc/self/stat"), 14..=17);
    BusyTime { foreign_s: (all - server - waited_for) / TICKS_PER_SECOND }
}

/// Waits until the processors are nearly idle, so that what others do falls between runs and not into them; where they
/// are not within so many seconds, the runs go on and show it.
pub fn wait_for_quiet(server: u32, seconds: u32) {
    const WINDOW: Duration = Duration::from_millis(500);
    const QUIET_PROCESSORS: f64 = 0.1;
    const WINDOWS_PER_SECOND: u32 = 2;
    for _ in 0..seconds.saturating_mul(WINDOWS_PER_SECOND) {
        let before = busy_time(server);
        thread::sleep(WINDOW);
        if (busy_time(server) - before).foreign_s / WINDOW.as_secs_f64() <= QUIET_PROCESSORS {
            break;
        }
    }
}

/// What is resident, and the most that ever was, in MiB.
pub fn memory_mib(process: u32) -> (f64, f64) {
    let status = read(&format!("/proc/{process}/status"));
    let mib = |name| field(&status, name) as f64 / 1024.0;
    (mib("VmRSS:"), mib("VmHWM:"))
}

/// Lets the most that is resident count from now on (proc(5), `clear_refs`).
pub fn forget_peak(process: u32) {
    // Where the kernel does not do it, the most since the start is shown, which is no less.
    let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
}

/// The sum of fields that proc(5) gives these numbers.
fn process_ticks(stat: &str, fields: std::ops::RangeInclusive<usize>) -> f64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let all: Vec<&str> = after_name.split_whitespace().collect();
    fields.filter_map(|number| all.get(number - 3)?.parse::<f64>().ok()).sum()
}

fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn first_line(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(program);
    command.args(arguments).current_dir(folder);
    let output = command::output(command).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_process_are_counted_from_behind_its_name() {
        let stat = "7 (a) b) S 1 2 3 4 -1 5 600 7 800 9 1400 1500 1600 1700";
        assert_eq!((process_ticks(stat, 14..=15), process_ticks(stat, 14..=17)), (2900.0, 6200.0));
    }
}
