//! From what a file is recognised by to its number: a hash table on disk that grows by one bucket at a time (linear
//! hashing, Litwin 1980), so that a search reads one page and no growth makes anybody wait.
//!
//! ```text
//! page 0    checksum (4)  "wharf-index-1\n" and 2 zeros  serial of the table (8)  boot id (36)  1 if closed  0 (7)
//!           numbers below this one are in the table (8)  entries (8)
//! page 1+n  bucket n: up to 256 entries, each: hash (8)  number (8); the first without a number ends it
//! ```
//!
//! An entry is only a hint: whoever finds one compares the record. So a lost or damaged entry costs no handle; its file
//! gets a second number when it is next looked up. The whole can be rebuilt from the table of slots.
//!
//! New entries wait in memory, in the order of their buckets, since several of a bucket cost one write. What waited
//! when the process was killed is found again among the last numbers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use own_files::OwnDir;

use crate::store::lately::Lately;
use crate::store::record::fnv;
use crate::store::slots::read_at;

const MAGIC: &[u8; 16] = b"wharf-index-1\n\0\0";
const PAGE_BYTES: usize = 4096;
const ENTRY_BYTES: usize = 16;
const PAGE_ENTRIES: usize = PAGE_BYTES / ENTRY_BYTES;

/// A bucket is added when the mean of entries is above this: buckets that are split last hold twice as many, and then
/// still fit by six standard deviations.
const MEAN_ENTRIES: u64 = 88;

/// How many entries wait in memory; tests of a debug build have fewer, so that they write more.
const MAX_WAITING: usize = if cfg!(all(test, debug_assertions)) { 512 } else { 16_384 };

/// How many wait while the whole index is made.
const MAX_WAITING_IN_REBUILD: usize = 1 << 20;

/// How many may wait when they cannot be written.
const MAX_STUCK: usize = 4 * MAX_WAITING;

/// How many entries that were found or made lately are remembered.
const RECENT: usize = 1 << 16;

/// How many pages that were used lately are in memory, 8 MiB: all those of 180 000 files.
const RECENT_PAGES: usize = 2048;

/// Where the kernel says since which start of the machine it runs.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const BOOT_ID_BYTES: usize = 36;

/// Where the kernel does not say.
const UNKNOWN_BOOT: [u8; BOOT_ID_BYTES] = [0; BOOT_ID_BYTES];

type IndexPage = [u8; PAGE_BYTES];

/// The hash table.
pub(crate) struct Index {
    file: File,
    serial: u64,
    buckets: u64,
    entries: u64,
    /// Changes that are not in the file yet, by the hash's bits in reverse, which is the order of buckets: whether the
    /// entry is to be there.
    waiting: BTreeMap<(u64, u64), bool>,
    max_waiting: usize,
    /// Up to where the present round through the waiting entries has come.
    cursor: (u64, u64),
    /// The next number when the present round began: when it ends, all numbers below are in the file.
    round_began: u64,
    recent: Lately<u64>,
    pages: Lately<Box<IndexPage>>,
}

/// What the index knows when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexedIds {
    /// Every number below this one.
    Below(u64),
    /// Nothing that can be relied on.
    Nothing,
}

impl Index {
    /// Opens the index of the table with this serial, or begins one.
    pub(crate) fn open(dir: &OwnDir, name: &str, serial: u64) -> io::Result<(Index, IndexedIds)> {
        let file = dir.file(name)?;
        let buckets = (file.metadata()?.len() / PAGE_BYTES as u64).saturating_sub(1);
        let state = IndexState::read(&file).filter(|state| buckets > 0 && state.serial == serial && state.is_trusted());
        let index = Index {
            file,
            serial,
            buckets,
            entries: state.map_or(0, |state| state.entries),
            waiting: BTreeMap::new(),
            max_waiting: MAX_WAITING_IN_REBUILD,
            cursor: (0, 0),
            round_began: 0,
            recent: Lately::new(RECENT),
            pages: Lately::new(RECENT_PAGES),
        };
        Ok((index, state.map_or(IndexedIds::Nothing, |state| IndexedIds::Below(state.indexed_below))))
    }

