//! A FUSE mount in which each disk of a machine is a file. Its reads and writes go past the kernel's pages, so that the
//! machine records each write when whoever writes is told that it is done.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mount::{Mounted, Options, Validity};
use vfs::{
    Attributes, Context, EachEntry, Entry, Error, FileKind, FileSystem, Handle, Listing, OpenFile, OpenMode, Place,
    ReadDir, Result, SetAttributes, Stability, Written,
};

use crate::machine::Machine;

const ROOT: u64 = 1;

/// Where disks are put in and taken out.
pub struct Bay {
    disks: Arc<Disks>,
    mounted: Mounted,
}

/// A disk that is in the bay as long as this lives.
pub struct Slot {
    disks: Arc<Disks>,
    number: u64,
    pub path: PathBuf,
}

#[derive(Default)]
struct Disks(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    disks: HashMap<u64, Disk>,
}

#[derive(Clone)]
struct Disk {
    machine: Arc<Machine>,
    disk: usize,
    number: u64,
}

impl Bay {
    /// Mounts it on a directory, or says why that cannot be done here and gives `None`.
    pub fn new(dir: &std::path::Path) -> Option<Bay> {
        if File::options().read(true).write(true).open("/dev/fuse").is_err() {
            println!("skipped: there is no /dev/fuse that can be opened");
            return None;
        }
        let options = Options { is_direct: true, is_writeback: false, validity: Validity::NONE, ..Options::default() };
        let disks = Arc::new(Disks(Mutex::new(Table { last: ROOT, ..Table::default() })));
        match mount::mount(disks.clone(), dir, options) {
            Ok(mounted) => Some(Bay { disks, mounted }),
            Err(error) => {
                println!("skipped: {error}");
                None
            }
        }
    }

    /// Puts a disk of a machine in.
    pub fn insert(&self, machine: &Arc<Machine>, disk: usize) -> Slot {
        let mut table = self.disks.0.lock().unwrap();
        table.last += 1;
        let number = table.last;
        table.disks.insert(number, Disk { machine: Arc::clone(machine), disk, number });
        let path = self.mounted.dir().join(number.to_string());
        Slot { disks: Arc::clone(&self.disks), number, path }
    }
}

impl Drop for Bay {
    fn drop(&mut self) {
        let _ = self.mounted.detach();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.disks.0.lock().unwrap().disks.remove(&self.number);
    }
}

impl Disks {
    fn disk(&self, number: u64) -> Result<Disk> {
        self.0.lock().unwrap().disks.get(&number).cloned().ok_or(Error::Stale)
    }
}

impl Disk {
    fn attributes(&self) -> Attributes {
        let size_bytes = self.machine.disk_bytes(self.disk);
        Attributes { mode: 0o600, size_bytes, ..Attributes::new(FileKind::Regular, self.number) }
    }

    fn check(&self, range: &Range<u64>) -> Result<()> {
        if range.end <= self.machine.disk_bytes(self.disk) { Ok(()) } else { Err(Error::NoSpace) }
    }
}

impl FileSystem for Disks {
    fn root(&self) -> Handle {
        Handle::from_u64(ROOT)
    }

    fn attributes(&self, _cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        match node.to_u64().ok_or(Error::BadHandle)? {
            ROOT => Ok(Attributes::new(FileKind::Directory, ROOT)),
            number => Ok(self.disk(number)?.attributes()),
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
        let number = std::str::from_utf8(place.name.as_bytes()).ok().and_then(|name| name.parse().ok());
        let number = number.ok_or(Error::NoEntry)?;
        let disk = self.disk(number).map_err(|_| Error::NoEntry)?;
        Ok(Entry { handle: Handle::from_u64(number), attributes: disk.attributes() })
    }

    fn parent(&self, cx: &Context<'_>, _dir: &Handle) -> Result<Entry> {
        Ok(Entry { handle: self.root(), attributes: self.attributes(cx, &self.root())? })
    }

    fn open(&self, _cx: &Context<'_>, node: &Handle, _mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(self.disk(node.to_u64().ok_or(Error::BadHandle)?)?))
    }

    fn read_dir(&self, _cx: &Context<'_>, _list: ReadDir<'_>, _each: EachEntry<'_>) -> Result<Listing> {
        Ok(Listing::Complete)
    }
}

impl OpenFile for Disk {
    fn read_at(&self, _cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let left = self.machine.disk_bytes(self.disk).saturating_sub(offset_bytes);
        let count = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.machine.read(self.disk, offset_bytes, &mut into[..count]);
        Ok(count)
    }

    fn write_at(&self, _cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.check(&(offset_bytes..offset_bytes + data.len() as u64))?;
        self.machine.write(self.disk, offset_bytes, data)?;
        if stability != Stability::Unstable {
            self.machine.flush(self.disk)?;
        }
        Ok(Written { count: data.len(), stability })
    }

    fn sync(&self, _cx: &Context<'_>) -> Result<()> {
        Ok(self.machine.flush(self.disk)?)
    }

    fn deallocate(&self, _cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.check(&range_bytes)?;
        Ok(self.machine.clear(self.disk, range_bytes)?)
    }

    fn attributes(&self, _cx: &Context<'_>) -> Result<Attributes> {
        Ok(Disk::attributes(self))
    }
}
