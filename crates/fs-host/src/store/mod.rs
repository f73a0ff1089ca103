//! Numbers for files where the kernel's handles cannot be used, and what those numbers stand for.
//!
//! A number is never given to a second file. Its record is handed to the kernel before the call that gives the number
//! out returns. Records are in a table on disk, at the place that the number says, and an index on disk leads from what
//! a file is recognised by to its number. Memory holds only what changed last: some megabytes, however many files are
//! known.

mod error;
mod index;
mod lately;
mod migrate;
mod old_log;
mod record;
mod slots;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use own_files::{Flaw, OwnDir};

pub(crate) use error::StoreError;
use index::{Index, IndexedIds};
pub(crate) use record::{Fingerprint, NO_FILEID, ROOT_ID, StoredFile, fnv};
use record::{Long, MAX_REST_SLOTS, SlotContent};
use slots::SlotTable;
pub(crate) use slots::numbers_name;

/// The most slots that wait in memory for the end of a call, or for room on a full disk.
const MAX_PENDING_SLOTS: usize = 1024;

/// The numbers of one export.
pub(crate) struct Store {
    numbers: Mutex<NumberTable>,
    moves: Arc<AtomicU64>,
    /// How many writes of records are on stable storage. Locked while the disk writes: those who wait share the next
    /// flush.
    synced_writes: Mutex<u64>,
}

struct NumberTable {
    slots: SlotTable,
    index: Index,
    next: u64,
    reserved: u64,
    /// How often the record of a file that may exist was changed or dropped. It is counted before the change, so that
    /// whoever reads the count before a number is given out notices every change since.
    moves: Arc<AtomicU64>,
}

impl Store {
    /// Opens the store `stem`.numbers in `dir`, or begins it, for the export at this path. The index is beside it.
    pub(crate) fn open(dir: &OwnDir, stem: &str, export: &[u8]) -> Result<Store, StoreError> {
        let slots = match SlotTable::open(dir, &numbers_name(stem))? {
            Some(slots) => slots,
            None => {
                warn_of_loss(dir, stem)?;
                migrate::begin(dir, stem, export)?
            }
        };
        let owner = &slots.header().export;
        if owner != export {
            return Err(StoreError::Foreign(owner.escape_ascii().to_string()));
        }
        let (index, known) = Index::open(dir, &index_name(stem), slots.header().serial)?;
        // Should the table have lost its end, the index knows still which numbers were in it.
        let indexed_below = if let IndexedIds::Below(number) = known { number } else { ROOT_ID + 1 };
        let next = slots.end().max(indexed_below);
        let moves = Arc::<AtomicU64>::default();
        let mut numbers = NumberTable { slots, index, next, reserved: 0, moves: Arc::clone(&moves) };
        numbers.complete_index(known)?;
        numbers.reserve()?;
        Ok(Store { numbers: Mutex::new(numbers), moves, synced_writes: Mutex::default() })
    }

    /// The number of a file that was seen as `name` in `parent`: the one that it has, or a new one.
    ///
    /// `is_only_name` says that the file has no other name, so that this one replaces what was known.
    pub(crate) fn id(&self, seen: StoredFile, is_only_name: bool) -> io::Result<u64> {
        let hash = seen.fingerprint.hash();
        let mut numbers = self.lock();
        let Some(known) = numbers.find(hash, &seen.fingerprint)? else { return numbers.add(hash, seen) };
        let is_moved = known.parent != seen.parent || known.name != seen.name;
        let id = known.id;
        if is_moved && is_only_name {
            numbers.replace(known, StoredFile { id, ..seen })?;
        }
        Ok(id)
    }

    /// How often the record of a file that may exist was changed or dropped so far.
    pub(crate) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// What is known of a file, if it has a number.
    pub(crate) fn known(&self, fingerprint: &Fingerprint) -> io::Result<Option<StoredFile>> {
        self.lock().find(fingerprint.hash(), fingerprint)
    }

    /// The number that the next new file will get.
    pub(crate) fn next_id(&self) -> u64 {
        self.lock().next
    }

    /// What is known of a number.
    pub(crate) fn record(&self, id: u64) -> io::Result<Option<StoredFile>> {
        self.lock().record(id)
    }

