//! The counters of a mount that fio's eight tests of the FreeBSD report leave, beside the report's own.
//!
//! The report's counters of a write include the layout of its file, by writes of 512 bytes, and one READ before each
//! block is written: Wharf's client needs none. Its cache is smaller than a file, so that random operations of 4 KiB
//! meet a block several times. These figures are not compared, but what must hold between counters is.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use testing::program::Server;
use testing::program::namespace::is_installed;

use crate::nfsstat::{Mounted, number};

const BLOCK_BYTES: u64 = 64 << 10;
const BLOCKS: u64 = 64;
const FILE_BYTES: u64 = BLOCKS * BLOCK_BYTES;
const OPTIONS: &str = "vers=3,rsize=65536,wsize=65536";
/// How long changes stay in the client's cache when nobody asks for them.
const WRITE_DELAY: Duration = Duration::from_secs(2);

/// A test of the report: fio's name of it, and the bytes of an operation.
type Test = (&'static str, u64);

/// Hits and misses; the report has negative hits where a write had blocks read first.
type HitsMisses = [i64; 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counters {
    read: i64,
    bior: HitsMisses,
    write: i64,
    biow: HitsMisses,
}

/// The blocks of the report's file, and its counters without the patch. Those of the layout of "read 128k" and the
/// random reads are left out.
const REPORT: [(Test, i64, Counters); 8] = [
    (("read", 4 << 10), 256_000, Counters { read: 256_000, bior: [3_840_000, 256_000], write: 0, biow: [0, 0] }),
    (("read", 128 << 10), 256_000, Counters { read: 256_000, bior: [0, 256_000], write: 0, biow: [0, 0] }),
    (("randread", 4 << 10), 80_000, Counters { read: 160_000, bior: [1_120_000, 160_000], write: 0, biow: [0, 0] }),
    (("randread", 128 << 10), 80_000, Counters { read: 80_000, bior: [0, 80_000], write: 0, biow: [0, 0] }),
    (
        ("write", 4 << 10),
        256_000,
        Counters { read: 256_174, bior: [-256_174, 256_174], write: 512_160, biow: [36_351_826, 512_174] },
    ),
    (
        ("write", 128 << 10),
        256_000,
        Counters { read: 177, bior: [-177, 177], write: 500_530, biow: [32_512_550, 511_450] },
    ),
    (
        ("randwrite", 4 << 10),
        80_000,
        Counters { read: 80_058, bior: [-80_058, 80_058], write: 1_209_267, biow: [10_303_816, 1_216_184] },
    ),
    (
        ("randwrite", 128 << 10),
        240_000,
        Counters { read: 164, bior: [-164, 164], write: 469_297, biow: [30_480_310, 479_690] },
    ),
];

impl Counters {
    /// Without the layout of a file of so many blocks, which wrote each block once, by 512 bytes.
    fn without_layout(self, blocks: i64) -> Counters {
        const LOOKUPS: i64 = BLOCK_BYTES as i64 / 512;
        let [hits, misses] = self.biow;
        Counters { write: self.write - blocks, biow: [hits - blocks * (LOOKUPS - 1), misses - blocks], ..self }
    }

    /// Those of a file of [`BLOCKS`] instead of so many, to the nearest number.
    fn scaled(self, blocks: i64) -> Counters {
        let scale = |counter: i64| (counter as f64 * BLOCKS as f64 / blocks as f64).round() as i64;
        let (read, write) = (scale(self.read), scale(self.write));
        Counters { read, bior: self.bior.map(scale), write, biow: self.biow.map(scale) }
    }

    /// What must hold of a test on a file of so many blocks: each block that an operation touches is looked up, each
    /// READ brings a missing block, and each WRITE is that of a lookup that missed.
    fn check(&self, (name, bytes): Test, blocks: i64) {
        let is_write = name.ends_with("write");
        let lookups = blocks * i64::try_from((BLOCK_BYTES / bytes).max(1)).unwrap();
        let sum = |[hits, misses]: HitsMisses| hits + misses;
        let sums = if is_write { [0, lookups] } else { [lookups, 0] };
        assert_eq!([sum(self.bior), sum(self.biow)], sums, "lookups of {name} {bytes}: {self:?}");
        assert_eq!(self.read, self.bior[1], "READs of {name} {bytes}: {self:?}");
        let least = if is_write { blocks * 9 / 10 } else { 0 };
        assert!((least..=self.biow[1]).contains(&self.write), "WRITEs of {name} {bytes}: {self:?}");
    }
}

/// The mount's counters since it was made.
fn counters(mounted: &Mounted) -> Counters {
    let tables = String::from_utf8(mounted.ask(&["-c", mounted.dir.to_str().unwrap()]).stdout).unwrap();
    let counter = |name: &str| i64::try_from(number(&tables, name)).unwrap();
    let pair = |of: &str| [format!("{of} Hits"), format!("{of} Misses")].map(|name| counter(&name));
    Counters { read: counter("Read"), bior: pair("BioR"), write: counter("Write"), biow: pair("BioW") }
}

/// Has fio do one of the tests, as the report says.
fn run_fio((name, bytes): Test, file: &Path) {
    let sized = [format!("--rw={name}"), format!("--bs={bytes}"), format!("--size={FILE_BYTES}")];
    let named = [format!("--filename={}", file.display()), "--name=test".to_owned()];
    let mut fio = Command::new("fio");
    fio.args(sized).args(named).args(["--ioengine=vsync", "--direct=0", "--thread", "--numjobs=1", "--iodepth=16"]);
    // The file is there: nothing is laid out. Closing it writes what is left.
    fio.args(["--refill_buffers", "--overwrite=1", "--fallocate=none", "--invalidate=0", "--output-format=terse"]);
    let output = fio.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A server with the file.
fn server() -> Option<Server> {
    if !is_installed("fio") {
        println!("skipped: there is no fio; install fio");
        return None;
    }
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let mounted = Mounted::with(&server, OPTIONS)?;
    let file = OpenOptions::new().write(true).create_new(true).open(mounted.dir.join("data")).unwrap();
    file.write_all_at(&vec![7; FILE_BYTES as usize], 0).unwrap();
    file.sync_all().unwrap();
    Some(server)
}

/// The counters of one of the tests through a mount of its own, and how often the client wrote late data meanwhile.
fn test(server: &Server, options: &str, test: Test) -> (Counters, i64) {
    let mounted = Mounted::with(server, &format!("{OPTIONS}{options}")).unwrap();
    let began = Instant::now();
    run_fio(test, &mounted.dir.join("data"));
    let late = began.elapsed().as_secs() / WRITE_DELAY.as_secs();
    (counters(&mounted), i64::try_from(late).unwrap())
}

#[test]
fn counters_of_the_report_hold_what_is_demanded_of_the_mounts() {
    for (test, blocks, report) in REPORT {
        let report = if test.0.ends_with("write") { report.without_layout(blocks) } else { report };
        report.check(test, blocks);
    }
}

#[test]
fn fio_through_a_mount_leaves_the_counters_of_the_report() {
    let Some(server) = server() else { return };
    let blocks = i64::try_from(BLOCKS).unwrap();
    for ((name, bytes), report_blocks, report) in REPORT {
        let (found, late) = test(&server, ",direct_io", (name, bytes));
        found.check((name, bytes), blocks);
        let is_small_and_random = name.starts_with("rand") && bytes < BLOCK_BYTES;
        if is_small_and_random {
            // All of the file fits into this cache: each block is read once.
            let is_read = name == "randread";
            assert!(!is_read || found.read == blocks, "{name} {bytes}: {found:?}");
        } else if name == "write" || name == "randwrite" {
            let [_, misses] = report.without_layout(report_blocks).scaled(report_blocks).biow;
            assert_eq!(misses, blocks);
            // What is written late may be a part of a block, whose rest is another WRITE.
            assert!((misses..=misses + late).contains(&found.biow[1]), "{name} {bytes}: {found:?}, {late}");
            assert_eq!((found.write, found.read), (found.biow[1], 0), "{name} {bytes}");
        } else {
            assert_eq!(found, report.scaled(report_blocks), "{name} {bytes}");
        }
    }
}

#[test]
fn blocks_that_the_kernel_reads_ahead_are_counted_as_misses() {
    let Some(server) = server() else { return };
    for bytes in [4 << 10, 128 << 10] {
        let (found, _) = test(&server, "", ("read", bytes));
        let blocks = i64::try_from(BLOCKS).unwrap();
        assert_eq!(found.read, found.bior[1], "{found:?}");
        assert!((blocks..=blocks + 2).contains(&found.read) && found.bior[0] <= 1, "{bytes}: {found:?}");
    }
}

#[test]
fn direct_read_through_a_mount_asks_the_server_each_time() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    for version in ["3", "4.2"] {
        let options = format!("vers={version},actimeo=600");
        let Some(writer) = Mounted::with(&server, &options) else { return };
        let reader = Mounted::with(&server, &options).unwrap();
        let open = |mounted: &Mounted, flags: OFlags| {
            let custom = i32::try_from(flags.bits()).unwrap();
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).custom_flags(custom).open(mounted.dir.join("file")).unwrap()
        };
        let written = open(&writer, OFlags::empty());
        let write = |text: &[u8; 5]| {
            written.write_all_at(text, 0).unwrap();
            written.sync_all().unwrap();
        };
        write(b"first");
        let [direct, cached] = [OFlags::DIRECT, OFlags::empty()].map(|flags| open(&reader, flags));
        let read = |file: &File| {
            let (mut found, reads) = ([0; 5], counters(&reader).read);
            file.read_exact_at(&mut found, 0).unwrap();
            (found, counters(&reader).read - reads)
        };
        assert_eq!(
            [read(&cached), read(&cached), read(&direct)],
            [1, 0, 1].map(|reads| (*b"first", reads)),
            "{version}"
        );
        write(b"other");
        assert_eq!([read(&cached), read(&direct)], [(*b"first", 0), (*b"other", 1)], "{version}");
    }
}
