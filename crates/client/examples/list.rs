//! Lists a directory of an NFS server: `cargo run -p wharf-client --example list -- nfs://localhost/export/dir`.

use client::{Detail, Follow, Mount, Options, Url};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url: Url = std::env::args().nth(1).ok_or("a URL is wanted")?.parse()?;
    let mount = Mount::connect(&url, &Options::default()).await?;
    let dir = mount.walk(mount.path_below(), Follow::Links).await?;
    let mut listing = mount.read_dir(&dir.handle, Detail::Entries);
    while let Some(entry) = listing.next().await? {
        match entry.entry {
            Some(file) => println!("{:>12} {}", file.attributes.size_bytes, entry.name.escape_ascii()),
            None => println!("{:>12} {}", "gone", entry.name.escape_ascii()),
        }
    }
    Ok(())
}
