//! Runs of zeros in bytes of a file.

use std::ops::Range;

/// The shortest hole to return, in bytes: its zeros are longer than its header and the next one, with padding, so that
/// a reply is never longer than one data segment.
const MIN_HOLE_BYTES: u64 = 512;

/// A block of most file systems.
const BLOCK_BYTES: u64 = 4096;

const ZEROS: [u8; BLOCK_BYTES as usize] = [0; BLOCK_BYTES as usize];

/// The first run of zeros that is long enough for a hole, in bytes that begin at `offset` in the file. It begins and
/// ends where a block of the file does, or the bytes do.
pub(super) fn first_run(offset: u64, bytes: &[u8]) -> Option<Range<usize>> {
    let is_long_enough = |run: &Range<usize>| run.len() as u64 >= MIN_HOLE_BYTES;
    let mut run = 0..0;
    let mut at = 0;
    while at < bytes.len() {
        let block = BLOCK_BYTES - (offset + at as u64) % BLOCK_BYTES;
        let end = bytes.len().min(at + block as usize);
        if bytes[at..end] == ZEROS[..end - at] {
            run.end = end;
        } else if is_long_enough(&run) {
            return Some(run);
        } else {
            run = end..end;
        }
        at = end;
    }
    Some(run).filter(is_long_enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(offset: u64, bytes: &[u8]) -> Vec<Range<usize>> {
        let (mut runs, mut at) = (Vec::new(), 0);
        while let Some(run) = first_run(offset + at as u64, &bytes[at..]) {
            runs.push(at + run.start..at + run.end);
            at += run.end;
        }
        runs
    }

    #[test]
    fn runs_are_of_blocks_of_the_file_and_of_parts_at_both_ends() {
        let mut bytes = vec![0; 3 * 4096 + 600];
        bytes[4096 + 2000] = 1;
        assert_eq!(runs(0, &bytes), [0..4096, 8192..12_888]);
        assert_eq!(runs(96, &bytes), [0..4000, 8096..12_888]);
        assert_eq!(runs(0, &bytes[4096..8192]), []);
    }

    #[test]
    fn run_shorter_than_a_hole_is_none() {
        let mut bytes = vec![1; 8192];
        bytes[..511].fill(0);
        bytes[8192 - 511..].fill(0);
        // The first block of the file ends behind the zeros, and the last one begins before them.
        assert_eq!(runs(4096 - 511, &bytes), []);
        bytes[511] = 0;
        assert_eq!(first_run(4096 - 512, &bytes), Some(0..512));
        assert_eq!(runs(0, b""), []);
    }
}