    /// Starts again, with room for about this many entries, which come next.
    pub(crate) fn begin(&mut self, entries: u64) -> io::Result<()> {
        self.file.set_len(0)?;
        self.buckets = (entries / MEAN_ENTRIES).max(1);
        self.file.set_len((1 + self.buckets) * PAGE_BYTES as u64)?;
        self.entries = 0;
        self.pages = Lately::new(RECENT_PAGES);
        Ok(())
    }

    /// Says that every number below this one was added, and that the index is in use from here on.
    pub(crate) fn is_complete(&mut self, below: u64) -> io::Result<()> {
        self.write_all(below)?;
        self.max_waiting = MAX_WAITING;
        (self.cursor, self.round_began) = ((0, 0), below);
        self.write_state(below, false)?;
        // What is written from here on must not be found behind a state that says "closed".
        self.file.sync_data()
    }

    /// Writes everything down for the next start.
    pub(crate) fn close(&mut self, next: u64) -> io::Result<()> {
        self.write_all(next)?;
        self.file.sync_data()?;
        self.write_state(next, true)?;
        self.file.sync_data()
    }

    /// The number that was found or added under a hash lately.
    pub(crate) fn recent(&self, hash: u64) -> Option<u64> {
        self.recent.get(hash).copied()
    }

    /// Remembers under which number a file was found.
    pub(crate) fn remember(&mut self, hash: u64, number: u64) {
        self.recent.put(hash, number);
    }

    /// The numbers of files with this hash: one, as good as always, or none.
    pub(crate) fn find(&mut self, hash: u64) -> io::Result<Vec<u64>> {
        let key = hash.reverse_bits();
        let waiting = self.waiting.range((key, 0)..=(key, u64::MAX));
        let mut numbers: Vec<u64> =
            waiting.filter(|(_, is_there)| **is_there).map(|(&(_, number), _)| number).collect();
        if numbers.is_empty() {
            let bucket = self.bucket_of(hash);
            let Index { waiting, pages, file, .. } = self;
            let page = read_page(pages, file, bucket)?;
            let is_removed = |number| waiting.get(&(key, number)) == Some(&false);
            let stored = entries(page).filter(|&(known, number)| known == hash && !is_removed(number));
            numbers.extend(stored.map(|(_, number)| number));
        }
        Ok(numbers)
    }

    /// Adds a number under a hash.
    pub(crate) fn add(&mut self, hash: u64, number: u64) {
        self.remember(hash, number);
        self.waiting.insert((hash.reverse_bits(), number), true);
    }

    /// Whether so much waits that nothing must be added before it is written.
    pub(crate) fn is_stuck(&self) -> bool {
        self.waiting.len() >= MAX_STUCK
    }

    /// Adds a number that was given out before under another hash: after a kill it would not be found among the last
    /// ones.
    pub(crate) fn add_known(&mut self, hash: u64, number: u64) -> io::Result<()> {
        let key = (hash.reverse_bits(), number);
        self.apply(self.bucket_of(hash), &[(key, true)])?;
        self.waiting.remove(&key);
        self.remember(hash, number);
        Ok(())
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u64, number: u64) {
        if self.recent(hash) == Some(number) {
            self.recent.remove(hash);
        }
        let key = (hash.reverse_bits(), number);
        // What never came to the file need not be removed from it. Should it be there all the same, it leads to no
        // record.
        if self.waiting.remove(&key) != Some(true) && self.waiting.len() < MAX_STUCK {
            self.waiting.insert(key, false);
        }
    }

    /// Writes entries when too many wait. `next` is the number that is given out next.
    pub(crate) fn write_some(&mut self, next: u64) -> io::Result<()> {
        while self.waiting.len() > self.max_waiting {
            self.write_bucket(next)?;
        }
        Ok(())
    }

