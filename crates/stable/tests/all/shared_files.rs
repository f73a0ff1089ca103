//! Files with names in two exports: a replay makes their changes in the order in which they were made, and knows of
//! flushes through either.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use stable::{FileDevice, Options, StableFs, WriteLog};
use testing::Scratch;
use vfs::{Caller, Context, FileSystem, Handle, OpenMode, SetAttributes, Stability};

use crate::host::forms;
use crate::support::site::{CX, at, read, write};

const USER: Context<'static> = Context { caller: Caller { uid: 1000, gid: 1000, groups: &[] }, ..Context::ROOT };
const EXPORTS: [&str; 2] = ["first", "second"];

/// Two directories that are exported, with a file in both.
struct Site {
    base: Scratch,
    form: HandleForm,
}

/// An export, and its handle of the file.
struct Served {
    fs: StableFs,
    file: Handle,
}

impl Site {
    fn new(form: HandleForm) -> Site {
        let base = Scratch::new();
        EXPORTS.iter().for_each(|name| drop(base.dir(name)));
        WriteLog::create(Arc::new(FileDevice::create(&base.path("log"), 1 << 20).unwrap())).unwrap();
        let site = Site { base, form };
        fs::write(site.path(), "older").unwrap();
        fs::hard_link(site.path(), site.base.path("second/file")).unwrap();
        site
    }

    fn path(&self) -> PathBuf {
        self.base.path("first/file")
    }

    fn open(&self) -> (Arc<WriteLog>, [Served; 2]) {
        let state_dir = self.base.path("state");
        let options = Options { always_replay: true, ..Options::new(state_dir.clone()) };
        let log = WriteLog::open(Arc::new(FileDevice::open(&self.base.path("log")).unwrap()), options).unwrap();
        let host = |name: &&str| {
            let state_dir = Some(state_dir.clone());
            let options =
                HostOptions { handle_form: self.form, state_dir, sync_metadata: false, ..HostOptions::default() };
            (
                PathBuf::from(name),
                Arc::new(HostFs::open(&self.base.path(name), options).unwrap()) as Arc<dyn FileSystem>,
            )
        };
        let attached = log.attach_all(EXPORTS.iter().map(host).collect()).unwrap();
        log.start().unwrap();
        let served = attached.into_iter().map(|(fs, _)| {
            let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
            Served { fs, file }
        });
        let served: Vec<_> = served.collect();
        (log, served.try_into().unwrap_or_else(|_| panic!("two exports")))
    }

    /// Makes changes through both exports, loses what `lose` takes, and replays the log.
    fn replay(&self, change: impl FnOnce(&Served, &Served), lose: impl FnOnce()) -> Served {
        let (log, [first, second]) = self.open();
        change(&first, &second);
        log.close();
        drop((first, second, log));
        lose();
        let (log, [first, _]) = self.open();
        log.close();
        first
    }
}

fn set_mode(Served { fs, file }: &Served, mode: u32) {
    fs.set_attributes(&CX, file, &SetAttributes { mode: Some(mode), ..SetAttributes::default() }).unwrap();
}

fn mode(Served { fs, file }: &Served) -> u32 {
    fs.attributes(&CX, file).unwrap().mode
}

#[test]
fn changes_through_two_exports_are_replayed_in_the_order_in_which_they_were_made() {
    for form in forms() {
        for is_first_newer in [true, false] {
            let site = Site::new(form);
            let change = |first: &Served, second: &Served| {
                let (older, newer) = if is_first_newer { (second, first) } else { (first, second) };
                write(&older.fs, &older.file, b"v1");
                set_mode(older, 0o600);
                write(&newer.fs, &newer.file, b"v2");
                set_mode(newer, 0o640);
            };
            let lose = || {
                fs::write(site.path(), "older").unwrap();
                fs::set_permissions(site.path(), Permissions::from_mode(0o644)).unwrap();
            };
            let first = site.replay(change, lose);
            assert_eq!(read(&first.fs, &first.file), b"v2der", "{form:?}, {is_first_newer}");
            assert_eq!(mode(&first), 0o640, "{form:?}, {is_first_newer}");
        }
    }
}

#[test]
fn flush_through_one_export_makes_older_records_of_the_other_obsolete() {
    // Without handles of the kernel, each export has its own.
    for form in forms().into_iter().filter(|form| *form == HandleForm::Kernel) {
        let site = Site::new(form);
        let change = |first: &Served, second: &Served| {
            write(&first.fs, &first.file, b"v1");
            set_mode(first, 0o4777);
            let open = second.fs.open(&USER, &second.file, OpenMode::Write).unwrap();
            open.write_at(&USER, 0, &vec![b'u'; 200_000], Stability::Unstable).unwrap();
            open.sync(&USER).unwrap();
        };
        let first = site.replay(change, || {});
        assert_eq!(read(&first.fs, &first.file), [b'u'; 100]);
        assert_eq!(mode(&first), 0o777);
    }
}

#[test]
fn users_write_through_one_export_clears_set_id_bits_that_the_other_has_set() {
    for form in forms().into_iter().filter(|_| rustix::process::geteuid().is_root()) {
        let site = Site::new(form);
        let change = |first: &Served, second: &Served| {
            set_mode(first, 0o4777);
            let open = second.fs.open(&USER, &second.file, OpenMode::Write).unwrap();
            open.write_at(&USER, 0, b"user's", Stability::File).unwrap();
        };
        let first = site.replay(change, || {});
        assert_eq!((read(&first.fs, &first.file), mode(&first)), (b"user's".to_vec(), 0o777), "{form:?}");
    }
}
