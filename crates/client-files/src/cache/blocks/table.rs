//! The blocks of all files of a mount, and their memory: no sockets, no tasks, no clock.
//!
//! Invariants:
//! - A block is in the map of its file unless it is detached; then somebody waits for it or for its fill.
//! - A block is in `order`, and may be evicted at any time, exactly if it is clean, nobody waits for it, and nothing
//!   fills it.
//! - `order` sorts blocks by insertion. A use is only noted in the block, which a reader has at hand, while its
//!   neighbours in the order are anywhere in memory. A block used since then gets a new place instead of being evicted.
//! - [`BlockTable::file`] and [`BlockTable::block`] give mutable access, and close the file's reader window first.
//! - There are at most [`Config::max_blocks`] blocks, and at most [`Config::max_dirty_blocks`] of them are dirty.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use client_calls::FileVersion;
use slab::Slab;
use tokio::sync::Notify;
use tokio::time::Instant;
use vfs::Attributes;

use super::ages::{BlockAges, FileAges};
use super::block::Block;
use super::config::Config;
use super::failures::Failures;
use super::ids::{BlockId, FileId, ReaderId};
use super::late_io::LateIo;
use super::promise::Promise;
use super::reader::Reader;
use super::reader_window::{ReaderWindow, View};
use super::series::Series;
use crate::cache::order::Order;
use crate::{Error, Handle, WriteVerifier};

/// How many recently used blocks one eviction spares. When all were used, the oldest is evicted nonetheless.
const MAX_SPARED: usize = 64;

/// A file that is open or has cached data.
#[derive(Debug)]
pub(super) struct FileState {
    pub(super) handle: Handle,
    /// How many opens it has.
    pub(super) opens: u32,
    /// How many tasks will come back to it.
    pub(super) tasks: u32,
    pub(super) blocks: BTreeMap<u64, BlockId>,
    /// The indexes of dirty blocks.
    pub(super) dirty: BTreeSet<u64>,
    /// The ages of their changes.
    pub(super) ages: FileAges,
    /// The length of the file, dirty data included.
    pub(super) size_bytes: u64,
    /// The length of the server's file.
    pub(super) server_size_bytes: u64,
    /// How many changes past the cache are in flight.
    pub(super) passing: u32,
    /// The version of the file that its clean blocks belong to; `None` if unknown.
    pub(super) version: Option<FileVersion>,
    /// Whether own writes, whose replies did not tell the new version, explain that the server has another one.
    pub(super) is_explained: bool,
    /// The promise that WRITEs since `version` was learned rely on.
    pub(super) promise: Option<Arc<dyn Promise>>,
    /// Counts own changes at the server. Attributes requested before a change may show earlier state.
    pub(super) changes: u64,
    pub(super) checked_until: Option<Instant>,
    pub(super) late: LateWrites,
    pub(super) reader_window: Arc<ReaderWindow>,
    /// Whether the reader window may be open.
    pub(super) has_reader_window: bool,
}

/// Write-back of a file's dirty data.
#[derive(Debug, Default)]
pub(super) struct LateWrites {
    /// The open that data is written through.
    pub(super) io: Option<Arc<dyn LateIo>>,
    pub(super) has_task: bool,
    pub(super) wake: Arc<Notify>,
    /// Signals each WRITE and COMMIT that ends, and changes that are written or given up.
    pub(super) progress: Arc<Notify>,
    /// Changes up to this number are wanted at the server; up to `commit_to`, on its stable storage.
    pub(super) flush_to: u64,
    pub(super) commit_to: u64,
    /// When everything is written even if nobody asks for it.
    pub(super) deadline: Option<Instant>,
    /// Dirty bytes, roughly: bytes written twice count twice.
    pub(super) gathered_bytes: u64,
    /// How many WRITEs are in flight.
    pub(super) writes: u32,
    /// What their replies tell about the file.
    pub(super) series: Option<Series>,
    pub(super) is_committing: bool,
    /// While this is not 0 nothing is sent.
    pub(super) holds: u32,
    /// The verifier in the reply to the newest unstable WRITE.
    pub(super) verifier: Option<WriteVerifier>,
    /// That verifier when the COMMIT was sent.
    pub(super) committing: Option<WriteVerifier>,
    /// How often in a row the server lost unstable data.
    pub(super) losses: u32,
    /// Where the next search for dirty data begins.
    pub(super) cursor: u64,
    /// The block that was changed last.
    pub(super) newest_block: u64,
    pub(super) failures: Failures,
}