    fn write_all(&mut self, next: u64) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_bucket(next)?;
        }
        Ok(())
    }

    /// Writes the waiting entries of the next bucket.
    fn write_bucket(&mut self, next: u64) -> io::Result<()> {
        let Some((&first, _)) = self.waiting.range(self.cursor..).next() else { return self.end_round(next) };
        self.grow()?;
        let bucket = self.bucket_of(first.0.reverse_bits());
        let of_bucket = |key: &(u64, u64)| self.bucket_of(key.0.reverse_bits()) == bucket;
        let changes = self.waiting.range(first..).take_while(|(key, _)| of_bucket(key));
        let changes: Vec<_> = changes.map(|(&key, &is_there)| (key, is_there)).collect();
        self.apply(bucket, &changes)?;
        for (key, _) in &changes {
            self.waiting.remove(key);
        }
        self.cursor = changes.last().map_or(first, |&((key, number), _)| (key, number.saturating_add(1)));
        Ok(())
    }

    fn apply(&mut self, bucket: u64, changes: &[((u64, u64), bool)]) -> io::Result<()> {
        let mut kept = self.kept_entries(bucket)?;
        let before = kept.len();
        kept.retain(|&(hash, number)| {
            let key = (hash.reverse_bits(), number);
            changes.binary_search_by_key(&key, |&(changed, _)| changed).is_err()
        });
        let added = changes.iter().filter(|(_, is_there)| *is_there);
        kept.extend(added.map(|&((key, number), _)| (key.reverse_bits(), number)));
        // A bucket that is full in spite of its size loses what is oldest: those files get a second number.
        kept.drain(..kept.len().saturating_sub(PAGE_ENTRIES));
        self.write_page(bucket, &kept)?;
        self.entries = (self.entries + kept.len() as u64).saturating_sub(before as u64);
        Ok(())
    }

    /// When a round is over, every number from before it is in the file.
    fn end_round(&mut self, next: u64) -> io::Result<()> {
        let indexed_below = std::mem::replace(&mut self.round_began, next);
        self.cursor = (0, 0);
        self.write_state(indexed_below, false)
    }

    /// Adds buckets until they are as empty as they should be, with all that wait in them.
    fn grow(&mut self) -> io::Result<()> {
        while self.entries + self.waiting.len() as u64 > self.buckets * MEAN_ENTRIES {
            self.split()?;
        }
        Ok(())
    }

    /// Adds a bucket and puts into it what belongs there of the one that it is split from. There the entries stay until
    /// it is next written, so that a crash of the machine between the two writes loses nothing.
    fn split(&mut self) -> io::Result<()> {
        let new = self.buckets;
        let low = 1 << new.ilog2();
        let page = read_page(&mut self.pages, &self.file, new - low)?;
        let moved: Vec<_> = entries(page).filter(|(hash, _)| hash & (2 * low - 1) == new).collect();
        self.write_page(new, &moved)?;
        self.buckets += 1;
        Ok(())
    }

    fn bucket_of(&self, hash: u64) -> u64 {
        let low = 1 << self.buckets.ilog2();
        let wide = hash & (2 * low - 1);
        if wide < self.buckets { wide } else { hash & (low - 1) }
    }

    /// What a bucket has, without what belongs to another one.
    fn kept_entries(&mut self, bucket: u64) -> io::Result<Vec<(u64, u64)>> {
        let mut kept: Vec<_> = entries(read_page(&mut self.pages, &self.file, bucket)?).collect();
        kept.retain(|&(hash, _)| self.bucket_of(hash) == bucket);
        Ok(kept)
    }

    fn write_page(&mut self, bucket: u64, kept: &[(u64, u64)]) -> io::Result<()> {
        let mut page = Box::new([0; PAGE_BYTES]);
        for (place, (hash, number)) in page.chunks_exact_mut(ENTRY_BYTES).zip(kept) {
            place[..8].copy_from_slice(&hash.to_le_bytes());
            place[8..].copy_from_slice(&number.to_le_bytes());
        }
        self.pages.remove(bucket);
        self.file.write_all_at(&*page, (1 + bucket) * PAGE_BYTES as u64)?;
        self.pages.put(bucket, page);
        Ok(())
    }

    fn write_state(&self, indexed_below: u64, is_closed: bool) -> io::Result<()> {
        let state =
            IndexState { serial: self.serial, boot_id: boot_id(), is_closed, indexed_below, entries: self.entries };
        self.file.write_all_at(&state.bytes(), 0)
    }
}

