//! File systems to test on, and their files.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fs_host::{HandleForm, HostFs, HostOptions};
use vfs::{Context, CreateMode, FileSystem, Handle, Name, OpenFile, OpenMode, Place, SetAttributes, Stability};

use testing::caller::{WORKERS, memory};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A file system, and the directory behind it, if any, which is removed at the end.
pub struct Volume {
    pub fs: Arc<dyn FileSystem>,
    dir: Option<PathBuf>,
}

impl Volume {
    pub fn memory() -> Volume {
        Volume { fs: memory(), dir: None }
    }

    pub fn host() -> Volume {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("wharf-v42-{}-{number}", std::process::id()));
        std::fs::create_dir_all(dir.join("export")).unwrap();
        let options = HostOptions {
            handle_form: HandleForm::Store,
            state_dir: Some(dir.join("state")),
            workers: WORKERS,
            ..HostOptions::default()
        };
        Volume { fs: Arc::new(HostFs::open(&dir.join("export"), options).unwrap()), dir: Some(dir) }
    }

    pub fn both() -> [Volume; 2] {
        [Volume::memory(), Volume::host()]
    }

    pub fn is_host(&self) -> bool {
        self.dir.is_some()
    }

    /// Makes a file of `size_bytes`, with these bytes at these places.
    pub fn file(&self, name: &str, size_bytes: u64, parts: &[(u64, &[u8])]) -> Arc<dyn OpenFile> {
        make(&*self.fs, name, size_bytes, parts)
    }

    pub fn handle(&self, name: &str) -> Handle {
        let place = Place { dir: self.fs.root(), name: Name::new(name.as_bytes()).unwrap() };
        self.fs.lookup(&Context::ROOT, place).unwrap().handle
    }

    /// All bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let file = self.fs.open(&Context::ROOT, &self.handle(name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.attributes(&Context::ROOT).unwrap().size_bytes as usize];
        assert_eq!(file.read_at(&Context::ROOT, 0, &mut bytes).unwrap(), bytes.len());
        bytes
    }
}

fn make(fs: &dyn FileSystem, name: &str, size_bytes: u64, parts: &[(u64, &[u8])]) -> Arc<dyn OpenFile> {
    let place = Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() };
    let set = SetAttributes { size_bytes: Some(size_bytes), mode: Some(0o644), ..SetAttributes::default() };
    let entry = fs.create(&Context::ROOT, place, CreateMode::Guarded, &set).unwrap();
    let file = fs.open(&Context::ROOT, &entry.handle, OpenMode::Write).unwrap();
    for (offset, data) in parts {
        assert_eq!(file.write_at(&Context::ROOT, *offset, data, Stability::Unstable).unwrap().count, data.len());
    }
    file
}

impl Drop for Volume {
    fn drop(&mut self) {
        if let Some(dir) = &self.dir {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}