impl LateWrites {
    /// Keeps an error for the writer.
    pub(super) fn fail(&mut self, error: Error) {
        self.failures.note(self.io.as_ref(), error);
    }

    /// Whether the server may still carry out a WRITE or COMMIT.
    pub(super) fn is_under_way(&self) -> bool {
        self.writes > 0 || self.is_committing
    }
}

#[derive(Debug)]
pub(super) struct BlockTable {
    pub(super) config: Config,
    by_handle: HashMap<Handle, FileId>,
    files: Slab<FileState>,
    pub(super) readers: Slab<Reader>,
    pub(super) slots: Slab<Block>,
    pub(super) order: Order<BlockId, ()>,
    /// Blocks that sequential readers of large files have left, oldest first: file, index and slot. Some may be gone by
    /// now.
    pub(super) behind: VecDeque<(FileId, u64, BlockId)>,
    /// How many blocks are dirty.
    pub(super) dirty_blocks: usize,
    /// The files of these blocks.
    dirty_files: BTreeSet<FileId>,
    /// The number of the newest change.
    pub(super) newest_change: u64,
    /// While this is not 0 no file is written.
    pub(super) holds: u32,
    /// Somebody waits for memory.
    pub(super) wants_room: bool,
    pub(super) room: Arc<Notify>,
}

impl BlockTable {
    pub(super) fn new(config: Config) -> BlockTable {
        BlockTable {
            config,
            by_handle: HashMap::new(),
            files: Slab::new(),
            readers: Slab::new(),
            slots: Slab::new(),
            order: Order::default(),
            behind: VecDeque::new(),
            dirty_blocks: 0,
            dirty_files: BTreeSet::new(),
            newest_change: 0,
            holds: 0,
            wants_room: false,
            room: Arc::default(),
        }
    }

    /// Opens a file with these attributes, and adds a reader to it.
    pub(super) fn open(&mut self, handle: &Handle, attributes: &Attributes) -> (FileId, ReaderId) {
        let file = match self.by_handle.get(handle) {
            Some(file) => *file,
            None => self.new_file(handle),
        };
        let state = self.file(file);
        state.opens += 1;
        let changes = state.changes;
        self.learn(file, attributes, changes);
        let reader = self.readers.insert(Reader::new(file));
        (file, ReaderId::new(reader))
    }

    /// The file of this handle, if it is in the cache.
    pub(super) fn find_file(&self, handle: &Handle) -> Option<FileId> {
        self.by_handle.get(handle).copied()
    }

    fn new_file(&mut self, handle: &Handle) -> FileId {
        let state = FileState {
            handle: *handle,
            opens: 0,
            tasks: 0,
            blocks: BTreeMap::new(),
            dirty: BTreeSet::new(),
            ages: FileAges::default(),
            size_bytes: 0,
            server_size_bytes: 0,
            passing: 0,
            version: None,
            is_explained: false,
            promise: None,
            changes: 0,
            checked_until: None,
            late: LateWrites::default(),
            reader_window: Arc::default(),
            has_reader_window: false,
        };
        let file = FileId::new(self.files.insert(state));
        self.by_handle.insert(*handle, file);
        file
    }

    /// Closes what [`BlockTable::open`] opened.
    pub(super) fn close(&mut self, file: FileId, reader: ReaderId) {
        self.close_reader_window(file);
        self.readers.remove(reader.index());
        self.file(file).opens -= 1;
        self.forget_unused(file);
    }

    /// Drops a file that nobody has open and that has no cached data.
    pub(super) fn forget_unused(&mut self, file: FileId) {
        let state = self.file(file);
        if state.opens == 0 && state.tasks == 0 && state.blocks.is_empty() && !state.late.has_task {
            let handle = state.handle;
            self.by_handle.remove(&handle);
            self.files.remove(file.index());
        }
    }

