//! The client as a file system, over every version, against the real server.

use std::sync::Arc;

use client::Version;
use fs_fault::{Fault, FaultFs, FaultPlan, InjectedError, Operation, Rule, When};
use fs_mem::{MemFs, MemOptions};
use vfs::{
    Context, CreateMode, Detail, Entry, Error, FileSystem, Handle, Name, OpenMode, Place, SetAttributes, SetTime,
    Stability, Timestamp,
};

use crate::real::Export;
use crate::remote::script::{Script, list};
use crate::remote::{Remote, VERSIONS};

const CX: Context<'static> = Context::ROOT;
/// The seeds of the random scripts; one that found a fault stays here.
const SEEDS: [u64; 3] = [1, 2, 107];
const STEPS: usize = 400;

fn place(dir: Handle, name: &str) -> Place<'_> {
    Place { dir, name: Name::new(name.as_bytes()).unwrap() }
}

fn create(files: &dyn FileSystem, name: &str, mode: u32) -> Entry {
    let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    files.create(&CX, place(files.root(), name), CreateMode::Guarded, &set).unwrap()
}

fn names(files: &dyn FileSystem) -> Vec<String> {
    let names = list(files, &files.root(), Detail::Names).unwrap();
    names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
}

#[test]
fn random_script_tells_and_refuses_what_memory_does_in_every_version() {
    for version in VERSIONS {
        for seed in SEEDS {
            let remote = Remote::start(version);
            let model = MemFs::new(MemOptions { root_mode: 0o755, ..MemOptions::default() });
            Script::new(&model, &remote.files, seed).run(STEPS, &format!("{version}, seed {seed}"));
        }
    }
}

#[test]
fn file_that_is_removed_while_it_is_open_stays_until_it_is_closed() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        let entry = create(files, "file", 0o644);
        let open = files.open(&CX, &entry.handle, OpenMode::Write).unwrap();
        open.write_at(&CX, 0, b"still here", Stability::Unstable).unwrap();
        files.remove(&CX, place(files.root(), "file")).unwrap();
        assert!(matches!(files.lookup(&CX, place(files.root(), "file")), Err(Error::NoEntry)));
        assert!(names(files).iter().all(|name| name.starts_with(".nfs")), "{version}");
        // The hidden name is not counted.
        assert_eq!(open.attributes(&CX).unwrap().links, 0, "{version}");
        let mut buffer = [0; 20];
        assert_eq!(open.read_at(&CX, 0, &mut buffer).unwrap(), 10);
        assert_eq!(&buffer[..10], b"still here");
        drop(open);
        assert!(names(files).is_empty(), "{version}: {:?}", names(files));
    }
}

#[test]
fn file_that_is_replaced_while_it_is_open_stays_until_it_is_closed() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        let (old, new) = (create(files, "old", 0o644), create(files, "new", 0o644));
        let open = files.open(&CX, &old.handle, OpenMode::Write).unwrap();
        open.write_at(&CX, 0, b"old", Stability::Unstable).unwrap();
        files.rename(&CX, place(files.root(), "new"), place(files.root(), "old")).unwrap();
        assert_eq!(files.lookup(&CX, place(files.root(), "old")).unwrap().handle, new.handle);
        assert_eq!(open.read_at(&CX, 0, &mut [0; 3]).unwrap(), 3, "{version}");
        drop(open);
        assert_eq!(names(files), ["old"], "{version}");
    }
}

#[test]
fn hidden_name_that_cannot_be_removed_at_the_last_close_is_removed_later() {
    for version in VERSIONS {
        let memory = MemFs::new(MemOptions { root_mode: 0o755, ..MemOptions::default() });
        let first = Rule::new(Operation::Remove, Fault::Error(InjectedError::Io)).when(When::Nth(1));
        let faulty = FaultFs::new(Arc::new(memory), FaultPlan::new(vec![first]));
        let remote = Remote::of(version, Export::of(Arc::new(faulty)));
        let files = &remote.files;
        let entry = create(files, "file", 0o644);
        let open = files.open(&CX, &entry.handle, OpenMode::Read).unwrap();
        files.remove(&CX, place(files.root(), "file")).unwrap();
        drop(open);
        let others = remote.again_as(0);
        testing::wait_until("the hidden name is removed", || {
            others.mount().outdate(&others.mount().root().handle);
            names(&others).is_empty()
        });
    }
}

#[test]
fn file_that_is_not_open_leaves_no_hidden_name() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        create(files, "one", 0o644);
        create(files, "other", 0o644);
        files.rename(&CX, place(files.root(), "one"), place(files.root(), "other")).unwrap();
        files.remove(&CX, place(files.root(), "other")).unwrap();
        assert!(names(files).is_empty(), "{version}");
    }
}

#[test]
fn file_that_its_owner_may_not_write_is_written_by_who_made_it() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let set = SetAttributes { mode: Some(0o777), ..SetAttributes::default() };
        remote.files.set_attributes(&CX, &remote.files.root(), &set).unwrap();
        let files = remote.again_as(1000);
        let entry = create(&files, "object", 0o444);
        let open = files.open(&CX, &entry.handle, OpenMode::Write).unwrap();
        assert_eq!(open.write_at(&CX, 0, b"data", Stability::File).unwrap().count, 4, "{version}");
    }
}

#[test]
fn call_on_a_thread_of_the_runtime_is_refused_instead_of_waiting_for_ever() {
    let remote = Remote::start(VERSIONS[1]);
    let files = remote.files.clone();
    let refused = remote.runtime.block_on(async move { files.attributes(&CX, &files.root()) });
    assert!(refused.unwrap_err().to_string().contains("call it on a thread that may wait"));
}

/// 1960, 2040, the last second of NFSv2 and NFSv3, and 2300.
const YEARS: [i64; 4] = [-315_619_200, 2_208_988_800, u32::MAX as i64, 10_413_792_000];

#[test]
fn times_are_stored_as_they_are_or_as_the_nearest_that_the_version_has() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let file = create(&remote.files, "file", 0o644).handle;
        for seconds in YEARS {
            let time = Some(SetTime::To(Timestamp { seconds, nanoseconds: 0 }));
            let set = SetAttributes { accessed: time, modified: time, ..SetAttributes::default() };
            remote.files.set_attributes(&CX, &file, &set).unwrap();
            let nearest = match version {
                // All ones mean "leave it" (RFC 1094 §2.3.6).
                Version::V2 => seconds.clamp(0, i64::from(u32::MAX) - 1),
                Version::V3 => seconds.clamp(0, u32::MAX.into()),
                _ => seconds,
            };
            let found = remote.files.attributes(&CX, &file).unwrap();
            assert_eq!((found.modified.seconds, found.accessed.seconds), (nearest, nearest), "{version}");
        }
    }
}
