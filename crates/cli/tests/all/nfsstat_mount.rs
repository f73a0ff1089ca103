//! The counters of a mount that fio's eight tests of the FreeBSD report leave, beside the report's own.
//!
//! The report's counters include fio's layout of the file, 16000 MiB in order or 5000 MiB at random; its cache is
//! smaller than a file. So the misses of random small reads are not compared, but what must hold between counters is.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;

use testing::program::Server;

use crate::nfsstat::{Mounted, number};

const BLOCK_BYTES: u64 = 64 << 10;
const BLOCKS: u64 = 64;
const OPTIONS: &str = "vers=3,rsize=65536,wsize=65536";

/// `Read`, `BioR Hits` and `BioR Misses` of the report for a file of so many blocks, unpatched.
const READ_4K: (u64, [u64; 3]) = (256_000, [256_000, 3_840_000, 256_000]);
const READ_128K: (u64, [u64; 3]) = (256_000, [256_000, 0, 256_000]);
const RANDREAD_128K: (u64, [u64; 3]) = (80_000, [80_000, 0, 80_000]);

/// The report's counters for a file of [`BLOCKS`].
fn scaled((blocks, counters): (u64, [u64; 3])) -> [u64; 3] {
    counters.map(|counter| counter * BLOCKS / blocks)
}

/// The counters by name, since the mount was made.
fn counters(mounted: &Mounted, names: [&str; 3]) -> [u64; 3] {
    let tables = String::from_utf8(mounted.ask(&["-c", mounted.dir.to_str().unwrap()]).stdout).unwrap();
    names.map(|name| number(&tables, name))
}

/// Where a test's operations begin: each place of the file once, in order or in one that looks random.
fn offsets(operation_bytes: u64, is_random: bool) -> impl Iterator<Item = u64> {
    let count = BLOCKS * BLOCK_BYTES / operation_bytes;
    // An odd factor permutes the numbers below a power of two.
    (0..count).map(move |number| if is_random { number * 7919 % count } else { number } * operation_bytes)
}

/// A mount of a file that it has not read yet.
fn mounted(server: &Server, options: &str) -> Option<(Mounted, File)> {
    let mounted = Mounted::with(server, &format!("{OPTIONS}{options}"))?;
    let path = mounted.dir.join("data");
    let file = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(_) => {
            fs::write(&path, vec![7; (BLOCKS * BLOCK_BYTES) as usize]).unwrap();
            return self::mounted(server, options);
        }
    };
    Some((mounted, file))
}

/// `Read`, `BioR Hits` and `BioR Misses` of one of the tests through a mount of its own.
fn reading(server: &Server, options: &str, operation_bytes: u64, is_random: bool) -> Option<[u64; 3]> {
    let (mounted, file) = mounted(server, options)?;
    let mut buffer = vec![0; operation_bytes as usize];
    offsets(operation_bytes, is_random).for_each(|offset| file.read_exact_at(&mut buffer, offset).unwrap());
    Some(counters(&mounted, ["Read", "BioR Hits", "BioR Misses"]))
}

#[test]
fn reads_through_a_mount_leave_the_counters_of_the_report() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let counted = |bytes, is_random| reading(&server, ",direct_io", bytes, is_random);
    let Some(read_4k) = counted(4096, false) else { return };
    assert_eq!(read_4k, scaled(READ_4K), "read 4k");
    assert_eq!(counted(128 << 10, false).unwrap(), scaled(READ_128K), "read 128k");
    assert_eq!(counted(128 << 10, true).unwrap(), scaled(RANDREAD_128K), "random read 128k");
    // All of the file fits into this cache: each block is read once.
    assert_eq!(counted(4096, true).unwrap(), scaled(READ_4K), "random read 4k");
}

#[test]
fn blocks_that_the_kernel_reads_ahead_are_counted_as_misses() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    for bytes in [4096, 128 << 10] {
        let Some([reads, hits, misses]) = reading(&server, "", bytes, false) else { return };
        assert!((BLOCKS..=BLOCKS + 2).contains(&reads), "{reads} READs of {bytes} bytes");
        // Where one read of the kernel ends within a block, the next one touches that block again.
        assert!((BLOCKS..=BLOCKS + BLOCKS / 4).contains(&misses) && hits <= 1, "{hits} hits, {misses} misses");
    }
}

#[test]
fn writes_through_a_mount_are_lookups_of_the_blocks_that_they_touch() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    for (bytes, is_random) in [(4096, false), (128 << 10, false), (4096, true), (128 << 10, true)] {
        let Some((mounted, file)) = mounted(&server, ",direct_io") else { return };
        let names = ["Write", "BioW Hits", "BioW Misses"];
        let before = counters(&mounted, names);
        let data = vec![1; bytes as usize];
        offsets(bytes, is_random).for_each(|offset| file.write_all_at(&data, offset).unwrap());
        file.sync_all().unwrap();
        let after = counters(&mounted, names);
        let [writes, hits, misses] = [0, 1, 2].map(|index| after[index] - before[index]);
        let operations = BLOCKS * BLOCK_BYTES / bytes;
        assert_eq!(hits + misses, operations * bytes.div_ceil(BLOCK_BYTES), "lookups of writes of {bytes} bytes");
        let most = if bytes < BLOCK_BYTES { operations } else { BLOCKS };
        assert!((BLOCKS..=most).contains(&writes), "{writes} WRITEs for writes of {bytes} bytes");
    }
}
