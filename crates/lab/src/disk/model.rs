//! When a disk has served a request: one at a time, each after it is positioned.

use std::fmt;
use std::time::Duration;

/// How fast a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// How long it takes until a request's first byte is below a head.
    pub positioning: Duration,
    /// How many bytes pass the heads in a second.
    pub bytes_per_second: u64,
    /// How many disks an array has: while one is positioned for a read, so are others for the reads that follow. A
    /// write keeps all of them.
    pub disks: u32,
}

/// Disks of the sources' times, as much faster as the loopback is faster than the sources' networks: what counts is how
/// the one compares with the other.
impl Model {
    /// A single disk.
    pub(crate) const SINGLE: Model =
        Model { positioning: Duration::from_micros(20), bytes_per_second: 150_000_000, disks: 1 };
    /// An array of disks, many of which transfer a request together.
    pub(crate) const ARRAY: Model =
        Model { positioning: Duration::from_micros(60), bytes_per_second: 1_000_000_000, disks: 30 };
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (us, megabytes) = (self.positioning.as_micros(), self.bytes_per_second / 1_000_000);
        write!(f, "one request at a time: {us} µs to position it, {megabytes} MB/s")?;
        if self.disks > 1 { write!(f, ", {} disks position reads together", self.disks) } else { Ok(()) }
    }
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// What a disk is doing. Times count from any common moment.
#[derive(Debug)]
pub(super) struct Mechanics {
    model: Model,
    /// Behind the last byte that was read, as long as the disk goes on reading from there.
    reads_on_at: Option<u64>,
    is_busy_until: Duration,
}

impl Mechanics {
    pub(super) fn new(model: Model) -> Mechanics {
        Mechanics { model, reads_on_at: None, is_busy_until: Duration::ZERO }
    }

    /// When a request is served that arrives now.
    ///
    /// A read that goes on where the last one ended is not positioned: the disk reads on into a buffer. Each write is:
    /// there is no such buffer for writes, and the next sector has passed the head when the next write comes.
    pub(super) fn serve(&mut self, now: Duration, access: Access, offset_bytes: u64, bytes: u64) -> Duration {
        let is_positioned = access == Access::Read && self.reads_on_at == Some(offset_bytes);
        let positioning = match access {
            Access::Read if is_positioned => Duration::ZERO,
            Access::Read => self.model.positioning / self.model.disks,
            Access::Write => self.model.positioning,
        };
        let transfer = Duration::from_secs_f64(bytes as f64 / self.model.bytes_per_second as f64);
        self.reads_on_at = (access == Access::Read).then_some(offset_bytes + bytes);
        self.is_busy_until = now.max(self.is_busy_until) + positioning + transfer;
        self.is_busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn disk() -> Mechanics {
        array(1)
    }

    fn array(disks: u32) -> Mechanics {
        Mechanics::new(Model { positioning: 10 * MS, bytes_per_second: 1000, disks })
    }

    #[test]
    fn array_positions_reads_together_and_writes_alone() {
        let mut array = array(5);
        let ends = [(Access::Read, 0), (Access::Read, 90), (Access::Write, 0)];
        assert_eq!(ends.map(|(access, offset)| array.serve(MS, access, offset, 1)), [4 * MS, 7 * MS, 18 * MS]);
    }

    #[test]
    fn requests_that_arrive_together_are_served_one_after_the_other() {
        let mut disk = disk();
        let ends = [0, 100, 200].map(|offset| disk.serve(MS, Access::Write, offset, 5));
        assert_eq!(ends, [16 * MS, 31 * MS, 46 * MS]);
        assert_eq!(disk.serve(100 * MS, Access::Write, 300, 5), 115 * MS);
    }

    #[test]
    fn read_behind_the_last_one_is_not_positioned_and_any_other_request_is() {
        let mut disk = disk();
        let mut took = |access, offset| {
            let began = disk.is_busy_until;
            disk.serve(Duration::ZERO, access, offset, 10) - began
        };
        let (alone, behind) = (20 * MS, 10 * MS);
        assert_eq!([took(Access::Read, 0), took(Access::Read, 10), took(Access::Read, 20)], [alone, behind, behind]);
        assert_eq!([took(Access::Read, 10), took(Access::Read, 30)], [alone; 2]);
        assert_eq!([took(Access::Write, 40), took(Access::Write, 50), took(Access::Read, 60)], [alone; 3]);
    }
}