    /// Takes in attributes from the server; `changes` is the file's count when they were requested.
    pub(super) fn learn(&mut self, file: FileId, attributes: &Attributes, changes: u64) {
        let state = self.file(file);
        if state.changes != changes {
            return;
        }
        let version = FileVersion::of(attributes);
        let is_own = (state.is_explained || state.late.writes > 0) && !state.is_promise_broken();
        // Own writes never shorten a file, nor extend it beyond their own end.
        let has_own_size = (state.server_size_bytes..=state.size_bytes).contains(&version.size_bytes);
        let is_other = state.version != Some(version) && !(is_own && has_own_size);
        state.version = Some(version);
        state.is_explained = state.late.writes > 0;
        if !state.is_explained {
            state.promise = None;
        }
        state.server_size_bytes = attributes.size_bytes;
        if is_other {
            self.forget_clean(file);
        }
        self.measure(file);
    }

    /// Whether the file needs no check of its attributes at `now`.
    pub(super) fn is_checked(&self, file: FileId, now: Instant) -> bool {
        let state = self.file_ref(file);
        state.passing == 0 && state.checked_until.is_some_and(|until| now < until)
    }

    /// Whether a write-back task must be started; the caller that gets `true` starts it.
    pub(super) fn needs_task(&mut self, file: FileId) -> bool {
        let state = self.file(file);
        !state.dirty.is_empty() && !std::mem::replace(&mut state.late.has_task, true)
    }

    /// Computes the length of the file.
    pub(super) fn measure(&mut self, file: FileId) {
        let state = self.file_ref(file);
        let ends = state.dirty.iter().rev().find_map(|index| {
            let end = self.block_ref(*state.blocks.get(index)?).dirty_end();
            (end > 0).then(|| self.config.start(*index) + u64::from(end))
        });
        let size = state.server_size_bytes.max(ends.unwrap_or(0));
        self.file(file).size_bytes = size;
    }

    /// Invalidates a file that was changed at the server past the cache. Replies to earlier calls may be stale.
    pub(super) fn forget(&mut self, file: FileId) {
        self.forget_clean(file);
        let state = self.file(file);
        state.changes += 1;
        (state.version, state.checked_until) = (None, None);
        state.late.series.iter_mut().for_each(Series::forget_base);
    }

    /// Notes that a change past the cache begins.
    pub(super) fn begin_passing(&mut self, file: FileId) {
        self.forget(file);
        let state = self.file(file);
        state.passing += 1;
        state.tasks += 1;
    }

    /// Notes that such a change is over.
    pub(super) fn end_passing(&mut self, file: FileId) {
        self.forget(file);
        let state = self.file(file);
        state.passing -= 1;
        state.tasks -= 1;
        self.forget_unused(file);
    }

    /// The offset from which on the server surely has no bytes of a file.
    pub(super) fn empty_from(&self, file: FileId) -> u64 {
        let state = self.file_ref(file);
        if state.passing == 0 { state.server_size_bytes } else { u64::MAX }
    }

    /// Invalidates all clean data.
    pub(super) fn forget_clean(&mut self, file: FileId) {
        let all: Vec<(u64, BlockId)> = self.file(file).blocks.iter().map(|(index, slot)| (*index, *slot)).collect();
        for (index, slot) in all {
            if self.block(slot).is_dirty() {
                let block = self.block(slot);
                block.forget_clean();
                block.is_outdated = block.fill.is_some();
            } else {
                self.detach(index, slot);
            }
        }
    }

    /// Removes a block from its file.
    pub(super) fn detach(&mut self, index: u64, slot: BlockId) {
        let file = self.block(slot).file;
        self.file(file).blocks.remove(&index);
        self.block(slot).is_detached = true;
        self.order.remove(&slot);
        self.settle(slot);
    }

    /// Whether dirty blocks take more than half of their limit, or somebody waits for memory.
    pub(super) fn is_pressed(&self) -> bool {
        self.wants_room || self.dirty_blocks * 2 > self.config.max_dirty_blocks
    }
}

