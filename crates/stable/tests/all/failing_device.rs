//! A log whose device fails: nothing is lost, and the log is never used again.

use std::path::Path;
use std::sync::Arc;

use fs_host::{HostFs, HostOptions};
use stable::{Options, StableFs, WriteLog};
use testing::Scratch;
use vfs::{Context, CreateMode, Error, FileSystem, Name, OpenMode, Place, SetAttributes, Stability};

use crate::breaking::Breaking;

const CX: Context<'static> = Context::ROOT;

fn place<'p>(fs: &StableFs, name: &'p str) -> Place<'p> {
    Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() }
}

fn create(fs: &StableFs, name: &str) {
    fs.create(&CX, place(fs, name), CreateMode::Guarded, &SetAttributes::default()).unwrap();
}

#[test]
fn changes_go_on_without_the_log_and_its_records_are_never_made_again() {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.path("state"));
    let device = Breaking::new(1 << 20);
    WriteLog::create(device.clone()).unwrap();
    let open = || {
        let log =
            WriteLog::open_or_begin(device.clone(), Options { always_replay: true, ..Options::new(state.clone()) })
                .unwrap();
        let host = HostOptions { state_dir: Some(state.clone()), sync_metadata: false, ..HostOptions::default() };
        let (fs, replayed) = log.attach(Path::new("export"), Arc::new(HostFs::open(&export, host).unwrap())).unwrap();
        log.start().unwrap();
        (fs, replayed, log)
    };
    let (fs, _, log) = open();
    create(&fs, "logged");
    device.set_broken(true);
    create(&fs, "while-it-breaks");
    assert!(log.has_failed());
    create(&fs, "without-the-log");
    fs.remove(&CX, place(&fs, "logged")).unwrap();
    log.drain().unwrap();
    log.close();
    drop((fs, log));
    // The device works again, and still has the record of what was removed since.
    device.set_broken(false);
    let retired = device.contents();
    drop(WriteLog::open_or_begin(device.clone(), Options::new(state.clone())).unwrap());
    assert!(device.contents() == retired, "a start that is refused changes nothing");
    let (_fs, replayed, log) = open();
    assert_eq!(replayed.records, 0);
    let mut names: Vec<_> = std::fs::read_dir(&export).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["while-it-breaks", "without-the-log"]);
    log.close();
}

#[test]
fn change_of_an_event_loop_is_not_deferred_after_it_was_made() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let device = Breaking::new(1 << 20);
    WriteLog::create(device.clone()).unwrap();
    let log = WriteLog::open(device.clone(), Options::new(scratch.path("state"))).unwrap();
    let host = HostOptions { sync_metadata: false, ..HostOptions::default() };
    let (fs, _) = log.attach(Path::new("export"), Arc::new(HostFs::open(&export, host).unwrap())).unwrap();
    log.start().unwrap();
    let entry = fs.create(&CX, place(&fs, "file"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
    let file = fs.open(&CX, &entry.handle, OpenMode::Write).unwrap();
    let on_loop = Context { may_block: false, ..CX };
    let create = || fs.create(&on_loop, place(&fs, "new"), CreateMode::Guarded, &SetAttributes::default());
    for _ in 0..10_000 {
        file.write_at(&CX, 0, &[7; 16], Stability::File).unwrap();
        // An event loop makes changes itself only while the device is quick. On a busy machine it may not be so.
        if fs.changes_wait() {
            log.drain().unwrap();
            continue;
        }
        device.set_broken(true);
        match create() {
            Err(Error::WouldBlock) => assert!(fs.lookup(&CX, place(&fs, "new")).is_err(), "it would run again"),
            made => {
                made.unwrap();
                assert!(log.has_failed());
                return log.close();
            }
        }
        device.set_broken(false);
    }
    panic!("the device was never quick");
}
