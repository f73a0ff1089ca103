//! The file system of the host on a mount. A program of its own, since opening an export takes the umask from the
//! process.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use fs_host::{HostFs, HostOptions};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};

use testing::Scratch;
use testing::program::mounting::{Unmount, can_mount};
use testing::program::{Server, wharf_ok};

/// FUSE has no files without a name here (`O_TMPFILE`), so that a new file gets its name before its verifier.
#[test]
fn exclusive_create_on_a_mount_is_known_again_by_the_next_server() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (mounted, state) = (scratch.dir("mounted"), scratch.path("state"));
    let origin = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let options = format!("mountport={}", origin.port());
    wharf_ok(&["mount", &origin.url("/mem"), mounted.to_str().unwrap(), "-o", &options]);
    let _unmount = Unmount(&mounted);
    let unnamed = rustix::fs::open(&mounted, OFlags::TMPFILE | OFlags::RDWR, Mode::RUSR);
    assert!(matches!(unnamed, Err(Errno::OPNOTSUPP)), "{unnamed:?}");
    let create = |verifier| {
        let options = HostOptions { state_dir: Some(state.clone()), ..HostOptions::default() };
        let fs = HostFs::open(&mounted, options).unwrap();
        let (place, set) = (Place { dir: fs.root(), name: Name::new(b"file").unwrap() }, SetAttributes::default());
        fs.create(&Context::ROOT, place, CreateMode::Exclusive(verifier), &set).map(|made| made.handle)
    };
    let made = create([1; 8]).unwrap();
    assert_eq!(create([1; 8]).unwrap(), made);
    assert!(matches!(create([2; 8]), Err(vfs::Error::Exists)));
}
