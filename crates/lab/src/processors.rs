//! Which processor something runs on: servers on the first, the load on the last.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which of the processors that this program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processor {
    First,
    Last,
    /// No choice: the system takes any.
    Any,
}

/// Does something on one processor. Processes and threads that are started meanwhile stay there. With one processor
/// there is no choice, and without the right to choose the system does.
pub(crate) fn on<T>(processor: Processor, work: impl FnOnce() -> T) -> T {
    let Ok(all) = sched_getaffinity(None) else { return work() };
    let mut allowed = numbers(&all);
    let chosen = match processor {
        Processor::First => allowed.next(),
        Processor::Last => allowed.next_back(),
        Processor::Any => None,
    };
    if let Some(cpu) = chosen {
        run_only_on(cpu);
    }
    let result = work();
    let _ = sched_setaffinity(None, &all);
    result
}

/// Does something on each processor that this program may use, one after the other.
pub(crate) fn on_each(mut work: impl FnMut()) {
    let Ok(all) = sched_getaffinity(None) else { return work() };
    for cpu in numbers(&all) {
        run_only_on(cpu);
        work();
    }
    let _ = sched_setaffinity(None, &all);
}

fn numbers(set: &CpuSet) -> impl DoubleEndedIterator<Item = usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu))
}

fn run_only_on(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu);
    let _ = sched_setaffinity(None, &only);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        numbers(&sched_getaffinity(None).unwrap()).collect()
    }

    #[test]
    fn work_runs_on_one_processor_and_what_follows_on_all() {
        let before = allowed();
        assert_eq!(on(Processor::First, allowed), before[..1]);
        assert_eq!(on(Processor::Last, allowed), before[before.len() - 1..]);
        assert_eq!(on(Processor::Any, allowed), before);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn work_on_each_processor_runs_on_all_in_turn() {
        let (before, mut seen) = (allowed(), Vec::new());
        on_each(|| seen.push(allowed()));
        assert_eq!(seen.concat(), before);
        assert_eq!((seen.len(), allowed()), (before.len(), before));
    }
}
