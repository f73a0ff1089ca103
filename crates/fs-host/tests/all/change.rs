//! The change attribute moves with every change that somebody looks at.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};

use vfs::{FileSystem, Handle, OpenMode, SetAttributes, Stability};
use wharf_fs_host::{HandleForm, HostFs};

use testing::host_export::*;

/// How many changes are made as fast as they go: many of them within one tick of the kernel's clock.
const CHANGES: u32 = 1000;

/// The first Linux that gives a change its own time when the time before was looked at.
const FINE_TIMES_SINCE: (u32, u32) = (6, 13);

fn has_fine_times() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut parts = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(FINE_TIMES_SINCE.0), Some(FINE_TIMES_SINCE.1))
}

/// Makes changes and looks at the attribute of `node` behind each: it must never be the same twice.
fn check(fs: &HostFs, node: &Handle, what: &str, mut change: impl FnMut(u32)) {
    let mut seen = HashSet::new();
    for number in 0..CHANGES {
        change(number);
        assert!(seen.insert(fs.attributes(&CX, node).unwrap().change), "change {number} of {what} does not show");
    }
}

fn check_all(export: &Export) {
    let fs = export.open(HandleForm::Store);
    let file = touch(&fs, "file");
    let opened = fs.open(&CX, &file.handle, OpenMode::Write).unwrap();
    let byte = |number: u32| [(number % 2) as u8];
    check(&fs, &file.handle, "data by a client", |number| {
        opened.write_at(&CX, 0, &byte(number), Stability::Unstable).unwrap();
    });
    check(&fs, &file.handle, "the mode by a client", |number| {
        let set = SetAttributes { mode: Some(0o600 | (number % 2)), ..SetAttributes::default() };
        fs.set_attributes(&CX, &file.handle, &set).unwrap();
    });
    let path = export.path().join("file");
    let local = File::options().write(true).open(&path).unwrap();
    check(&fs, &file.handle, "data by a local process", |number| local.write_all_at(&byte(number), 0).unwrap());
    check(&fs, &file.handle, "the mode by a local process", |number| {
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600 | (number % 2))).unwrap();
    });
    let names = [export.path().join("a"), export.path().join("b")];
    fs::write(&names[0], b"").unwrap();
    check(&fs, &fs.root(), "names by a local process", |number| {
        let [from, to] = [number % 2, (number + 1) % 2].map(|index| &names[index as usize]);
        fs::rename(from, to).unwrap();
    });
}

#[test]
fn each_of_a_thousand_quick_changes_that_is_looked_at_shows() {
    if !has_fine_times() {
        eprintln!("skipped: before Linux 6.13 two changes within one tick may carry the same time");
        return;
    }
    check_all(&Export::on_disk());
    check_all(&Export::in_memory());
}
