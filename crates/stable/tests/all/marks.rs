//! A log that is missing, old, another one, or left out: acknowledged changes are neither forgotten nor put over newer
//! ones.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use stable::{FileDevice, Options, WriteLog, WriteLogError, check_unlogged, exports_of_log, give_up_log};
use vfs::{FileSystem, SetXattr, XattrMode, XattrName};

use crate::support::site::{CX, Site, create, write};

impl Site {
    fn host(&self, dir: &str) -> Arc<HostFs> {
        let options = HostOptions { sync_metadata: false, ..HostOptions::default() };
        Arc::new(HostFs::open(&self.base.path(dir), options).unwrap())
    }

    /// Makes a file, and stops the server without bringing it to storage.
    fn write(&self, name: &str) {
        self.change(|fs| write(fs, &create(fs, &fs.root(), name), b"data"));
    }

    fn copy_log(&self) -> Vec<u8> {
        fs::read(self.base.path("log")).unwrap()
    }

    fn put_log_back(&self, copy: &[u8]) {
        fs::write(self.base.path("log"), copy).unwrap();
    }

    fn adopt(&self) -> Result<Option<u64>, WriteLogError> {
        let device = Arc::new(FileDevice::open(&self.base.path("log")).unwrap());
        WriteLog::open(device, Options::new(self.base.path("state")))?.adopt(Path::new("export"), self.host("export"))
    }

    /// Serves the directory without a log, with this state directory.
    fn check_unlogged(&self, state: &str) -> Result<(), WriteLogError> {
        check_unlogged(Path::new("export"), &*self.host("export"), Some(&self.base.path(state)))
    }

    /// A start and a clean end of the server.
    fn drain(&self) {
        let (_, _, log) = self.open(false).unwrap();
        log.drain().unwrap();
        log.close();
    }

    /// Whether the file system keeps marks.
    fn keeps_marks(&self) -> bool {
        let keeps = self.host("export").log_marks(&[]).unwrap()[0].stored.is_some();
        if !keeps {
            println!("skipped: the file system of the temporary directory has no extended attributes");
        }
        keeps
    }
}

fn refused<T>(result: Result<T, WriteLogError>) -> WriteLogError {
    result.err().expect("it is refused")
}

#[test]
fn old_copy_of_the_log_is_refused_until_it_is_adopted() {
    let site = Site::new(HandleForm::Auto);
    site.write("first");
    let copy = site.copy_log();
    site.write("second");
    site.put_log_back(&copy);
    let error = refused(site.open(false));
    assert!(matches!(error, WriteLogError::NeedsOtherLog { .. }), "{error}");
    assert!(site.adopt().unwrap() > Some(0));
    let (_, replayed, log) = site.open(false).unwrap();
    assert!(replayed.compared, "the memory of the machine says nothing about an old copy");
    log.close();
}

#[test]
fn copy_that_was_made_before_a_trim_is_refused_after_a_kill() {
    let site = Site::new(HandleForm::Auto);
    let (fs, _, log) = site.open(false).unwrap();
    create(&fs, &fs.root(), "first");
    let copy = site.copy_log();
    log.drain().unwrap();
    create(&fs, &fs.root(), "second");
    // The server ends without a drain, as when it is killed.
    log.close();
    drop((fs, log));
    site.put_log_back(&copy);
    let error = refused(site.open(false));
    assert!(matches!(error, WriteLogError::NeedsOtherLog { .. }), "{error}");
}

#[test]
fn copy_that_was_made_between_two_trims_is_refused() {
    let site = Site::new(HandleForm::Auto);
    let (fs, _, log) = site.open(false).unwrap();
    log.trim_in_background().unwrap();
    create(&fs, &fs.root(), "first");
    let copy = site.copy_log();
    let kept = || fs::read(site.base.path("state/write-log-generation")).unwrap();
    let before = kept();
    create(&fs, &fs.root(), "second");
    while kept() == before {
        std::thread::yield_now();
    }
    log.close();
    drop((fs, log));
    let newest = site.copy_log();
    site.put_log_back(&copy);
    let error = refused(site.open(false));
    assert!(matches!(error, WriteLogError::NeedsOtherLog { .. }), "{error}");
    site.put_log_back(&newest);
    site.open(false).unwrap().2.close();
}

/// The copy of the log has no records, though there were some when the server was killed.
#[test]
fn log_is_refused_without_its_generation_until_it_is_adopted() {
    let site = Site::new(HandleForm::Auto);
    let (state, kept) = (site.base.path("state"), site.base.path("kept"));
    for damage in ["the file is missing", "the file is damaged", "the directory is missing"] {
        let (fs, _, log) = site.open(false).unwrap();
        create(&fs, &fs.root(), damage);
        log.drain().unwrap();
        let copy = site.copy_log();
        create(&fs, &fs.root(), &format!("{damage}, later"));
        log.close();
        drop((fs, log));
        site.put_log_back(&copy);
        match damage {
            "the file is missing" => fs::remove_file(state.join("write-log-generation")).unwrap(),
            "the file is damaged" => fs::write(state.join("write-log-generation"), [b'x'; 64]).unwrap(),
            _ if !site.keeps_marks() => return,
            _ => fs::rename(&state, &kept).unwrap(),
        }
        let error = refused(site.open(false));
        let said = error.to_string();
        assert!(matches!(error, WriteLogError::StateFile(_)), "{damage}: {said}");
        for part in ["state/write-log-generation", "/log may be an old copy", "wharf log adopt"] {
            assert!(said.contains(part), "{damage}: {said}");
        }
        assert_eq!(site.adopt().unwrap(), Some(0), "{damage}");
    }
    site.open(false).unwrap().2.close();
}

