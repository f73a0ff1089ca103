//! The table of slots: a sparse file in which the place of a record follows from its number.
//!
//! ```text
//! header, twice   checksum (4)  "wharf-numbers-1\n"  serial (8)  path: length (4), bytes
//!                 spans: count (4), each: first number (8), first slot (8)
//! slots           128 bytes each
//! ```
//!
//! The header never changes. What was handed to the kernel survives the end of this process, however that comes; a
//! crash of the machine may cost the last changes. Cleared slots are handed over later, many together: a kill leaves up
//! to [`MAX_WAITING_CLEARS`] records of files that are gone. The length of the file says which numbers may have been
//! given out: it grows with a sync, many numbers at a time, before any of them is given. Space of files that are gone
//! goes back by the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use own_files::{Locked, OwnDir};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use crate::store::lately::Lately;
use crate::store::record::{EMPTY, SLOT_BYTES, SlotBytes, fnv};

const MAGIC: &[u8; 16] = b"wharf-numbers-1\n";

/// The bytes of one of the two headers: room for a path of 4096 bytes and many spans.
const HEADER_BYTES: usize = 8192;
const HEADERS_BYTES: u64 = 2 * HEADER_BYTES as u64;

/// The slots of a page of the file: what its space is given back by.
const PAGE_SLOTS: u64 = 4096 / SLOT_BYTES as u64;

/// How many numbers are reserved with one sync.
const RESERVED_SLOTS: u64 = 1 << 20;

/// How many cleared slots wait in memory. Those of files that were made one after the other are written together.
const MAX_WAITING_CLEARS: usize = 256;

/// How many pages with slots of files that are gone wait for a look at whether the whole page is free.
const MAX_CLEARED_PAGES: usize = 256;

/// How much of the table is read at once when all of it is read, in slots.
const BATCH_SLOTS: u64 = 8192;

/// How many slots that were used lately are in memory.
const LATELY: usize = 4096;

/// Numbers that follow one another in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first_number: u64,
    pub(crate) first_slot: u64,
}

/// The file.
pub(crate) struct SlotTable {
    file: Locked<File>,
    header: SlotTableHeader,
    /// How many slots the file has: the numbers of the others were never given out.
    len: u64,
    /// How often records were written to the file.
    writes: u64,
    /// Slots that are not in the file yet.
    pending: BTreeMap<u64, SlotBytes>,
    /// Slots that are not cleared in the file yet.
    cleared: BTreeSet<u64>,
    cleared_pages: BTreeSet<u64>,
    lately: Lately<SlotBytes>,
}

/// What the start of the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotTableHeader {
    /// Tells this table from every other one.
    pub(crate) serial: u64,
    /// The path of the export.
    pub(crate) export: Vec<u8>,
    /// Where which numbers are, in ascending order; the first begins at slot 0.
    pub(crate) spans: Vec<Span>,
}

