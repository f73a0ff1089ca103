//! What the client as a file system asks of the server for what a mount is asked: the calls, by name.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use client::Version;
use vfs::{
    Context, CreateMode, Detail, Error, FileSystem, Handle, Listing, Name, NewNode, OpenMode, Place, ReadDir,
    SetAttributes, Stability,
};

use crate::remote::{Remote, VERSIONS};

const CX: Context<'static> = Context::ROOT;

/// A mount whose root was looked at, and which has made a file.
struct Bench(Remote);

impl Bench {
    fn new(version: Version) -> Bench {
        let bench = Bench(Remote::start(version));
        bench.make("before");
        bench
    }

    fn files(&self) -> &dyn FileSystem {
        &self.0.files
    }

    fn place<'a>(&self, name: &'a str) -> Place<'a> {
        Place { dir: self.files().root(), name: Name::new(name.as_bytes()).unwrap() }
    }

    /// What the kernel asks of a file that is made, written and closed; it does not know of the name.
    fn make(&self, name: &str) -> Handle {
        assert!(matches!(self.files().lookup(&CX, self.place(name)), Err(Error::NoEntry)));
        let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        let entry = self.files().create(&CX, self.place(name), CreateMode::Unchecked, &set).unwrap();
        self.write(&entry.handle);
        entry.handle
    }

    fn write(&self, file: &Handle) {
        let open = self.files().open(&CX, file, OpenMode::Write).unwrap();
        open.attributes(&CX).unwrap();
        open.write_at(&CX, 0, &[7; 4096], Stability::Unstable).unwrap();
        open.sync(&CX).unwrap();
    }

    fn read(&self, file: &Handle) {
        let open = self.files().open(&CX, file, OpenMode::Read).unwrap();
        open.attributes(&CX).unwrap();
        assert_eq!(open.read_at(&CX, 0, &mut [0; 4096]).unwrap(), 4096);
    }

    /// The calls that `work` makes.
    fn calls<T>(&self, work: impl FnOnce() -> T) -> (T, String) {
        let before = self.0.files.mount().statistics();
        let done = work();
        let since = self.0.files.mount().statistics().since(&before);
        let calls: BTreeMap<&str, u64> =
            since.procedures().map(|(procedure, counted)| (procedure.name(), counted.calls)).collect();
        let calls = calls.iter().filter(|(_, count)| **count > 0);
        let words: Vec<String> = calls.map(|(name, count)| format!("{name} {count}")).collect();
        (done, words.join(", "))
    }
}

#[test]
fn file_is_made_written_and_closed_without_a_question_between() {
    for (version, made) in
        [(Version::V3, "CREATE 1, LOOKUP 1, WRITE 1"), (Version::V4_2, "CLOSE 1, LOOKUP 1, OPEN 1, WRITE 1")]
    {
        let bench = Bench::new(version);
        let (file, calls) = bench.calls(|| bench.make("new"));
        assert_eq!(calls, made, "{version}");
        let (_, calls) = bench.calls(|| bench.files().attributes(&CX, &file).unwrap());
        assert_eq!(calls, "", "{version}");
    }
}

#[test]
fn many_files_are_made_in_one_directory_without_a_lookup_of_each() {
    for (version, made) in [
        (Version::V3, "CREATE 40, LOOKUP 7, PATHCONF 1, READDIR 1, WRITE 40"),
        (Version::V4_2, "CLOSE 40, LOOKUP 7, OPEN 40, PATHCONF 1, READDIR 1, WRITE 40"),
    ] {
        let bench = Bench::new(version);
        let make_all = || (0..40).for_each(|number| _ = bench.make(&format!("new {number}")));
        let ((), calls) = bench.calls(make_all);
        assert_eq!(calls, made, "{version}");
    }
}

