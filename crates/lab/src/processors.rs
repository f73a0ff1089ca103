//! Which processor something runs on: servers on the first, the load on the last.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which of the processors that this program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processor {
    First,
    Last,
}

/// Does something on one processor. Processes and threads that are started meanwhile stay there. With one processor
/// there is no choice, and without the right to choose the system does.
pub(crate) fn on<T>(processor: Processor, work: impl FnOnce() -> T) -> T {
    let Ok(all) = sched_getaffinity(None) else { return work() };
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
    let chosen = match processor {
        Processor::First => allowed.next(),
        Processor::Last => allowed.next_back(),
    };
    if let Some(cpu) = chosen {
        let mut only = CpuSet::new();
        only.set(cpu);
        let _ = sched_setaffinity(None, &only);
    }
    let result = work();
    let _ = sched_setaffinity(None, &all);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_on_one_processor_and_what_follows_on_all() {
        let allowed = || sched_getaffinity(None).map(|set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).count());
        let before = allowed().unwrap();
        assert_eq!(on(Processor::First, || allowed().unwrap()), 1);
        assert_eq!(on(Processor::Last, || allowed().unwrap()), 1);
        assert_eq!(allowed().unwrap(), before);
    }
}
