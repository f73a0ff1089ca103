//! Measures reading and writing a file through the cache of data, beside copying in memory:
//! `cargo run --release -p wharf-client --example file_rate -- nfs://localhost/export/file [MiB] [key=value …]`. The file is
//! written anew. Reads are cold when another mount makes them, and warm when the same one makes them again.

use std::hint::black_box;
use std::time::Instant;

use client::{Caching, CreateMode, File, Mount, OpenOptions, Options, SetAttributes, Url};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;
/// How often everything is read again from memory.
const ROUNDS: usize = 8;

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
    for (what, size) in [("read 1 MiB again", MIB), ("read 4 KiB again", PAGE)] {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            read_all(&file, bytes, size).await?;
        }
        let read = tell(what, ROUNDS * bytes, start);
        let copied = copy_all(bytes, size);
        println!("{:>34} {:>9.0} MB/s, of which reading is {:.0} %", "memory", copied, 100.0 * read / copied);
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

/// The rate of copying as much within memory, in MB/s: from boxes of 64 KiB, as the cache has them.
fn copy_all(bytes: usize, size: usize) -> f64 {
    let source: Vec<Box<[u8]>> = (0..bytes / 65_536).map(|block| vec![block as u8; 65_536].into()).collect();
    let mut buffer = vec![0; size];
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for offset in (0..bytes).step_by(size) {
            for (number, part) in buffer.chunks_mut(65_536).enumerate() {
                let within = offset % 65_536;
                part.copy_from_slice(&source[offset / 65_536 + number][within..within + part.len()]);
            }
            black_box(&buffer);
        }
    }
    rate(ROUNDS * bytes, start)
}

fn rate(bytes: usize, start: Instant) -> f64 {
    bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
}

fn tell(what: &str, bytes: usize, start: Instant) -> f64 {
    let rate = rate(bytes, start);
    println!("{what:>34} {rate:>9.0} MB/s");
    rate
}