#[test]
fn file_that_others_make_in_a_listed_directory_is_found_once_its_change_is_seen() {
    for version in VERSIONS {
        let bench = Bench::new(version);
        (0..40).for_each(|number| _ = bench.make(&format!("new {number}")));
        let other = bench.0.again_as(0);
        let place = Place { dir: other.root(), ..bench.place("other") };
        other.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        // Its own change shows this client that the directory was changed by somebody else, too.
        bench.0.files.create(&CX, bench.place("own"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
        assert!(bench.files().lookup(&CX, bench.place("other")).is_ok(), "{version}");
    }
}

#[test]
fn file_that_is_opened_again_is_asked_for_once_and_closed_without_a_question() {
    for (version, written, read) in [
        (Version::V3, "GETATTR 1, WRITE 1", "GETATTR 1"),
        (Version::V4_2, "CLOSE 1, OPEN 1, WRITE 1", "CLOSE 1, OPEN 1"),
    ] {
        let bench = Bench::new(version);
        let file = bench.make("new");
        let (_, calls) = bench.calls(|| bench.write(&file));
        assert_eq!(calls, written, "{version}");
        // What was written is in memory.
        let (_, calls) = bench.calls(|| bench.read(&file));
        assert_eq!(calls, read, "{version}");
    }
}

#[test]
fn names_that_are_known_cost_one_call_to_change() {
    for version in [Version::V3, Version::V4_2] {
        let bench = Bench::new(version);
        let (files, set) = (bench.files(), SetAttributes::default());
        bench.make("file");
        let (_, calls) = bench.calls(|| files.make_node(&CX, bench.place("dir"), NewNode::Directory, &set).unwrap());
        assert_eq!(calls, "MKDIR 1", "{version}");
        assert!(matches!(files.find(&CX, bench.place("other")), Err(Error::NoEntry)));
        let (_, calls) = bench.calls(|| files.rename(&CX, bench.place("file"), bench.place("other")).unwrap());
        assert_eq!(calls, "RENAME 1", "{version}");
        let (_, calls) = bench.calls(|| files.remove(&CX, bench.place("other")).unwrap());
        assert_eq!(calls, "REMOVE 1", "{version}");
        let (_, calls) = bench.calls(|| files.remove_dir(&CX, bench.place("dir")).unwrap());
        assert_eq!(calls, "RMDIR 1", "{version}");
    }
}

/// Lists the root as the kernel does: with the files at the beginning, and then names.
fn list(files: &dyn FileSystem) -> Vec<Vec<u8>> {
    let (mut names, mut after) = (Vec::new(), 0);
    loop {
        let detail = if after == 0 { Detail::Entries } else { Detail::Names };
        let listing = files.read_dir(&CX, ReadDir { dir: &files.root(), after, detail }, &mut |entry| {
            names.push(entry.name.to_vec());
            after = entry.cookie;
            ControlFlow::Continue(())
        });
        if listing.unwrap() == Listing::Complete {
            return names;
        }
    }
}

#[test]
fn everything_that_was_listed_is_removed_with_one_call_for_each_name_however_long_it_takes() {
    for version in [Version::V3, Version::V4_2] {
        let mut remote = Remote::start(version);
        let made = remote.files.clone();
        for number in 0..60 {
            let name = format!("file {number}");
            let place = Place { dir: made.root(), name: Name::new(name.as_bytes()).unwrap() };
            made.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        }
        remote.files = remote.again_as(0);
        let bench = Bench(remote);
        let (names, calls) = bench.calls(|| list(bench.files()));
        assert!(names.len() == 60 && !calls.contains("LOOKUP") && !calls.contains("READDIR "), "{version}: {calls}");
        // The files are no longer valid in the cache; their names are.
        std::thread::sleep(Duration::from_millis(3100));
        let (_, calls) = bench.calls(|| {
            for name in &names {
                let place = Place { dir: bench.files().root(), name: Name::new(name).unwrap() };
                let found = bench.files().find(&CX, place).unwrap();
                assert!(!found.is_current);
                bench.files().remove(&CX, place).unwrap();
            }
        });
        assert_eq!(calls, "REMOVE 60", "{version}");
    }
}

#[test]
fn directory_above_is_known_by_the_name_that_led_down() {
    // Version 2 does not tell what a change made of the directory, which is asked for.
    for version in VERSIONS.into_iter().filter(|version| *version != Version::V2) {
        let bench = Bench::new(version);
        let set = SetAttributes::default();
        let dir = bench.files().make_node(&CX, bench.place("dir"), NewNode::Directory, &set).unwrap();
        let (above, calls) = bench.calls(|| bench.files().parent(&CX, &dir.handle).unwrap());
        assert_eq!((above.handle, calls.as_str()), (bench.files().root(), ""), "{version}");
    }
}