    /// Replaces what is known of a number.
    pub(crate) fn put(&self, record: StoredFile) -> io::Result<()> {
        let mut numbers = self.lock();
        match numbers.record(record.id)? {
            Some(known) => numbers.replace(known, record),
            None => Ok(()),
        }
    }

    /// Forgets a file that was not found anywhere.
    pub(crate) fn forget(&self, id: u64) -> io::Result<()> {
        let mut numbers = self.lock();
        numbers.note_move();
        numbers.forget(id)
    }

    /// Forgets a file whose last name was removed, so that nobody sees it again. The table has its record for a while:
    /// a kill can leave it there, but only what it is recognised by leads to it.
    pub(crate) fn forget_removed(&self, id: u64) -> io::Result<()> {
        self.lock().forget(id)
    }

    /// Hands what is new to the kernel, so that it survives the end of this process.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.lock().flush()
    }

    /// Hands to the kernel also which files were forgotten.
    pub(crate) fn flush_all(&self) -> io::Result<()> {
        self.lock().flush_all()
    }

    /// Brings the records to stable storage. The lock is not held while the disk writes.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut numbers = self.lock();
        numbers.flush_all()?;
        let records = numbers.slots.file()?;
        drop(numbers);
        records.sync_data()
    }

    /// Brings new records to stable storage, unless all are there.
    pub(crate) fn sync_new(&self) -> io::Result<()> {
        let mut numbers = self.lock();
        numbers.flush()?;
        let needed = numbers.slots.writes();
        drop(numbers);
        let mut synced = self.synced_writes.lock().unwrap_or_else(PoisonError::into_inner);
        if *synced >= needed {
            return Ok(());
        }
        let numbers = self.lock();
        let (records, written) = (numbers.slots.file()?, numbers.slots.writes());
        drop(numbers);
        records.sync_data()?;
        *synced = written;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, NumberTable> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.lock().close() {
            tracing::warn!(%error, "cannot close the store of file handles; its index is rebuilt at the next start");
        }
    }
}

impl NumberTable {
    /// Adds what the index does not have yet: the last numbers, or all of them when it cannot be relied on.
    fn complete_index(&mut self, known: IndexedIds) -> io::Result<()> {
        let first = self.slots.header().spans.first().map_or(ROOT_ID + 1, |span| span.first_number);
        let from = match known {
            IndexedIds::Below(number) => number.max(first),
            IndexedIds::Nothing => {
                let entries = self.slots.used_bytes()? / record::SLOT_BYTES as u64;
                self.index.begin(entries)?;
                first
            }
        };
        let NumberTable { slots, index, next, .. } = self;
        slots.scan(from, |read, number, slot| {
            let fingerprint = match SlotContent::parse(number, slot) {
                SlotContent::Whole(record) => record.fingerprint,
                SlotContent::Long(long) => match read_long(read, *long)? {
                    Some(record) => record.fingerprint,
                    None => return Ok(()),
                },
                SlotContent::Empty | SlotContent::Damaged => return Ok(()),
            };
            index.add(fingerprint.hash(), number);
            index.write_some(*next)
        })?;
        index.is_complete(*next)
    }

    fn record(&mut self, id: u64) -> io::Result<Option<StoredFile>> {
        let Some(slot) = self.slots.read_one(id)? else { return Ok(None) };
        let record = match SlotContent::parse(id, &slot) {
            SlotContent::Empty => return Ok(None),
            SlotContent::Whole(record) => Some(record),
            SlotContent::Long(long) => read_long(&self.slots, *long)?,
            SlotContent::Damaged if SlotContent::is_rest(id, &slot) => return Ok(None),
            SlotContent::Damaged => None,
        };
        if record.is_none() {
            tracing::warn!(id, "a record in the store of file handles is damaged: its handle is stale");
            self.note_move();
            self.slots.clear(id, 1);
        }
        Ok(record)
    }