/// Blocks and the memory for them.
impl BlockTable {
    /// A file stays as long as somebody holds its number.
    pub(super) fn file(&mut self, file: FileId) -> &mut FileState {
        self.close_reader_window(file);
        &mut self.files[file.index()]
    }

    pub(super) fn file_ref(&self, file: FileId) -> &FileState {
        &self.files[file.index()]
    }

    pub(super) fn file_numbers(&self) -> impl Iterator<Item = FileId> {
        self.files.iter().map(|(number, _)| FileId::new(number))
    }

    /// The files with dirty blocks.
    pub(super) fn dirty_files(&self) -> impl Iterator<Item = FileId> {
        self.dirty_files.iter().copied()
    }

    /// A block stays as long as somebody holds its number.
    pub(super) fn block(&mut self, slot: BlockId) -> &mut Block {
        self.close_reader_window(self.block_ref(slot).file);
        &mut self.slots[slot.index()]
    }

    /// Closes the file's reader window, and takes over the position that its reader has reached.
    pub(super) fn close_reader_window(&mut self, file: FileId) {
        if let Some(state) = self.files.get_mut(file.index())
            && std::mem::take(&mut state.has_reader_window)
            && let Some((reader, next)) = state.reader_window.close()
        {
            self.readers[reader.index()].next_bytes = next;
        }
    }

    /// Opens the reader window. None of what it shows may change before [`BlockTable::close_reader_window`].
    pub(super) fn open_reader_window(&mut self, view: View) {
        let file = self.readers[view.reader.index()].file;
        let state = &mut self.files[file.index()];
        state.reader_window.open(view);
        state.has_reader_window = true;
    }

    pub(super) fn block_ref(&self, slot: BlockId) -> &Block {
        &self.slots[slot.index()]
    }

    pub(super) fn find(&self, file: FileId, index: u64) -> Option<BlockId> {
        self.file_ref(file).blocks.get(&index).copied()
    }

    /// Whether `slot` holds this very block of the file.
    pub(super) fn is_at(&self, slot: BlockId, file: FileId, index: u64) -> bool {
        let block = self.slots.get(slot.index());
        block.is_some_and(|block| block.file == file && block.index == index && !block.is_detached)
    }

    /// A new block. At the limit an old one is evicted; `None` while all are needed.
    pub(super) fn new_block(&mut self, file: FileId, index: u64) -> Option<BlockId> {
        if self.slots.len() >= self.config.max_blocks {
            let oldest = self.pop_oldest()?;
            let block = self.block_ref(oldest);
            let (index, of) = (block.index, block.file);
            self.detach(index, oldest);
            if of != file {
                self.forget_unused(of);
            }
        }
        let slot = BlockId::new(self.slots.insert(Block::new(file, index)));
        self.file(file).blocks.insert(index, slot);
        Some(slot)
    }

    /// Takes out of the order the block that was not used for longest.
    fn pop_oldest(&mut self) -> Option<BlockId> {
        for _ in 0..MAX_SPARED {
            let (oldest, ()) = self.order.pop_oldest()?;
            if !std::mem::take(&mut self.block(oldest).is_used) {
                return Some(oldest);
            }
            self.order.insert(oldest, ());
        }
        self.order.pop_oldest().map(|(oldest, ())| oldest)
    }

    pub(super) fn touch(&mut self, slot: BlockId) {
        self.block(slot).is_used = true;
    }

    /// Keeps the block until it is unpinned.
    pub(super) fn pin(&mut self, slot: BlockId) {
        self.block(slot).pins += 1;
        self.order.remove(&slot);
    }

    pub(super) fn unpin(&mut self, slot: BlockId) {
        self.block(slot).pins -= 1;
        self.settle(slot);
    }

