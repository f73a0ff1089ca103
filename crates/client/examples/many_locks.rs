//! Measures byte-range locks of one file, each of one byte and apart from the others, beside GETATTRs of another file
//! over another mount: `cargo run --release -p wharf-client --example many_locks --
//! 'nfs://localhost/export/dir?version=4.1' [count]`. The times of LOCK include the GETATTR that the client sends after
//! each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::{CreateMode, File, Handle, LockKind, Mount, OpenOptions, Options, SetAttributes, Url};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Locks are this far apart, so that no two become one.
const STRIDE: u64 = 10;
/// How many locks are given up and taken again with all others held.
const PAIRS: u64 = 500;
/// How long the witness sleeps between two GETATTRs.
const WITNESS_PAUSE: Duration = Duration::from_millis(1);
/// How long GETATTRs are measured while nobody locks.
const QUIET: Duration = Duration::from_secs(2);

#[tokio::main(worker_threads = 2)]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("a URL is wanted")?.parse()?;
    let count: u64 = arguments.next().map_or(Ok(16_384), |text| text.parse())?;
    let witness = Witness::start(&url).await?;
    tokio::time::sleep(QUIET).await;
    println!("GETATTR of another mount, nobody locks: {}", witness.stop().await?);

    let witness = Witness::start(&url).await?;
    let mount = Mount::connect(&url, &Options::default()).await?;
    let file = open(&mount, b"many-locks").await?;
    let whole = Instant::now();
    for from in (0..count).step_by(1000) {
        let to = count.min(from + 1000);
        let mut times = Vec::new();
        for at in from..to {
            let start = Instant::now();
            file.try_lock(LockKind::Exclusive, at * STRIDE, 1).await?;
            times.push(start.elapsed());
        }
        println!("locks {from} to {to}: {}", told(times));
    }
    println!("{count} locks: {:.2} s", whole.elapsed().as_secs_f64());
    let mut times = Vec::new();
    for at in 0..PAIRS {
        let start = Instant::now();
        file.unlock(at % count * STRIDE, 1).await?;
        file.try_lock(LockKind::Exclusive, at % count * STRIDE, 1).await?;
        times.push(start.elapsed());
    }
    println!("LOCKU and LOCK with {count} locks: {}", told(times));
    let start = Instant::now();
    file.close().await?;
    println!("CLOSE: {:?}", start.elapsed());
    println!("GETATTR of another mount meanwhile: {}", witness.stop().await?);
    Ok(mount.unmount().await?)
}

fn told(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).or(times.last()).copied().unwrap_or_default();
    format!("{} calls, median {:?}, 99 % {:?}, slowest {:?}", times.len(), at(50), at(99), at(100))
}

async fn open(mount: &Mount, name: &[u8]) -> Outcome<File> {
    let dir = mount.walk(mount.path_below(), client::Follow::Links).await?;
    let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
    Ok(mount.open(&dir.handle, name, &options).await?)
}

/// A mount of its own that asks for the attributes of a file again and again.
struct Witness {
    ends: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Outcome<Vec<Duration>>>,
}

impl Witness {
    async fn start(url: &Url) -> Outcome<Witness> {
        let mount = Mount::connect(url, &Options::default()).await?;
        let file = open(&mount, b"witness").await?;
        let handle = *file.handle();
        let ends = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(watch(mount, handle, Arc::clone(&ends)));
        Ok(Witness { ends, task })
    }

    /// How long its GETATTRs took.
    async fn stop(self) -> Outcome<String> {
        self.ends.store(true, Ordering::Relaxed);
        Ok(told(self.task.await??))
    }
}

async fn watch(mount: Mount, handle: Handle, ends: Arc<AtomicBool>) -> Outcome<Vec<Duration>> {
    let mut times = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let start = Instant::now();
        mount.getattr(&handle).await?;
        times.push(start.elapsed());
        tokio::time::sleep(WITNESS_PAUSE).await;
    }
    mount.unmount().await?;
    Ok(times)
}
