//! Reads a file once from its beginning to its end, 1 MiB at a time, as one that was just mounted, and tells how fast that was:
//! `cargo run --release -p wharf-client --example sequential_read -- nfs://localhost/export/file`. `cargo xtask mounted` holds what a
//! mount gives against it.

use std::time::Instant;

use client::{Follow, Mount, OpenOptions, Options, Url};

const MIB: usize = 1 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url: Url = std::env::args().nth(1).ok_or("a URL is wanted")?.parse()?;
    let mount = Mount::connect(&url, &Options::default()).await?;
    let path = mount.path_below();
    let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&b""[..], path),
    };
    let dir = mount.walk(dir, Follow::Links).await?;
    let file = mount.open(&dir.handle, name, &OpenOptions::read()).await?;
    let (mut buffer, mut offset, start) = (vec![0; MIB], 0, Instant::now());
    loop {
        match file.read_at(offset, &mut buffer).await? {
            0 => break,
            count => offset += count as u64,
        }
    }
    println!("bytes={offset} MB/s={:.1}", offset as f64 / 1e6 / start.elapsed().as_secs_f64());
    Ok(())
}
