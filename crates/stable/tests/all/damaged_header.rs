//! A log with a damaged header, or with headers that do not name the exports of its records: nothing is dropped.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use stable::{FileDevice, Options, WriteLog, WriteLogError};
use vfs::FileSystem;

use crate::support::BLOCK;
use crate::support::site::{Site, create, write};

/// The two header blocks.
const HEADERS: usize = 2 * BLOCK;

impl Site {
    /// Makes a file in the first run of the log, which the disk then loses.
    fn make_and_lose_file(&self) {
        self.change(|fs| write(fs, &create(fs, &fs.root(), "file"), b"data"));
        fs::remove_file(self.path("file")).unwrap();
    }

    fn log_bytes(&self) -> Vec<u8> {
        fs::read(self.base.path("log")).unwrap()
    }

    /// Changes the bytes of the log.
    fn damage(&self, change: impl FnOnce(&mut [u8])) {
        let mut bytes = self.log_bytes();
        change(&mut bytes);
        fs::write(self.base.path("log"), bytes).unwrap();
    }

    /// Opens the log as `wharf log` does.
    fn log(&self) -> Arc<WriteLog> {
        let device = Arc::new(FileDevice::open(&self.base.path("log")).unwrap());
        WriteLog::open(device, Options::new(self.base.path("state"))).unwrap()
    }
}

fn host(dir: &Path) -> Arc<HostFs> {
    Arc::new(HostFs::open(dir, HostOptions { sync_metadata: false, ..HostOptions::default() }).unwrap())
}

fn unnamed<T>(result: Result<T, WriteLogError>) -> bool {
    let error = result.err().expect("it is refused");
    assert!(matches!(error, WriteLogError::Unnamed { records: 1.., .. }), "{error}");
    true
}

#[test]
fn either_header_names_the_exports_from_the_first_run_on() {
    for header in [0, 1] {
        let site = Site::new(HandleForm::Auto);
        site.make_and_lose_file();
        site.damage(|log| log[header * BLOCK + 100] ^= 0xff);
        let kept = site.log().kept().unwrap();
        assert!(matches!(&kept[..], [(name, 1..)] if name == "export"), "header {header}: {kept:?}");
        if let Err(error) = site.open(true) {
            // The newer header is lost: nobody knows whether this is an older copy.
            assert!(header == 1 && matches!(error, WriteLogError::NeedsOtherLog { .. }), "header {header}: {error}");
            assert!(site.log().adopt(Path::new("export"), host(&site.base.path("export"))).unwrap() > Some(0));
            site.open(true).unwrap().2.close();
        }
        assert_eq!(fs::read(site.path("file")).unwrap(), b"data", "header {header}");
    }
}

#[test]
fn changes_of_an_export_that_the_header_does_not_name_are_refused_and_stay() {
    let site = Site::new(HandleForm::Auto);
    let created = site.log_bytes();
    site.make_and_lose_file();
    let whole = site.log_bytes();
    site.damage(|log| log[..HEADERS].copy_from_slice(&created[..HEADERS]));
    let damaged = site.log_bytes();
    // As a start, and as `wharf log replay` and `drain`, which know no export then.
    assert!(unnamed(site.open(true)) && unnamed(site.open(false)) && unnamed(site.log().start()));
    assert!(site.log_bytes() == damaged, "the log was changed");

    site.damage(|log| log.copy_from_slice(&whole));
    site.open(true).unwrap().2.close();
    assert_eq!(fs::read(site.path("file")).unwrap(), b"data");

    site.damage(|log| log.copy_from_slice(&damaged));
    let log = site.log();
    assert!(log.unnamed().unwrap() > 0);
    log.discard().unwrap();
    assert_eq!(log.unnamed().unwrap(), 0);
}

#[test]
fn changes_of_an_unnamed_export_are_not_taken_for_those_of_a_named_one() {
    let site = Site::new(HandleForm::Auto);
    site.change(|fs| create(fs, &fs.root(), "early"));
    let before = site.log_bytes();
    site.base.dir("other");
    let attach_both = || {
        let log = site.log();
        let dirs = ["export", "other"].map(|name| (name.into(), host(&site.base.path(name)) as _));
        let mut attached = log.attach_all(dirs.into())?;
        log.start()?;
        Ok((attached.remove(1).0, log))
    };
    let (other, log) = attach_both().unwrap();
    create(&other, &other.root(), "late");
    log.close();
    drop((other, log));
    site.damage(|log| log[..HEADERS].copy_from_slice(&before[..HEADERS]));
    assert!(unnamed(attach_both()));
}
