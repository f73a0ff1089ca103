use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use lab::disk::{self, DiskFs, Model};
use mount::Validity;

use crate::failure::{Failure, MountFailure};

/// Mount a directory with one file, a disk that serves one request at a time.
///
/// Experiments start it, and put a loop device over the file. It ends when it is unmounted.
#[derive(Debug, Args)]
pub struct Flags {
    /// The directory to mount on.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The size of the disk, in bytes.
    #[arg(long, value_name = "BYTES")]
    size: usize,
    /// How long a request is positioned, in microseconds.
    #[arg(long, value_name = "N")]
    positioning_us: u64,
    /// How fast data pass the heads.
    #[arg(long, value_name = "N")]
    bytes_per_second: u64,
    /// How many disks position reads together.
    #[arg(long, value_name = "N")]
    disks: u32,
}

/// Serves the disk until it is unmounted.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let &Flags { positioning_us, bytes_per_second, disks, .. } = flags;
    let model = Model { positioning: Duration::from_micros(positioning_us), bytes_per_second, disks };
    // The file bypasses the kernel's cache, so that the disk sees each request.
    let options = mount::Options {
        is_direct: true,
        validity: Validity::NONE,
        source: "wharf-lab-disk".to_owned(),
        ..mount::Options::default()
    };
    disk::wake_on_time();
    let disk = Arc::new(DiskFs::new(model, flags.size));
    mount::mount(disk, &flags.dir, options).map_err(MountFailure::from)?.wait();
    Ok(())
}
