//! A disk that serves one request at a time, as slowly as it is told: a file in a file system of its own. Mounted, with
//! a loop device over the file, it is a block device whose speed is the same on every machine.

mod model;
mod volume;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use vfs::{
    Attributes, Context, EachEntry, Entry, Error, FileKind, FileSystem, Handle, Listing, OpenFile, OpenMode, Place,
    ReadDir, Result, SetAttributes, Stability, Written,
};

use self::model::{Access, Mechanics};
use crate::sys;
pub use model::Model;
pub(crate) use volume::DiskVolume;

/// The name of the file.
const NAME: &str = "disk";
const ROOT: u64 = 1;
const FILE: u64 = 2;

/// A file system with one file, which is the disk.
#[derive(Debug)]
pub struct DiskFs {
    file: Arc<DiskFile>,
}

#[derive(Debug)]
struct DiskFile {
    size_bytes: u64,
    started: Instant,
    disk: Mutex<Disk>,
}

#[derive(Debug)]
struct Disk {
    mechanics: Mechanics,
    content: Vec<u8>,
}

/// Has this thread, and those that it starts, wake on time where that is permitted: a request takes the disk's time,
/// not the scheduler's.
pub fn wake_on_time() {
    let _ = sys::run_first();
}

impl DiskFs {
    /// An empty disk, whose content is in memory.
    pub fn new(model: Model, size_bytes: usize) -> DiskFs {
        let disk = Mutex::new(Disk { mechanics: Mechanics::new(model), content: vec![0; size_bytes] });
        DiskFs { file: Arc::new(DiskFile { size_bytes: size_bytes as u64, started: Instant::now(), disk }) }
    }
}

impl DiskFile {
    fn attributes(&self) -> Attributes {
        Attributes { mode: 0o600, size_bytes: self.size_bytes, ..Attributes::new(FileKind::Regular, FILE) }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves data between the disk and whoever asks, and returns when the disk has served that.
    fn serve(&self, access: Access, offset_bytes: u64, bytes: usize, transfer: impl FnOnce(&mut [u8])) -> Result<()> {
        let begin = usize::try_from(offset_bytes).map_err(|_| Error::Invalid)?;
        let mut disk = self.disk();
        let end = begin.checked_add(bytes).filter(|end| *end <= disk.content.len()).ok_or(Error::NoSpace)?;
        let served = disk.mechanics.serve(self.started.elapsed(), access, offset_bytes, bytes as u64);
        transfer(&mut disk.content[begin..end]);
        drop(disk);
        thread::sleep(served.saturating_sub(self.started.elapsed()));
        Ok(())
    }
}

impl FileSystem for DiskFs {
    fn root(&self) -> Handle {
        Handle::from_u64(ROOT)
    }

    fn attributes(&self, _cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        match node.to_u64() {
            Some(ROOT) => Ok(Attributes::new(FileKind::Directory, ROOT)),
            Some(FILE) => Ok(self.file.attributes()),
            _ => Err(Error::BadHandle),
        }
    }

    /// A disk keeps its size; `mkfs` sets it all the same.
    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let attributes = self.attributes(cx, node)?;
        if set.size_bytes.is_some_and(|size_bytes| size_bytes != attributes.size_bytes) {
            return Err(Error::NotPermitted);
        }
        Ok(attributes)
    }

    fn lookup(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        if place.name.as_bytes() != NAME.as_bytes() {
            return Err(Error::NoEntry);
        }
        Ok(Entry { handle: Handle::from_u64(FILE), attributes: self.file.attributes() })
    }

    fn parent(&self, cx: &Context<'_>, _dir: &Handle) -> Result<Entry> {
        Ok(Entry { handle: self.root(), attributes: self.attributes(cx, &self.root())? })
    }

    fn open(&self, _cx: &Context<'_>, node: &Handle, _mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        if node.to_u64() == Some(FILE) { Ok(self.file.clone()) } else { Err(Error::BadHandle) }
    }

    fn read_dir(&self, _cx: &Context<'_>, _list: ReadDir<'_>, _each: EachEntry<'_>) -> Result<Listing> {
        Ok(Listing::Complete)
    }
}

impl OpenFile for DiskFile {
    fn read_at(&self, _cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let left = self.size_bytes.saturating_sub(offset_bytes);
        let count = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.serve(Access::Read, offset_bytes, count, |content| into[..count].copy_from_slice(content))?;
        Ok(count)
    }

    /// What is written is on the disk, which has no cache.
    fn write_at(&self, _cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.serve(Access::Write, offset_bytes, data.len(), |content| content.copy_from_slice(data))?;
        Ok(Written { count: data.len(), stability })
    }

    fn sync(&self, _cx: &Context<'_>) -> Result<()> {
        Ok(())
    }

    fn attributes(&self, _cx: &Context<'_>) -> Result<Attributes> {
        Ok(DiskFile::attributes(self))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vfs::Name;

    use super::*;

    #[test]
    fn disk_keeps_what_is_written_and_has_an_end() {
        let model = Model { positioning: Duration::ZERO, bytes_per_second: u64::MAX, disks: 1 };
        let (fs, cx) = (DiskFs::new(model, 8), Context::ROOT);
        let place = Place { dir: fs.root(), name: Name::new(NAME.as_bytes()).unwrap() };
        let handle = fs.lookup(&cx, place).unwrap().handle;
        let disk = fs.open(&cx, &handle, OpenMode::Write).unwrap();
        assert_eq!(disk.write_at(&cx, 5, b"abc", Stability::Unstable).unwrap().count, 3);
        let mut content = [1; 9];
        assert_eq!(disk.read_at(&cx, 4, &mut content).unwrap(), 4);
        assert_eq!(&content[..5], b"\0abc\x01");
        assert!(matches!(disk.write_at(&cx, 6, b"abc", Stability::Unstable), Err(Error::NoSpace)));
        assert!(matches!(disk.write_at(&cx, u64::MAX, b"a", Stability::Unstable), Err(Error::NoSpace)));
    }
}
