//! The machine of a run, from `/proc`.

use std::fs;
use std::thread;

use measure::record::Machine;

/// Describes this machine; experiments add their file systems and programs.
pub(super) fn describe() -> Machine {
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total_kib: u64 = total.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    Machine {
        processor: model.unwrap_or("unknown").trim_start_matches([' ', '\t', ':']).to_owned(),
        processors: thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: total_kib * 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ..Machine::default()
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
