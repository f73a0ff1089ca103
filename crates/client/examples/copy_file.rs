//! Copies a file of an NFS server to this machine, with 64 reads in flight at once:
//! `cargo run -p wharf-client --example copy_file -- nfs://localhost/export/file ./file`.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use client::{Caching, Mount, OpenOptions, Options, Url};
use futures_util::{StreamExt, TryStreamExt, stream};

const READS: usize = 64;
const PIECE_BYTES: usize = 256 * 1024;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("a URL is wanted")?.parse()?;
    let target = Arc::new(std::fs::File::create(arguments.next().ok_or("a path is wanted")?)?);

    // Each byte is read once: there is no use in keeping any.
    let caching = Caching { is_direct: true, ..Caching::default() };
    let mount = Mount::connect(&url, &Options { caching, ..Options::negotiating() }).await?;
    let file = mount.root_dir().open(mount.path_below(), &OpenOptions::read()).await?;
    let length = file.attributes().size_bytes;

    stream::iter((0..length).step_by(PIECE_BYTES))
        .map(Ok::<u64, std::io::Error>)
        .try_for_each_concurrent(READS, |offset| {
            let (file, target) = (&file, Arc::clone(&target));
            async move {
                let mut piece = vec![0; PIECE_BYTES];
                let count = file.read_at(offset, &mut piece).await?;
                tokio::task::spawn_blocking(move || target.write_all_at(&piece[..count], offset)).await?
            }
        })
        .await?;
    target.set_len(length)?;
    println!("{length} bytes over NFSv{}", mount.version());
    file.close().await?;
    Ok(mount.unmount().await?)
}
