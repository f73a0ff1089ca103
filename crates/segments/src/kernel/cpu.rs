//! Processor time of threads and of the whole machine.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What the machine's processors have done since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Machine {
    /// Time that was not idle; `None` where the kernel does not tell.
    pub busy: Option<Duration>,
    pub processors: usize,
}

impl Machine {
    pub fn now() -> Machine {
        fs::read_to_string("/proc/stat").map_or(Machine::default(), |text| parse(&text))
    }

    pub fn busy_since(&self, earlier: &Machine) -> Option<Duration> {
        Some(self.busy?.saturating_sub(earlier.busy?))
    }
}

/// Reads /proc/stat: user, nice, system, idle, iowait, irq and softirq of all processors, then a line for each.
fn parse(text: &str) -> Machine {
    let mut lines = text.lines().map_while(|line| line.strip_prefix("cpu"));
    let ticks: Option<Vec<u64>> =
        lines.next().and_then(|all| all.split_whitespace().take(7).map(|field| field.parse().ok()).collect());
    let busy = ticks.filter(|ticks| ticks.len() == 7).map(|ticks| {
        let busy = [0, 1, 2, 5, 6].into_iter().map(|place: usize| ticks[place]).sum::<u64>();
        Duration::from_secs_f64(busy as f64 / clock_ticks_per_second() as f64)
    });
    Machine { busy, processors: lines.count() }
}

/// What tells this start of this machine's kernel from any other; empty where the kernel does not tell.
pub(super) fn machine_identity() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or(String::new(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_stolen_time_is_no_work_of_the_machine() {
        let text = "cpu  100 20 300 9000 800 40 40 7000 0 0\ncpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7\nintr 5\n";
        let busy = Duration::from_secs_f64(500.0 / clock_ticks_per_second() as f64);
        assert_eq!(parse(text), Machine { busy: Some(busy), processors: 2 });
        assert_eq!(parse("cpu 1 2 three"), Machine::default());
        assert_eq!(parse(""), Machine::default());
    }
}
