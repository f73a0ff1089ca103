use crate::Output;

/// A pool of reusable outputs: they are taken for sending, and returned when they are sent.
#[derive(Debug)]
pub struct Pool {
    free: Vec<Output>,
    max_free: usize,
    max_bytes: usize,
}

impl Pool {
    /// Makes a pool that keeps up to `max_free` outputs, each of up to `max_bytes` of memory.
    pub fn new(max_free: usize, max_bytes: usize) -> Pool {
        Pool { free: Vec::new(), max_free, max_bytes }
    }

    /// An empty output, reused or new.
    pub fn take(&mut self) -> Output {
        self.free.pop().unwrap_or_default()
    }

    /// Frees the memory of all unused outputs.
    pub fn clear(&mut self) {
        self.free.clear();
    }

    /// Takes an output back, or frees its memory if the pool is full or the output is too large.
    pub fn give(&mut self, mut output: Output) {
        if self.free.len() < self.max_free && output.bytes.capacity() <= self.max_bytes {
            output.clear();
            self.free.push(output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grown_output_is_not_kept() {
        let mut pool = Pool::new(1, 8192);
        let mut output = pool.take();
        output.bytes.put(&[0; 10_000]);
        pool.give(output);
        assert_eq!(pool.take().bytes.capacity(), 0);
        pool.give(output_of(100));
        pool.clear();
        assert_eq!(pool.take().bytes.capacity(), 0);
    }

    fn output_of(bytes: usize) -> Output {
        let mut output = Output::new();
        output.bytes.put(&vec![0; bytes]);
        output
    }
}
