//! A file that was cut and extended again, on a file system that stores its new size before the zeros behind its old
//! end: after a replay nothing of before the cut is there.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use fs_host::HandleForm;
use stable::StableFs;
use testing::disks::{DiskKind, LoopDisk};
use vfs::{FileSystem, Handle, OpenMode, SetAttributes, Stability};

use crate::support::site::{CX, Site, at};

const CUT_AT: usize = 5000;
const EXTENDED_TO: usize = 9000;
const OLD: u8 = 0xAA;

/// How a client extends a file.
type Extend = fn(&StableFs, &Handle);

const WAYS: [(&str, Extend); 4] = [
    ("a new size", |fs, file| resize(fs, file, EXTENDED_TO)),
    ("a stable write", |fs, file| write_last_byte(fs, file, Stability::File)),
    ("COMMIT", |fs, file| write_last_byte(fs, file, Stability::Unstable)),
    ("a new size, after which it is cut in the same block", |fs, file| {
        resize(fs, file, EXTENDED_TO);
        resize(fs, file, CUT_AT + 1);
        resize(fs, file, EXTENDED_TO);
    }),
];

fn resize(fs: &StableFs, file: &Handle, size_bytes: usize) {
    let set = SetAttributes { size_bytes: Some(size_bytes as u64), ..SetAttributes::default() };
    fs.set_attributes(&CX, file, &set).unwrap();
}

fn write_last_byte(fs: &StableFs, file: &Handle, stability: Stability) {
    let open = fs.open(&CX, file, OpenMode::Write).unwrap();
    open.write_at(&CX, EXTENDED_TO as u64 - 1, &[0], stability).unwrap();
    open.sync(&CX).unwrap();
}

#[test]
fn nothing_of_before_the_cut_is_behind_the_old_end_of_an_extended_file() {
    for (way, extend) in WAYS {
        let Some(disk) = LoopDisk::new(DiskKind::BTRFS) else { return };
        let (site, path) = (Site::new(HandleForm::Auto), disk.dir().join("file"));
        fs::write(&path, [OLD; EXTENDED_TO]).unwrap();
        let (fs, _, log) = site.open_dir(disk.dir(), false).unwrap();
        let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
        resize(&fs, &file, CUT_AT);
        log.drain().unwrap();
        extend(&fs, &file);
        log.close();
        drop((fs, log));
        // What the kernel has not written yet.
        let local = File::options().write(true).open(&path).unwrap();
        local.write_all_at(&[OLD; 8192 - CUT_AT], CUT_AT as u64).unwrap();
        site.open_dir(disk.dir(), true).unwrap().2.close();
        let expected = [[OLD; CUT_AT].as_slice(), &[0; EXTENDED_TO - CUT_AT]].concat();
        assert!(fs::read(&path).unwrap() == expected, "after {way}");
    }
}
