//! The outputs of a loop: reused ones for answers, and memory for the copies that a limit of segments makes.

use std::collections::VecDeque;
use std::fs;

use buffer::{Buffer, Output, Pool};

/// How many free outputs a loop keeps, and how much memory each may have.
const POOLED_OUTPUTS: usize = 8;
const POOLED_OUTPUT_BYTES: usize = 2 << 20;

/// Gives outputs, and takes them back when they are sent.
pub(crate) struct Outputs {
    pool: Pool,
    cold: ColdPool,
}

impl Outputs {
    pub(crate) fn new() -> Outputs {
        Outputs { pool: Pool::new(POOLED_OUTPUTS, POOLED_OUTPUT_BYTES), cold: ColdPool::default() }
    }

    /// An empty output, the one that was used last if possible.
    pub(crate) fn take(&mut self) -> Output {
        self.pool.take()
    }

    /// Takes an output back.
    pub(crate) fn give(&mut self, output: Output) {
        self.pool.give(output);
    }

    /// An output with room for `bytes` whose memory is not in the processor's caches.
    pub(crate) fn take_cold(&mut self, bytes: usize) -> Output {
        self.cold.take(bytes)
    }

    /// Takes an output back that [`Outputs::take_cold`] gave.
    pub(crate) fn give_cold(&mut self, output: Output) {
        self.cold.give(output);
    }

    /// Frees unused outputs. Those for copies stay: a server without a limit of segments has none.
    pub(crate) fn clear(&mut self) {
        self.pool.clear();
    }
}

/// Memory that is used round and round and is larger than the processor's caches, as the memory is that a network
/// card's driver copies to. The bound on it is twice `wanted_bytes`.
#[derive(Default)]
struct ColdPool {
    free: VecDeque<Output>,
    free_bytes: usize,
    /// How much memory is free before some of it is used again; nothing before the first use.
    wanted_bytes: usize,
}

impl ColdPool {
    fn take(&mut self, bytes: usize) -> Output {
        if self.wanted_bytes == 0 {
            self.fill(bytes);
        }
        let oldest = if self.free_bytes >= self.wanted_bytes { self.free.pop_front() } else { None };
        let Some(output) = oldest else { return with_room(bytes) };
        self.free_bytes -= output.bytes.capacity();
        output
    }

    fn give(&mut self, mut output: Output) {
        if self.free_bytes < 2 * self.wanted_bytes {
            output.clear();
            self.free_bytes += output.bytes.capacity();
            self.free.push_back(output);
        }
    }

    /// Makes all of the memory at once, so that no later copy waits for the kernel to find pages.
    fn fill(&mut self, bytes: usize) {
        self.wanted_bytes = 2 * cache_bytes();
        while self.free_bytes < self.wanted_bytes {
            // The buffer writes all of its memory.
            self.give(with_room(bytes));
        }
    }
}

fn with_room(bytes: usize) -> Output {
    let mut output = Output::new();
    output.bytes = Buffer::with_capacity(bytes.max(Buffer::MIN_CAPACITY));
    output
}

/// The size of the largest cache that the first processor uses, at most [`MAX_CACHE_BYTES`].
fn cache_bytes() -> usize {
    let size = |index| fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
    let sizes = (0..MAX_CACHES).map_while(|index| size(index).ok());
    let largest = sizes.filter_map(|text| text.trim().strip_suffix('K')?.parse::<usize>().ok()).max();
    largest.map_or(USUAL_CACHE_BYTES, |kib| (kib << 10).min(MAX_CACHE_BYTES))
}

const MAX_CACHES: usize = 16;
const USUAL_CACHE_BYTES: usize = 32 << 20;
const MAX_CACHE_BYTES: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_copies_comes_round_after_more_bytes_than_the_cache_has() {
        let mut outputs = Outputs::new();
        let mut addresses = Vec::new();
        let first = outputs.take_cold(1 << 20);
        let again = first.bytes.as_slice().as_ptr();
        outputs.give_cold(first);
        loop {
            let output = outputs.take_cold(1 << 20);
            let address = output.bytes.as_slice().as_ptr();
            outputs.give_cold(output);
            if address == again {
                break;
            }
            assert!(!addresses.contains(&address), "memory was used again after {} copies", addresses.len());
            addresses.push(address);
        }
        assert!(addresses.len() << 20 >= cache_bytes(), "{} copies", addresses.len());
    }

    #[test]
    fn memory_for_copies_is_bounded_and_is_made_again_when_it_is_lost() {
        let mut pool = ColdPool::default();
        pool.fill(1 << 20);
        let wanted = pool.wanted_bytes;
        for _ in 0..(4 * wanted) >> 20 {
            pool.give(with_room(1 << 20));
        }
        assert!(pool.free_bytes <= 2 * wanted + (1 << 20));
        while pool.free_bytes >= wanted {
            drop(pool.take(1 << 20));
        }
        let output = pool.take(5 << 20);
        assert_eq!((output.bytes.is_empty(), output.bytes.capacity()), (true, 5 << 20));
    }
}
