//! Processor time of threads and of the whole machine.

use std::fs;
use std::time::Duration;

use measure::ProcessorTicks;
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What the machine's processors have done since its start; `None` if the kernel does not report it.
pub(crate) fn machine_ticks() -> Option<ProcessorTicks> {
    ProcessorTicks::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The busy time of the machine's processors between two readings.
pub(crate) fn busy_between(earlier: Option<ProcessorTicks>, later: Option<ProcessorTicks>) -> Option<Duration> {
    let ticks = later?.busy.saturating_sub(earlier?.busy);
    Some(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

/// Identifies this boot of this machine's kernel; empty if the kernel does not report it.
pub(super) fn machine_identity() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or(String::new(), |text| text.trim().to_owned())
}