#[test]
fn copy_that_was_made_before_a_clean_end_does_not_replace_newer_data() {
    let site = Site::new(HandleForm::Auto);
    site.write("file");
    let copy = site.copy_log();
    site.drain();
    fs::write(site.path("file"), "newer").unwrap();
    site.put_log_back(&copy);
    for always_replay in [false, true] {
        let error = refused(site.open(always_replay));
        assert!(matches!(error, WriteLogError::NotOfExport { records: 1.., .. }), "{error}");
    }
    assert_eq!(fs::read(site.path("file")).unwrap(), b"newer");
}

#[test]
fn new_log_in_the_place_of_a_lost_one_is_refused() {
    let site = Site::new(HandleForm::Auto);
    site.write("file");
    let (log, state) = (site.base.path("log"), site.base.path("state"));
    assert_eq!(exports_of_log(&log, &state).unwrap(), [Path::new("export")]);
    fs::remove_file(&log).unwrap();
    WriteLog::create(Arc::new(FileDevice::create(&log, 4 << 20).unwrap())).unwrap();
    let error = refused(site.open(false));
    assert!(matches!(&error, WriteLogError::BlankLog { site, .. } if site.path == log), "{error}");
    assert!(give_up_log(Path::new("export"), Some(&*site.host("export")), &state).unwrap());
    assert!(exports_of_log(&log, &state).unwrap().is_empty());
    site.open(false).unwrap().2.close();
}

#[test]
fn start_without_the_log_is_refused_while_it_is_needed() {
    let site = Site::new(HandleForm::Auto);
    site.check_unlogged("state").unwrap();
    site.write("file");
    let error = refused(site.check_unlogged("state"));
    assert!(matches!(error, WriteLogError::NeedsLog { .. }), "{error}");
    let copy = site.copy_log();
    site.drain();
    site.check_unlogged("state").unwrap();
    // Served again without it, and with a copy of the log from before the end.
    site.put_log_back(&copy);
    refused(site.open(false));
}

#[test]
fn log_whose_changes_were_given_up_is_refused_when_it_comes_back() {
    let site = Site::new(HandleForm::Auto);
    site.write("file");
    let state = site.base.path("state");
    assert!(give_up_log(Path::new("export"), Some(&*site.host("export")), &state).unwrap());
    assert!(!give_up_log(Path::new("export"), Some(&*site.host("export")), &state).unwrap());
    site.check_unlogged("state").unwrap();
    let error = refused(site.open(false));
    assert!(matches!(error, WriteLogError::NotOfExport { .. }), "{error}");
}

#[test]
fn export_says_itself_that_it_needs_a_log_and_a_copy_of_it_does_not() {
    let site = Site::new(HandleForm::Auto);
    site.write("file");
    if !site.keeps_marks() {
        return;
    }
    let error = refused(site.check_unlogged("another-state"));
    assert!(matches!(error, WriteLogError::NeedsLog { .. }), "{error}");
    let copy = site.base.path("copy");
    let copied = Command::new("cp").arg("-a").args([&site.base.path("export"), &copy]).status().unwrap();
    assert!(copied.success());
    check_unlogged(Path::new("export"), &*site.host("copy"), None).unwrap();
}

#[test]
fn mark_of_the_export_is_believed_before_the_state_directory() {
    let site = Site::new(HandleForm::Auto);
    site.write("file");
    if !site.keeps_marks() {
        return;
    }
    let fs = site.host("export");
    // Another server has used the export with another log, and has ended.
    let text = String::from_utf8(fs.log_marks(&[]).unwrap()[0].stored.clone().unwrap().text).unwrap();
    let words: Vec<&str> = text.split(' ').collect();
    fs.set_log_mark(["released", "0123", "1", words[3], words[4], words[5]].join(" ").as_bytes()).unwrap();
    let error = refused(site.open(false));
    assert!(matches!(error, WriteLogError::NotOfExport { .. }), "{error}");
}

#[test]
fn clients_neither_see_nor_change_the_mark() {
    let site = Site::new(HandleForm::Auto);
    let (fs, _, log) = site.open(false).unwrap();
    let (root, name) = (fs.root(), XattrName::new(b"wharf.write-log").unwrap());
    assert!(!fs.list_xattrs(&CX, &root).unwrap().iter().any(|name| name.starts_with(b"wharf")));
    assert_eq!(fs.get_xattr(&CX, &root, name).unwrap(), None);
    let set = SetXattr { name, value: b"released", mode: XattrMode::Either };
    assert!(fs.set_xattr(&CX, &root, &set).is_err());
    assert!(fs.remove_xattr(&CX, &root, name).is_err());
    log.close();
}
