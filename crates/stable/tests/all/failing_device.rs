//! A log whose device fails: nothing is lost, and the log is never used again.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use fs_host::{HostFs, HostOptions};
use stable::{Options, StableFs, WriteLog};
use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};

use crate::breaking::Breaking;

const CX: Context<'static> = Context::ROOT;

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn create(fs: &StableFs, name: &str) {
    let place = Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() };
    fs.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
}

#[test]
fn changes_go_on_without_the_log_and_its_records_are_never_made_again() {
    let scratch = Scratch(std::env::temp_dir().join(format!("wharf-stable-breaking-{}", std::process::id())));
    let (export, state) = (scratch.0.join("export"), scratch.0.join("state"));
    fs::create_dir_all(&export).unwrap();
    let device = Breaking::new(1 << 20);
    WriteLog::create(device.clone()).unwrap();
    let open = || {
        let log =
            WriteLog::open(device.clone(), Options { always_replay: true, ..Options::new(state.clone()) }).unwrap();
        let host = HostOptions { state_dir: Some(state.clone()), sync_metadata: false, ..HostOptions::default() };
        let (fs, replayed) = log.attach("export", Arc::new(HostFs::open(&export, host).unwrap())).unwrap();
        log.start().unwrap();
        (fs, replayed, log)
    };
    let (fs, _, log) = open();
    create(&fs, "logged");
    device.set_broken(true);
    create(&fs, "while-it-breaks");
    assert!(log.has_failed());
    create(&fs, "without-the-log");
    fs.remove(&CX, Place { dir: fs.root(), name: Name::new(b"logged").unwrap() }).unwrap();
    log.drain().unwrap();
    log.close();
    drop((fs, log));
    // The device works again, and still has the record of what was removed since.
    device.set_broken(false);
    let (_fs, replayed, log) = open();
    assert_eq!(replayed.records, 0);
    let mut names: Vec<_> = fs::read_dir(&export).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["while-it-breaks", "without-the-log"]);
    log.close();
}
