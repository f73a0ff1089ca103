//! A program of its own, since the umask belongs to the process.

#![allow(missing_docs)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use own_files::OwnDir;
use testing::Scratch;

#[test]
fn files_and_directories_are_private_whatever_the_umask_is() {
    let scratch = Scratch::new();
    for umask in [0o000, 0o077, 0o277] {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        let dir = OwnDir::create(&scratch.path(&format!("state-{umask:o}"))).unwrap();
        dir.file("made").unwrap();
        dir.replace("replaced", b"text").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let modes = [dir.path().to_owned(), dir.path().join("made"), dir.path().join("replaced")].map(mode);
        assert_eq!(modes, [0o700, 0o600, 0o600], "umask {umask:03o}");
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
}