impl SlotTable {
    /// Opens a table, for this process alone; `None` when there is none.
    pub(crate) fn open(dir: &OwnDir, name: &str) -> io::Result<Option<SlotTable>> {
        let Some(file) = dir.file_to_write(name)? else { return Ok(None) };
        let file = Locked::exclusive(file)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "both of its headers are damaged");
        let header =
            [0, HEADER_BYTES].iter().find_map(|&at| SlotTableHeader::read(&file, at as u64)).ok_or_else(damaged)?;
        let len = file.metadata()?.len().saturating_sub(HEADERS_BYTES).div_ceil(SLOT_BYTES as u64);
        Ok(Some(SlotTable { len, ..SlotTable::of(file, header) }))
    }

    /// Begins a table, for this process alone, readable for its owner alone.
    pub(crate) fn create(dir: &OwnDir, name: &str, header: SlotTableHeader) -> io::Result<SlotTable> {
        let file = Locked::exclusive(dir.file(name)?)?;
        file.set_len(0)?;
        file.write_all_at(&header.bytes()?, 0)?;
        file.write_all_at(&header.bytes()?, HEADER_BYTES as u64)?;
        Ok(SlotTable::of(file, header))
    }

    fn of(file: Locked<File>, header: SlotTableHeader) -> SlotTable {
        let (pending, cleared, cleared_pages) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        SlotTable { file, header, len: 0, writes: 0, pending, cleared, cleared_pages, lately: Lately::new(LATELY) }
    }

    /// What the start of the file says.
    pub(crate) fn header(&self) -> &SlotTableHeader {
        &self.header
    }

    /// The first number that was never given out.
    pub(crate) fn end(&self) -> u64 {
        self.header.number_at(self.len)
    }

    /// Sees to it that the numbers below the next ones are not given out again, even if the machine crashes, and
    /// returns where the reserved ones end.
    pub(crate) fn reserve(&mut self, next: u64) -> io::Result<u64> {
        let slot = self.header.slot_of(next).ok_or(io::ErrorKind::InvalidInput)?;
        self.set_len(slot + RESERVED_SLOTS)?;
        Ok(next + RESERVED_SLOTS)
    }

    /// Ends the table at the next number: those behind it can be given out the next time.
    pub(crate) fn close(&mut self, next: u64) -> io::Result<()> {
        self.flush_all(next)?;
        self.give_back(next);
        let slot = self.header.slot_of(next).ok_or(io::ErrorKind::InvalidInput)?;
        self.set_len(slot)
    }

    /// The slot of a number, if the table has a place for it.
    pub(crate) fn read_one(&mut self, number: u64) -> io::Result<Option<SlotBytes>> {
        let Some(at) = self.header.slot_of(number) else { return Ok(None) };
        let mut slot = self.lately.get(at).or_else(|| self.pending.get(&at)).copied();
        if slot.is_none() && self.cleared.contains(&at) {
            slot = Some(EMPTY);
        }
        if slot.is_none() {
            let read = slot.insert(EMPTY);
            read_at(&self.file, read, place(at))?;
            self.lately.put(at, *read);
        }
        Ok(slot)
    }

    /// The slots from a number on; those that there is no place for are empty.
    pub(crate) fn read(&self, number: u64, count: usize) -> io::Result<Vec<SlotBytes>> {
        let mut slots = vec![EMPTY; count];
        let Some(first) = self.header.slot_of(number) else { return Ok(slots) };
        read_at(&self.file, slots.as_flattened_mut(), place(first))?;
        let range = first..first + count as u64;
        for &at in self.cleared.range(range.clone()) {
            slots[(at - first) as usize] = EMPTY;
        }
        for (&at, slot) in self.pending.range(range) {
            slots[(at - first) as usize] = *slot;
        }
        Ok(slots)
    }

    /// Puts slots from a number on; they are in memory until the next [`SlotTable::flush`].
    pub(crate) fn write(&mut self, number: u64, slots: &[SlotBytes]) {
        if let Some(first) = self.header.slot_of(number) {
            for (at, slot) in (first..).zip(slots) {
                self.lately.put(at, *slot);
                self.pending.insert(at, *slot);
                self.cleared.remove(&at);
            }
        }
    }

    /// Clears slots from a number on. The file has them until many can be cleared together.
    pub(crate) fn clear(&mut self, number: u64, count: usize) {
        let Some(first) = self.header.slot_of(number) else { return };
        for at in first..first + count as u64 {
            self.lately.put(at, EMPTY);
            self.pending.remove(&at);
            self.cleared.insert(at);
        }
    }

    /// How many slots are not in the file yet.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len() + self.cleared.len()
    }

    /// Hands what was written to the kernel, and when much is cleared, that too. `next` is the number that is given out
    /// next.
    pub(crate) fn flush(&mut self, next: u64) -> io::Result<()> {
        self.write_pending()?;
        if self.cleared.len() >= MAX_WAITING_CLEARS { self.write_cleared(next) } else { Ok(()) }
    }

    /// Hands everything to the kernel.
    pub(crate) fn flush_all(&mut self, next: u64) -> io::Result<()> {
        self.write_pending()?;
        self.write_cleared(next)
    }

    fn write_pending(&mut self) -> io::Result<()> {
        while let Some((&first, _)) = self.pending.first_key_value() {
            let mut bytes = Vec::with_capacity(SLOT_BYTES);
            let mut end = first;
            for (&at, slot) in &self.pending {
                if at != end {
                    break;
                }
                bytes.extend_from_slice(slot);
                end += 1;
            }
            self.file.write_all_at(&bytes, place(first))?;
            self.writes += 1;
            for at in first..end {
                self.pending.remove(&at);
            }
        }
        Ok(())
    }

    fn write_cleared(&mut self, next: u64) -> io::Result<()> {
        while let Some(&first) = self.cleared.first() {
            let count = self.cleared.iter().zip(first..).take_while(|(at, expected)| *at == expected).count();
            self.file.write_all_at(vec![EMPTY; count].as_flattened(), place(first))?;
            for at in first..first + count as u64 {
                self.cleared.remove(&at);
                self.cleared_pages.insert(at / PAGE_SLOTS);
            }
        }
        if self.cleared_pages.len() > MAX_CLEARED_PAGES {
            self.give_back(next);
        }
        Ok(())
    }

    /// How often records were written to the file so far.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// The file, once more.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Brings everything to stable storage.
    pub(crate) fn sync(&mut self, next: u64) -> io::Result<()> {
        self.flush_all(next)?;
        self.file.sync_data()
    }

    /// Gives every slot with its number to `each`, from the number `from` on, and leaves out what was never written.
    pub(crate) fn scan(
        &self,
        from: u64,
        mut each: impl FnMut(&SlotTable, u64, &SlotBytes) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut slot = self.header.slot_of(from).ok_or(io::ErrorKind::NotFound)?;
        let mut batch = vec![EMPTY; BATCH_SLOTS as usize];
        while let Some(start) = self.data_from(slot)? {
            let count = BATCH_SLOTS.min(self.len - start);
            let read = &mut batch[..count as usize];
            read.fill(EMPTY);
            read_at(&self.file, read.as_flattened_mut(), place(start))?;
            for (at, slot) in (start..).zip(read.iter()) {
                each(self, self.header.number_at(at), slot)?;
            }
            slot = start + count;
        }
        Ok(())
    }

    /// The disk space that slots take, in bytes.
    pub(crate) fn used_bytes(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.blocks() * 512)
    }

    /// The first slot from here on that may have been written.
    fn data_from(&self, slot: u64) -> io::Result<Option<u64>> {
        if slot >= self.len {
            return Ok(None);
        }
        match seek(&self.file, SeekFrom::Data(place(slot))) {
            Ok(offset) => Ok(Some(slot.max((offset - HEADERS_BYTES) / SLOT_BYTES as u64)).filter(|&at| at < self.len)),
            Err(Errno::NXIO) => Ok(None),
            // A file system that cannot tell.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(slot)),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives back the space of cleared pages that have nothing left in them. A page in which numbers are still given
    /// out waits.
    fn give_back(&mut self, next: u64) {
        let next_page = self.header.slot_of(next).unwrap_or(0) / PAGE_SLOTS;
        let waiting = self.cleared_pages.split_off(&next_page);
        let mut free: Option<Range<u64>> = None;
        for page in std::mem::replace(&mut self.cleared_pages, waiting) {
            if !self.is_free(page) {
                continue;
            }
            match &mut free {
                Some(run) if run.end == page => run.end += 1,
                _ => drop(free.replace(page..page + 1).map(|run| self.punch(run))),
            }
        }
        if let Some(run) = free {
            self.punch(run);
        }
    }

    fn is_free(&self, page: u64) -> bool {
        let slots = page * PAGE_SLOTS..(page + 1) * PAGE_SLOTS;
        let mut bytes = [EMPTY; PAGE_SLOTS as usize];
        let is_in_file = self.pending.range(slots.clone()).next().is_none();
        is_in_file
            && read_at(&self.file, bytes.as_flattened_mut(), place(slots.start)).is_ok()
            && bytes.iter().all(|slot| *slot == EMPTY)
    }

    /// Zeros are as good, on a file system without holes: this fails without harm.
    fn punch(&self, pages: Range<u64>) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let bytes = (pages.end - pages.start) * PAGE_SLOTS * SLOT_BYTES as u64;
        if let Err(error) = fallocate(&self.file, flags, place(pages.start * PAGE_SLOTS), bytes) {
            tracing::debug!(%error, "cannot give back space of the store of file handles");
        }
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(place(len))?;
        self.file.sync_all()?;
        self.len = len;
        Ok(())
    }
}

