//! Shows which parts of a file have data and which are holes, as lseek(2) tells them:
//! `cargo run -p wharf-client --example holes -- nfs://localhost/export/file`.

use client::{Mount, OpenOptions, Options, Url};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url: Url = std::env::args().nth(1).ok_or("a URL is wanted")?.parse()?;
    let mount = Mount::connect(&url, &Options::negotiating()).await?;
    let file = mount.root_dir().open(mount.path_below(), &OpenOptions::read()).await?;
    let (mut at, end) = (0, file.attributes().size_bytes);
    while at < end {
        let data = file.seek_data(at).await?.unwrap_or(end);
        if data > at {
            println!("{at:>16} {:>16} hole", data - at);
        }
        if data >= end {
            break;
        }
        let hole = file.seek_hole(data).await?.unwrap_or(end);
        println!("{data:>16} {:>16} data", hole - data);
        // Somebody else may change the file meanwhile, so that a server's answers stand still.
        at = hole.max(data + 1);
    }
    file.close().await?;
    Ok(mount.unmount().await?)
}
