//! What the tests of this crate share: directories that clean up after themselves, and short ways to call.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fs_host::{HandleForm, HostFs, HostOptions, OpenError};
use vfs::{
    Caller, Context, CreateMode, Detail, Entry, FileSystem, Handle, Listing, Name, OpenMode, Place, ReadDir,
    SetAttributes, Stability,
};

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// About how long a process takes from its fork to its exec.
const FORK_TIME: Duration = Duration::from_millis(5);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory that is removed at the end, and beside it one for the server's state.
pub struct Export {
    base: PathBuf,
}

impl Export {
    /// Below the directory for temporary files, which is on a disk file system where that is known.
    pub fn on_disk() -> Export {
        Export::below(&std::env::temp_dir())
    }

    /// In memory.
    pub fn in_memory() -> Export {
        Export::below(Path::new("/dev/shm"))
    }

    fn below(place: &Path) -> Export {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = place.join(format!("fs-host-{}-{number}", std::process::id()));
        std::fs::create_dir_all(base.join("export")).unwrap();
        Export { base }
    }

    pub fn path(&self) -> PathBuf {
        self.base.join("export")
    }

    pub fn state(&self) -> PathBuf {
        self.base.join("state")
    }

    pub fn outside(&self) -> PathBuf {
        self.base.clone()
    }

    pub fn options(&self, handle_form: HandleForm) -> HostOptions {
        HostOptions { handle_form, state_dir: Some(self.state()), workers: 2, ..HostOptions::default() }
    }

    /// Opens the export, also right after it was closed. A program that another test starts has copies of this
    /// process's descriptors between its fork and its exec, and with them the lock of the state.
    pub fn open(&self, form: HandleForm) -> HostFs {
        let began = Instant::now();
        loop {
            match HostFs::open(&self.path(), self.options(form)) {
                Err(OpenError::StateInUse { .. }) if began.elapsed() < PATIENCE => thread::sleep(FORK_TIME),
                opened => return opened.unwrap(),
            }
        }
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        let _ = fs_host::act_as_server();
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// The forms that work here. Kernel handles need root; without it that half is skipped and says so.
pub fn forms() -> Vec<HandleForm> {
    if is_root() {
        vec![HandleForm::Kernel, HandleForm::Store]
    } else {
        eprintln!("skipped for kernel handles: they need root");
        vec![HandleForm::Store]
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub const CX: Context<'static> = Context::ROOT;

pub fn cx_of<'a>(uid: u32, gid: u32, groups: &'a [u32]) -> Context<'a> {
    Context { caller: Caller { uid, gid, groups }, ..Context::ROOT }
}

pub fn at<'a>(dir: &Handle, name: &'a str) -> Place<'a> {
    at_bytes(dir, name.as_bytes())
}

pub fn at_bytes<'a>(dir: &Handle, name: &'a [u8]) -> Place<'a> {
    Place { dir: *dir, name: Name::new(name).unwrap() }
}

pub fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

/// Makes an empty file in the exported directory.
pub fn touch(fs: &HostFs, name: &str) -> Entry {
    fs.create(&CX, at(&fs.root(), name), CreateMode::Guarded, &SetAttributes::default()).unwrap()
}

pub fn write(fs: &HostFs, handle: &Handle, data: &[u8]) {
    let file = fs.open(&CX, handle, OpenMode::Write).unwrap();
    let written = file.write_at(&CX, 0, data, Stability::Unstable).unwrap();
    assert_eq!(written.count, data.len());
}

pub fn read(fs: &HostFs, handle: &Handle) -> Vec<u8> {
    let file = fs.open(&CX, handle, OpenMode::Read).unwrap();
    let mut bytes = vec![0; 65_536];
    let count = file.read_at(&CX, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

/// One entry of a listing, kept.
#[derive(Debug, Clone)]
pub struct Listed {
    pub name: Vec<u8>,
    pub cookie: u64,
    pub entry: Option<Entry>,
}

/// Up to `most` entries after `cookie`.
pub fn list_part(fs: &HostFs, dir: &Handle, after: u64, most: usize) -> (Vec<Listed>, Listing) {
    let mut found = Vec::new();
    let list = ReadDir { dir, after, detail: Detail::Entries };
    let listing = fs
        .read_dir(&CX, list, &mut |entry| {
            found.push(Listed { name: entry.name.to_vec(), cookie: entry.cookie, entry: entry.entry });
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    (found, listing)
}

/// Everything, in one go.
pub fn list_all(fs: &HostFs, dir: &Handle) -> Vec<Listed> {
    let (found, listing) = list_part(fs, dir, 0, usize::MAX);
    assert_eq!(listing, Listing::Complete);
    found
}
