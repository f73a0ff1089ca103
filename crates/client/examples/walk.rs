//! Prints all files of a tree on an NFS server with their sizes, and how many bytes they have together:
//! `cargo run -p wharf-client --example walk -- nfs://localhost/export/dir`.

use client::{Detail, FileKind, Mount, Options, Url};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url: Url = std::env::args().nth(1).ok_or("a URL is wanted")?.parse()?;
    let mount = Mount::connect(&url, &Options::negotiating()).await?;
    let top = mount.open_dir(mount.path_below()).await?;
    let (mut files, mut bytes) = (0_u64, 0_u64);
    // Directories that were met and not listed yet. A server whose directories go round in a circle is not followed for
    // ever.
    let mut ahead = vec![(String::from("."), top, 0)];
    while let Some((path, dir, depth)) = ahead.pop() {
        let mut entries = dir.read_dir(Detail::Entries);
        while let Some(found) = entries.next().await? {
            // What is gone since the server listed it has no entry.
            let Some(entry) = found.entry else { continue };
            let path = format!("{path}/{}", found.name.escape_ascii());
            match entry.attributes.kind {
                FileKind::Directory if depth < 200 => ahead.push((path, mount.dir(&entry.handle), depth + 1)),
                FileKind::Directory => eprintln!("{path}: too deep"),
                _ => {
                    (files, bytes) = (files + 1, bytes + entry.attributes.size_bytes);
                    println!("{:>12} {path}", entry.attributes.size_bytes);
                }
            }
        }
    }
    println!("{files} files, {bytes} bytes");
    Ok(mount.unmount().await?)
}
