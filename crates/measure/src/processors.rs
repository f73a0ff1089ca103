/// The use of a machine's processors since its start, in ticks of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessorTicks {
    /// Programs, the kernel and its interrupts.
    pub busy: u64,
    /// Time that a hypervisor gave to others.
    pub stolen: u64,
    /// How many processors there are.
    pub processors: usize,
}

impl ProcessorTicks {
    /// Reads `/proc/stat` (proc(5)); `None` if its first line is unknown.
    pub fn parse(stat: &str) -> Option<ProcessorTicks> {
        const FIELDS: usize = 8;
        let mut lines = stat.lines().map_while(|line| line.strip_prefix("cpu"));
        let fields = lines.next()?.split_whitespace().take(FIELDS).map(|field| field.parse().ok());
        let ticks: Vec<u64> = fields.collect::<Option<_>>()?;
        let &[user, nice, system, _idle, _iowait, irq, softirq, stolen] = ticks.as_slice() else { return None };
        // Guests' times, which follow, are included in others.
        Some(ProcessorTicks { busy: user + nice + system + irq + softirq, stolen, processors: lines.count() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy_and_stolen_time_is_told_apart() {
        let stat = "cpu  10 1 20 1000 500 2 3 4 10 0\ncpu0 1\ncpu1 1\nintr 5\n";
        assert_eq!(ProcessorTicks::parse(stat), Some(ProcessorTicks { busy: 36, stolen: 4, processors: 2 }));
    }

    #[test]
    fn other_texts_are_not_taken_for_times() {
        assert!(
            ["", "cpu 1 2 three", "cpu 1 2 3 4 5 6 7", "intr 1 2 3 4 5 6 7 8"]
                .into_iter()
                .all(|text| ProcessorTicks::parse(text).is_none())
        );
    }
}
