//! The receiving application and the interrupts of its host, as they take time.

use std::time::Duration;

/// The receiving application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reader {
    /// The maximum size of a read, above 0.
    pub read_bytes: u64,
    /// When the room of read bytes becomes free.
    pub frees: Frees,
    /// What reading costs.
    pub costs: ReadCosts,
    /// How far the time of a step is from its mean at most: 0.5 for half to one and a half times. From 0 to 1.
    pub jitter: f64,
}

/// When the room of bytes that are read becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frees {
    /// When the read ends.
    EachRead,
    /// When a packet is copied: FreeBSD frees the buffers of a packet while the read goes on.
    EachPacket,
}

/// Processor time of the receiving application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCosts {
    /// For each read.
    pub read: Duration,
    /// For each KiB of data.
    pub kib: Duration,
}

impl ReadCosts {
    /// Costs of an application that takes this many bytes per second.
    pub fn of_rate(bytes_per_second: f64) -> ReadCosts {
        ReadCosts { read: Duration::ZERO, kib: Duration::from_secs_f64(1024.0 / bytes_per_second) }
    }

    /// The mean time of a part of a read.
    pub(super) fn of(self, bytes: u64, begins_read: bool) -> Duration {
        let read = if begins_read { self.read } else { Duration::ZERO };
        read + self.kib.mul_f64(bytes as f64 / 1024.0)
    }
}

/// The interrupts of a host's network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interrupts {
    /// The minimum time between two interrupts: the packets in between are handled together.
    pub gap: Duration,
    /// Processor time for each packet.
    pub packet: Duration,
}

/// The interrupts of one host, as they happen.
#[derive(Debug, Default)]
pub(super) struct Handler {
    interrupt_at: Duration,
    free_at: Duration,
}

impl Handler {
    /// Returns when a packet is handled that arrives at a time; packets come in the order of arrival.
    pub fn handle(&mut self, interrupts: Interrupts, arrives_at: Duration) -> Duration {
        if arrives_at > self.interrupt_at {
            self.interrupt_at = arrives_at.max(self.interrupt_at + interrupts.gap);
        }
        self.free_at = self.free_at.max(self.interrupt_at) + interrupts.packet;
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    fn handled(interrupts: Interrupts, arrivals: &[u32]) -> Vec<u32> {
        let mut handler = Handler::default();
        let times = arrivals.iter().map(|at| handler.handle(interrupts, MICROSECOND * *at));
        times.map(|at| at.as_micros() as u32).collect()
    }

    #[test]
    fn packets_between_two_interrupts_are_handled_together() {
        let interrupts = Interrupts { gap: 10 * MICROSECOND, packet: Duration::ZERO };
        assert_eq!(handled(interrupts, &[11, 12, 20, 21, 22, 50]), [11, 21, 21, 21, 31, 50]);
        assert_eq!(handled(Interrupts::default(), &[1, 2, 2, 5]), [1, 2, 2, 5]);
    }

    #[test]
    fn packets_wait_for_the_processor() {
        let interrupts = Interrupts { gap: Duration::ZERO, packet: 4 * MICROSECOND };
        assert_eq!(handled(interrupts, &[1, 2, 3, 30]), [5, 9, 13, 34]);
    }

    #[test]
    fn read_costs_its_call_once_and_each_byte() {
        let costs = ReadCosts { read: 10 * MICROSECOND, kib: MICROSECOND };
        assert_eq!(costs.of(2048, true), 12 * MICROSECOND);
        assert_eq!(costs.of(2048, false), 2 * MICROSECOND);
        assert_eq!(ReadCosts::of_rate(1024e6).of(1024, true), MICROSECOND);
    }
}