    fn find(&mut self, hash: u64, fingerprint: &Fingerprint) -> io::Result<Option<StoredFile>> {
        let is_same = |record: &StoredFile| record.fingerprint == *fingerprint;
        if let Some(id) = self.index.recent(hash)
            && let Some(record) = self.record(id)?.filter(is_same)
        {
            return Ok(Some(record));
        }
        for id in self.index.find(hash)? {
            if let Some(record) = self.record(id)?.filter(is_same) {
                self.index.remember(hash, id);
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn add(&mut self, hash: u64, seen: StoredFile) -> io::Result<u64> {
        self.make_room()?;
        let id = self.next;
        self.index.add(hash, id);
        self.next += 1;
        self.write(&StoredFile { id, ..seen });
        Ok(id)
    }

    fn replace(&mut self, known: StoredFile, record: StoredFile) -> io::Result<()> {
        self.note_move();
        self.make_room()?;
        self.clear_rest(&known)?;
        if known.fingerprint != record.fingerprint {
            self.index.add_known(record.fingerprint.hash(), record.id)?;
            self.index.remove(known.fingerprint.hash(), record.id);
        }
        self.write(&record);
        Ok(())
    }

    fn forget(&mut self, id: u64) -> io::Result<()> {
        let Some(record) = self.record(id)? else { return Ok(()) };
        self.index.remove(record.fingerprint.hash(), id);
        self.clear_rest(&record)?;
        self.slots.clear(id, 1);
        Ok(())
    }

    fn note_move(&self) {
        self.moves.fetch_add(1, Ordering::Release);
    }

    /// Puts a record into its slot, and what does not fit there into slots of numbers that no file gets.
    fn write(&mut self, record: &StoredFile) {
        if let Some(only) = record.only_slot() {
            return self.slots.write(record.id, &[only]);
        }
        let (rest, count) = (self.next, record.rest_slots());
        let slots = record.slots(rest);
        self.slots.write(rest, &slots[1..]);
        self.slots.write(record.id, &slots[..1]);
        self.next += count as u64;
    }

    fn clear_rest(&mut self, known: &StoredFile) -> io::Result<()> {
        if known.rest_slots() > 0
            && let Some(slot) = self.slots.read_one(known.id)?
            && let SlotContent::Long(long) = SlotContent::parse(known.id, &slot)
        {
            self.slots.clear(long.rest, long.rest_slots());
        }
        Ok(())
    }

    fn flush_all(&mut self) -> io::Result<()> {
        self.slots.flush_all(self.next)?;
        self.flush()
    }

    /// Hands records to the kernel. The index may wait in memory, up to a point, and so may what is forgotten.
    fn flush(&mut self) -> io::Result<()> {
        self.slots.flush(self.next)?;
        match self.index.write_some(self.next) {
            Err(error) if self.index.is_stuck() => Err(error),
            _ => Ok(()),
        }
    }

    /// Sees to it that a record can be added: that numbers are left, and that not too much waits for a disk that is
    /// full.
    fn make_room(&mut self) -> io::Result<()> {
        if self.slots.pending() >= MAX_PENDING_SLOTS || self.index.is_stuck() {
            self.flush()?;
        }
        if self.next + MAX_REST_SLOTS as u64 >= self.reserved { self.reserve() } else { Ok(()) }
    }

    /// Sees to it that the next numbers are not given out again, even if the machine crashes.
    fn reserve(&mut self) -> io::Result<()> {
        self.reserved = self.slots.reserve(self.next)?;
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.slots.close(self.next)?;
        self.index.close(self.next)
    }
}

fn index_name(stem: &str) -> String {
    format!("{stem}.index")
}

/// Logs that the table is lost, if its index is there.
fn warn_of_loss(dir: &OwnDir, stem: &str) -> io::Result<()> {
    if dir.file_to_read(&index_name(stem))?.is_some() {
        let flaw = Flaw {
            path: dir.path().join(numbers_name(stem)),
            wrong: "is missing".to_owned(),
            means: "the file handles that clients have of this export are stale".to_owned(),
            remedy: "mount again on all clients".to_owned(),
        };
        tracing::warn!("{flaw}");
    }
    Ok(())
}

fn read_long(slots: &SlotTable, long: Long) -> io::Result<Option<StoredFile>> {
    let rest = slots.read(long.rest, long.rest_slots())?;
    Ok(long.complete(&rest))
}

#[cfg(test)]
mod tests;