fn read_page<'a>(pages: &'a mut Lately<Box<IndexPage>>, file: &File, bucket: u64) -> io::Result<&'a IndexPage> {
    if pages.get(bucket).is_none() {
        let mut page = Box::new([0; PAGE_BYTES]);
        read_at(file, &mut *page, (1 + bucket) * PAGE_BYTES as u64)?;
        pages.put(bucket, page);
    }
    pages.get(bucket).map(|page| &**page).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn entries(page: &IndexPage) -> impl Iterator<Item = (u64, u64)> {
    let entries = page.as_chunks::<8>().0.as_chunks::<2>().0.iter();
    entries
        .map(|[hash, number]| (u64::from_le_bytes(*hash), u64::from_le_bytes(*number)))
        .take_while(|entry| entry.1 != 0)
}

/// What page 0 says.
#[derive(Debug, Clone, Copy)]
struct IndexState {
    serial: u64,
    boot_id: [u8; BOOT_ID_BYTES],
    is_closed: bool,
    indexed_below: u64,
    entries: u64,
}

/// Where page 0 has what.
const SERIAL: usize = 20;
const BOOT: usize = 28;
const CLOSED: usize = BOOT + BOOT_ID_BYTES;
const INDEXED: usize = CLOSED + 8;
const ENTRIES: usize = INDEXED + 8;

impl IndexState {
    fn read(file: &File) -> Option<IndexState> {
        let mut page = [0; PAGE_BYTES];
        read_at(file, &mut page, 0).ok()?;
        let (sum, rest) = page.split_first_chunk()?;
        let is_whole = fnv(rest) as u32 == u32::from_le_bytes(*sum) && rest.starts_with(MAGIC);
        let number = |at: usize| page[at..at + 8].try_into().ok().map(u64::from_le_bytes);
        let state = IndexState {
            serial: number(SERIAL)?,
            boot_id: page[BOOT..CLOSED].try_into().ok()?,
            is_closed: page[CLOSED] == 1,
            indexed_below: number(INDEXED)?,
            entries: number(ENTRIES)?,
        };
        is_whole.then_some(state)
    }

    fn bytes(&self) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        page[4..SERIAL].copy_from_slice(MAGIC);
        page[SERIAL..BOOT].copy_from_slice(&self.serial.to_le_bytes());
        page[BOOT..CLOSED].copy_from_slice(&self.boot_id);
        page[CLOSED] = self.is_closed.into();
        page[INDEXED..ENTRIES].copy_from_slice(&self.indexed_below.to_le_bytes());
        page[ENTRIES..ENTRIES + 8].copy_from_slice(&self.entries.to_le_bytes());
        let sum = fnv(&page[4..]) as u32;
        page[..4].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// A process that was killed has lost nothing that it had written; a crash of the machine may have lost any page.
    fn is_trusted(&self) -> bool {
        self.is_closed || (self.boot_id != UNKNOWN_BOOT && self.boot_id == boot_id())
    }
}

fn boot_id() -> [u8; BOOT_ID_BYTES] {
    let read = std::fs::read(BOOT_ID).unwrap_or_default();
    read.first_chunk().copied().unwrap_or(UNKNOWN_BOOT)
}
