//! What tests of mounts have in common.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::geteuid;

/// Whether mounts can be made here; says so where not.
pub fn can_mount() -> bool {
    let can = geteuid().is_root() && fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok();
    if !can {
        println!("skipped: this is not root with a /dev/fuse that can be opened");
    }
    can
}

pub fn is_mounted(dir: &Path) -> bool {
    fs::read_to_string("/proc/mounts").unwrap().contains(&format!(" {} fuse.wharf ", dir.display()))
}

/// Takes a mount away whatever comes of its test.
pub struct Unmount<P: AsRef<Path>>(pub P);

impl<P: AsRef<Path>> Drop for Unmount<P> {
    fn drop(&mut self) {
        if is_mounted(self.0.as_ref()) {
            // It may be gone by now.
            let _ = Command::new("umount").arg("-l").arg(self.0.as_ref()).stderr(Stdio::null()).status();
        }
    }
}