impl SlotTableHeader {
    /// The slot of a number, if the table has a place for it.
    fn slot_of(&self, number: u64) -> Option<u64> {
        let at = self.spans.partition_point(|span| span.first_number <= number).checked_sub(1)?;
        let slot = self.spans[at].first_slot + (number - self.spans[at].first_number);
        let end = self.spans.get(at + 1).map_or(MAX_SLOTS, |next| next.first_slot);
        (slot < end).then_some(slot)
    }

    /// The number of a slot.
    fn number_at(&self, slot: u64) -> u64 {
        let at = self.spans.partition_point(|span| span.first_slot <= slot).saturating_sub(1);
        self.spans.get(at).map_or(0, |span| span.first_number + (slot - span.first_slot))
    }

    fn read(file: &File, offset: u64) -> Option<SlotTableHeader> {
        let mut bytes = [0; HEADER_BYTES];
        read_at(file, &mut bytes, offset).ok()?;
        let (sum, rest) = bytes.split_first_chunk()?;
        let mut rest = (fnv(rest) as u32 == u32::from_le_bytes(*sum)).then(|| rest.strip_prefix(MAGIC))??;
        let serial = take_u64(&mut rest)?;
        let length = take_u32(&mut rest)?;
        let export = rest.split_off(..length as usize)?.to_vec();
        let count = take_u32(&mut rest)?;
        let span = |_| Some(Span { first_number: take_u64(&mut rest)?, first_slot: take_u64(&mut rest)? });
        let spans = (0..count).map(span).collect::<Option<_>>()?;
        Some(SlotTableHeader { serial, export, spans })
    }

