//! Measures durable records: through the log, and with pwrite(2) and fdatasync(2) for each record.
//!
//! `cargo run --release -p wharf-stable --example log_speed -- FOLDER [SECONDS [THREADS …]]`
//!
//! The first table compares single synchronous direct writes of 4 KiB by how the blocks of their file were allocated.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};
use stable::{AlignedBuffer, FileDevice, Log};

const FILE_BYTES: u64 = 256 << 20;
const BLOCK_BYTES: usize = 4096;
const RECORD_BYTES: [usize; 3] = [256, 4096, 65536];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("log_speed FOLDER [SECONDS [THREADS …]]")?);
    let seconds = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    let length = Duration::from_secs_f64(seconds);
    let threads: Vec<usize> = arguments.map(|text| text.parse()).collect::<Result<_, _>>()?;
    let threads = if threads.is_empty() { vec![1, 4, 16, 64] } else { threads };
    measure_allocation(&folder, length)?;
    println!(
        "\n{:>8} {:>8} {:<16} {:>10} {:>8} {:>8} {:>8}",
        "bytes", "threads", "way", "records/s", "p50 µs", "p99 µs", "group"
    );
    for bytes in RECORD_BYTES {
        for &threads in &threads {
            let job = Job { bytes, threads, length };
            measure_log(&folder, job)?;
            measure_plain(&folder, job)?;
        }
    }
    Ok(())
}

/// A measurement.
#[derive(Clone, Copy)]
struct Job {
    bytes: usize,
    threads: usize,
    length: Duration,
}

/// How long each operation took.
struct Times(Vec<Duration>);

impl Times {
    fn quantile_us(&self, share: f64) -> f64 {
        let at = (self.0.len() as f64 * share) as usize;
        self.0.get(at.min(self.0.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    fn per_second(&self, length: Duration) -> f64 {
        self.0.len() as f64 / length.as_secs_f64()
    }
}

impl Job {
    /// Has every thread do `operation` again and again; it gets the thread's number and how often it was done.
    fn run(self, operation: impl Fn(usize, u64) -> Outcome<()> + Sync) -> Outcome<Times> {
        let began = Instant::now();
        let repeat = |thread| {
            let mut times = Vec::new();
            while began.elapsed() < self.length {
                let start = Instant::now();
                operation(thread, times.len() as u64)?;
                times.push(start.elapsed());
            }
            Ok(times)
        };
        let times: Outcome<Vec<Vec<Duration>>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|thread| scope.spawn(move || repeat(thread))).collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?).collect()
        });
        let mut times = times?.concat();
        times.sort_unstable();
        Ok(Times(times))
    }

    fn print(self, way: &str, times: &Times, group: f64) {
        println!(
            "{:>8} {:>8} {way:<16} {:>10.0} {:>8.0} {:>8.0} {group:>8.1}",
            self.bytes,
            self.threads,
            times.per_second(self.length),
            times.quantile_us(0.5),
            times.quantile_us(0.99),
        );
    }
}

/// Compares files that were filled with zeros, only allocated, and neither.
fn measure_allocation(folder: &Path, length: Duration) -> Outcome<()> {
    println!("{:<24} {:>10} {:>8} {:>8}", "4 KiB direct writes to", "writes/s", "p50 µs", "p99 µs");
    for way in ["a file of zeros", "an allocated file", "a sparse file"] {
        let path = folder.join("log_speed.allocation");
        let file = match way {
            "a file of zeros" => {
                drop(FileDevice::create(&path, FILE_BYTES)?);
                direct(&path)?
            }
            "an allocated file" => {
                let file = direct(&path)?;
                fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES)?;
                file
            }
            _ => {
                let file = direct(&path)?;
                file.set_len(FILE_BYTES)?;
                file
            }
        };
        let times = write_blocks(&file, length)?;
        fs::remove_file(&path)?;
        let per_second = times.per_second(length);
        println!("{way:<24} {per_second:>10.0} {:>8.0} {:>8.0}", times.quantile_us(0.5), times.quantile_us(0.99));
    }
    Ok(())
}

fn write_blocks(file: &File, length: Duration) -> Outcome<Times> {
    let mut block = AlignedBuffer::new(BLOCK_BYTES);
    block.fill(7);
    let job = Job { bytes: BLOCK_BYTES, threads: 1, length };
    job.run(|_, number| Ok(file.write_all_at(&block, number * BLOCK_BYTES as u64 % FILE_BYTES)?))
}

fn direct(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(path)
}

/// Records through the log, which one thread trims as a server would.
fn measure_log(folder: &Path, job: Job) -> Outcome<()> {
    let path = folder.join("log_speed.log");
    let log = Log::create(Arc::new(FileDevice::create(&path, FILE_BYTES)?), b"log_speed")?;
    let record = vec![7; job.bytes];
    let is_over = AtomicBool::new(false);
    let times = thread::scope(|scope| {
        scope.spawn(|| trim_until(&log, &is_over));
        let times = job.run(|_, _| Ok(log.wait(log.append(&[&record])?)?));
        is_over.store(true, Ordering::Release);
        times
    });
    let status = log.status();
    job.print("log", &times?, status.records as f64 / status.batches as f64);
    drop(log);
    Ok(fs::remove_file(&path)?)
}

fn trim_until(log: &Log, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        let status = log.status();
        if status.used_bytes * 2 > status.room_bytes && log.trim(log.durable()).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The same records with a flush for each, every thread in its own part of a file of zeros.
fn measure_plain(folder: &Path, job: Job) -> Outcome<()> {
    let path = folder.join("log_speed.plain");
    drop(FileDevice::create(&path, FILE_BYTES)?);
    let file = OpenOptions::new().write(true).open(&path)?;
    let record = vec![7; job.bytes];
    let part_bytes = FILE_BYTES / job.threads as u64;
    let times = job.run(|thread, number| {
        let offset_bytes = number * job.bytes as u64 % (part_bytes - job.bytes as u64);
        file.write_all_at(&record, thread as u64 * part_bytes + offset_bytes)?;
        Ok(file.sync_data()?)
    });
    job.print("pwrite+fdatasync", &times?, 1.0);
    Ok(fs::remove_file(&path)?)
}
