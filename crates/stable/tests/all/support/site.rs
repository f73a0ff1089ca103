//! A host directory with a write log, of which a test takes changes away as a power failure does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use fs_host::{HandleForm, HostFs, HostOptions};
use stable::{FileDevice, Options, Replayed, StableFs, WriteLog, WriteLogError};
use testing::{Rebooted, Scratch};
use vfs::{Context, CreateMode, FileSystem, Handle, Name, OpenMode, Place, SetAttributes, Stability};

pub const CX: Context<'static> = Context::ROOT;
const LOG_BYTES: u64 = 4 << 20;

/// A directory to export, and beside it the state and the log.
pub struct Site {
    pub base: Scratch,
    form: HandleForm,
    /// When the machine started again, if it did.
    pub rebooted: Option<SystemTime>,
}

impl Site {
    pub fn new(form: HandleForm) -> Site {
        let base = Scratch::new();
        base.dir("export");
        WriteLog::create(Arc::new(FileDevice::create(&base.path("log"), LOG_BYTES).unwrap())).unwrap();
        Site { base, form, rebooted: None }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path("export").join(name)
    }

    pub fn open(&self, always_replay: bool) -> Result<(StableFs, Replayed, Arc<WriteLog>), WriteLogError> {
        self.open_dir(&self.base.path("export"), always_replay)
    }

    pub fn open_dir(
        &self,
        dir: &Path,
        always_replay: bool,
    ) -> Result<(StableFs, Replayed, Arc<WriteLog>), WriteLogError> {
        self.attach(dir, always_replay, |inner| match self.rebooted {
            Some(at) => Arc::new(Rebooted { inner, at }),
            None => inner,
        })
    }

    /// Opens a directory with something in front of it.
    pub fn attach(
        &self,
        dir: &Path,
        always_replay: bool,
        wrap: impl FnOnce(Arc<dyn FileSystem>) -> Arc<dyn FileSystem>,
    ) -> Result<(StableFs, Replayed, Arc<WriteLog>), WriteLogError> {
        let state_dir = self.base.path("state");
        let options = Options { always_replay, ..Options::new(state_dir.clone()) };
        let log = WriteLog::open(Arc::new(FileDevice::open(&self.base.path("log"))?), options)?;
        let host = HostOptions {
            handle_form: self.form,
            state_dir: Some(state_dir),
            sync_metadata: false,
            ..HostOptions::default()
        };
        let (fs, replayed) = log.attach(Path::new("export"), wrap(Arc::new(HostFs::open(dir, host).unwrap())))?;
        log.start()?;
        Ok((fs, replayed, log))
    }

    /// Makes changes by way of the log, and stops without bringing them to storage.
    pub fn change<T>(&self, changes: impl FnOnce(&StableFs) -> T) -> T {
        let (fs, _, log) = self.open(false).unwrap();
        let done = changes(&fs);
        log.close();
        done
    }
}

pub fn at<'n>(dir: &Handle, name: &'n str) -> Place<'n> {
    Place { dir: *dir, name: Name::new(name.as_bytes()).unwrap() }
}

pub fn create(fs: &StableFs, dir: &Handle, name: &str) -> Handle {
    fs.create(&CX, at(dir, name), CreateMode::Guarded, &SetAttributes::default()).unwrap().handle
}

pub fn write(fs: &StableFs, file: &Handle, data: &[u8]) {
    fs.open(&CX, file, OpenMode::Write).unwrap().write_at(&CX, 0, data, Stability::File).unwrap();
}

pub fn read(fs: &StableFs, file: &Handle) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let count = fs.open(&CX, file, OpenMode::Read).unwrap().read_at(&CX, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}
