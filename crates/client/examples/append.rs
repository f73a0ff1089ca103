//! Appends a line to a file that others append to as well, under a lock:
//! `cargo run -p wharf-client --example append -- nfs://localhost/export/log 'a line'`.

use client::{File, LockKind, Mount, OpenOptions, Options, Url};

/// From the first byte on, however long the file gets.
const EVERYTHING: (u64, u64) = (0, u64::MAX);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("a URL is wanted")?.parse()?;
    let line = arguments.next().ok_or("a line is wanted")? + "\n";
    let mount = Mount::connect(&url, &Options::negotiating()).await?;
    let log = mount.root_dir().open(mount.path_below(), &OpenOptions::both().making(0o644)).await?;
    log.lock(LockKind::Exclusive, EVERYTHING.0, EVERYTHING.1).await?;
    let appended = append(&log, line.as_bytes()).await;
    // What was written is at the server before the lock goes.
    log.unlock(EVERYTHING.0, EVERYTHING.1).await?;
    println!("written at byte {}", appended?);
    log.close().await?;
    Ok(mount.unmount().await?)
}

/// Where the line is. Nobody else writes meanwhile.
async fn append(log: &File, line: &[u8]) -> client::Result<u64> {
    let end = log.getattr().await?.size_bytes;
    log.write_at(end, line).await?;
    Ok(end)
}