    fn bytes(&self) -> io::Result<[u8; HEADER_BYTES]> {
        let mut body = [&MAGIC[..], &self.serial.to_le_bytes()].concat();
        body.extend_from_slice(&(self.export.len() as u32).to_le_bytes());
        body.extend_from_slice(&self.export);
        body.extend_from_slice(&(self.spans.len() as u32).to_le_bytes());
        for span in &self.spans {
            body.extend([span.first_number, span.first_slot].iter().flat_map(|number| number.to_le_bytes()));
        }
        let mut bytes = [0; HEADER_BYTES];
        bytes.get_mut(4..4 + body.len()).ok_or(io::ErrorKind::InvalidFilename)?.copy_from_slice(&body);
        let sum = fnv(&bytes[4..]) as u32;
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }
}

/// No slot has this number or a greater one: its place would be beyond the 2^63 bytes that a file may have. Handles of
/// a lost table may have such numbers.
const MAX_SLOTS: u64 = (i64::MAX as u64 >> 1) / SLOT_BYTES as u64;

/// The file of a store's table.
pub(crate) fn numbers_name(stem: &str) -> String {
    format!("{stem}.numbers")
}

/// Reads what there is; what is behind the end of the file stays as it is.
pub(crate) fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.read_at(bytes, offset) {
            Ok(0) => break,
            Ok(count) => {
                bytes = &mut bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn place(slot: u64) -> u64 {
    HEADERS_BYTES + slot * SLOT_BYTES as u64
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    rest.split_off(..8)?.try_into().ok().map(u64::from_le_bytes)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    rest.split_off(..4)?.try_into().ok().map(u32::from_le_bytes)
}
