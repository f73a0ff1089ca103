//! Measures reading and writing a file through the cache of data, beside copying in memory: `cargo run --release -p
//! wharf-client --example file_rate -- nfs://localhost/export/file [MiB] [key=value …]`. The file is written anew.
//! Reads are cold when another mount makes them, and warm when the same one makes them again.

use std::hint::black_box;
use std::time::Instant;

use client::{Caching, CreateMode, File, Mount, OpenOptions, Options, SetAttributes, Url};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;
/// How often everything is read again from memory, and copied within memory, by turns.
const ROUNDS: usize = 25;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("a URL is wanted")?.parse()?;
    let bytes = arguments.next().map_or(Ok(128), |text| text.parse::<usize>())? * MIB;
    let caching = Caching { max_bytes: 2 * bytes as u64, ..Caching::default() };
    let options = Options { caching, ..Options::default() };

    let file = open(&url, &options).await?;
    let data: Vec<u8> = (0..MIB).map(|byte| (byte % 251) as u8).collect();
    let start = Instant::now();
    for offset in (0..bytes).step_by(MIB) {
        file.write_at(offset as u64, &data).await?;
    }
    file.sync().await?;
    tell("write 1 MiB in order, and sync", bytes, start);
    file.close().await?;

    for (what, size) in [("read 1 MiB in order, cold", MIB), ("read 4 KiB in order, cold", PAGE)] {
        let file = open(&url, &options).await?;
        let start = Instant::now();
        read_all(&file, bytes, size).await?;
        tell(what, bytes, start);
        file.close().await?;
    }
    let cold = Options { caching: Caching { is_direct: true, ..caching }, ..options.clone() };
    let direct = open(&url, &cold).await?;
    let start = Instant::now();
    read_all(&direct, bytes, MIB).await?;
    tell("read 1 MiB in order, direct", bytes, start);

    let file = open(&url, &options).await?;
    read_all(&file, bytes, MIB).await?;
    let memory = Memory::new(bytes);
    for (what, size) in [("read 1 MiB again", MIB), ("read 4 KiB again", PAGE)] {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            read_all(&file, bytes, size).await?;
            let read = rate(bytes, start);
            rounds.push((read, memory.copy_all(size)));
        }
        tell_beside_memory(what, &rounds);
    }
    println!("{:?}", file.attributes().size_bytes);
    Ok(())
}

async fn open(url: &Url, options: &Options) -> Outcome<File> {
    let mount = Mount::connect(url, options).await?;
    let (dir, name) = match mount.path_below().iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&mount.path_below()[..slash], &mount.path_below()[slash + 1..]),
        None => (&b""[..], mount.path_below()),
    };
    let dir = mount.walk(dir, client::Follow::Links).await?;
    let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
    Ok(mount.open(&dir.handle, name, &options).await?)
}

async fn read_all(file: &File, bytes: usize, size: usize) -> Outcome {
    let mut buffer = vec![0; size];
    for offset in (0..bytes).step_by(size) {
        let count = file.read_at(offset as u64, &mut buffer).await?;
        if count != size {
            return Err(format!("{count} bytes at {offset}").into());
        }
        black_box(&buffer);
    }
    Ok(())
}

/// As many bytes as the file has, in boxes of 64 KiB as the cache has them.
struct Memory(Vec<Box<[u8]>>);

impl Memory {
    const BOX_BYTES: usize = 65_536;

    fn new(bytes: usize) -> Memory {
        Memory((0..bytes / Self::BOX_BYTES).map(|block| vec![block as u8; Self::BOX_BYTES].into()).collect())
    }

    /// The rate of copying all of it, in MB/s: what reading would be if there were nothing to do but that.
    fn copy_all(&self, size: usize) -> f64 {
        let (mut buffer, bytes) = (vec![0; size], self.0.len() * Self::BOX_BYTES);
        let start = Instant::now();
        for offset in (0..bytes).step_by(size) {
            for (number, part) in buffer.chunks_mut(Self::BOX_BYTES).enumerate() {
                let within = offset % Self::BOX_BYTES;
                part.copy_from_slice(&self.0[offset / Self::BOX_BYTES + number][within..within + part.len()]);
            }
            black_box(&buffer);
        }
        rate(bytes, start)
    }
}

/// Tells the medians of rounds in which the file was read and as much was copied, and that of what reading was of
/// copying in each.
fn tell_beside_memory(what: &str, rounds: &[(f64, f64)]) {
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (read, copied, share) = (median(|round| round.0), median(|round| round.1), median(|round| round.0 / round.1));
    println!("{what:>34} {read:>9.0} MB/s");
    println!("{:>34} {copied:>9.0} MB/s, of which reading is {:.0} %", "memory", 100.0 * share);
}

fn rate(bytes: usize, start: Instant) -> f64 {
    bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
}

fn tell(what: &str, bytes: usize, start: Instant) {
    println!("{what:>34} {:>9.0} MB/s", rate(bytes, start));
}