    /// Makes a block that nobody needs now evictable, or drops it when no bytes of it are known.
    pub(super) fn settle(&mut self, slot: BlockId) {
        let block = self.block_ref(slot);
        if block.pins > 0 || block.fill.is_some() || block.is_dirty() {
            return;
        }
        if block.is_detached || block.known.is_empty() {
            let (file, index, is_detached) = (block.file, block.index, block.is_detached);
            if !is_detached {
                self.file(file).blocks.remove(&index);
            }
            self.order.remove(&slot);
            self.slots.remove(slot.index());
        } else {
            self.order.insert(slot, ());
        }
        self.tell_of_room();
    }

    pub(super) fn tell_of_room(&mut self) {
        if std::mem::take(&mut self.wants_room) {
            self.room.notify_waiters();
        }
    }

    /// Notes that somebody waits for memory, and wakes the writers that free it.
    pub(super) fn want_room(&mut self) {
        self.wants_room = true;
        self.dirty_files().for_each(|file| self.file_ref(file).late.wake.notify_one());
    }

    /// Wakes all tasks that write.
    pub(super) fn wake_all(&self) {
        self.files.iter().filter(|(_, file)| file.late.has_task).for_each(|(_, file)| file.late.wake.notify_one());
    }

    /// Updates what the file knows of its dirty blocks after a change of a block. Wakes those that wait until changes
    /// are written: a truncation ends their wait, too.
    pub(super) fn note_changes(&mut self, slot: BlockId) {
        let block = self.block(slot);
        let (file, index, is_dirty) = (block.file, block.index, block.is_dirty() && !block.is_detached);
        let ages = if is_dirty { block.ages() } else { BlockAges::CLEAN };
        let before = std::mem::replace(&mut block.counted_ages, ages);
        let state = self.file(file);
        state.ages.update(index, &before, &ages);
        if ages.have_advanced(&before) {
            state.late.progress.notify_waiters();
        }
        let differs = if is_dirty { state.dirty.insert(index) } else { state.dirty.remove(&index) };
        let has_dirty = !state.dirty.is_empty();
        match (differs, is_dirty) {
            (true, true) => {
                self.dirty_blocks += 1;
                self.dirty_files.insert(file);
                self.order.remove(&slot);
            }
            (true, false) => {
                self.dirty_blocks -= 1;
                if !has_dirty {
                    self.dirty_files.remove(&file);
                }
                self.settle(slot);
                self.tell_of_room();
            }
            (false, _) => {}
        }
    }
}

impl BlockTable {
    /// Takes own writes as the cause of every change of the file, for as long as `promise` holds. Returns `false` if an
    /// earlier promise in use is broken.
    pub(super) fn rely_on(&mut self, file: FileId, promise: Arc<dyn Promise>) -> bool {
        let state = self.file(file);
        let is_sound = !state.is_promise_broken();
        if is_sound {
            state.promise = Some(promise);
        }
        is_sound
    }
}

impl FileState {
    /// Whether somebody else may have changed the file while own writes were taken for the only ones.
    pub(super) fn is_promise_broken(&self) -> bool {
        self.promise.as_ref().is_some_and(|promise| !promise.holds())
    }
}

#[cfg(test)]
impl BlockTable {
    /// Panics unless the invariants at the top of this file hold.
    pub(super) fn check(&self) {
        assert!(self.slots.len() <= self.config.max_blocks && self.dirty_blocks <= self.config.max_dirty_blocks);
        let dirty = |(_, file): (usize, &FileState)| file.dirty.len();
        assert_eq!(self.files.iter().map(dirty).sum::<usize>(), self.dirty_blocks);
        let dirty_files = self.files.iter().filter(|(_, file)| !file.dirty.is_empty());
        assert!(dirty_files.map(|(number, _)| FileId::new(number)).eq(self.dirty_files()));
        let mut idle = 0;
        for (slot, block) in &self.slots {
            let file = self.files.get(block.file.index());
            let is_mapped = file.is_some_and(|file| file.blocks.get(&block.index) == Some(&BlockId::new(slot)));
            assert_eq!(is_mapped, !block.is_detached);
            assert!(block.is_detached || block.counted_ages == block.ages(), "block {}", block.index);
            let is_idle = block.pins == 0 && block.fill.is_none() && !block.is_dirty();
            idle += usize::from(is_idle);
        }
        assert_eq!(idle, self.order.len());
    }
}
