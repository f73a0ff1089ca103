//! The blocks of all files of a mount, and the memory that they take: no sockets, no tasks, no clock.
//!
//! What always holds:
//! - A block is in the map of its file unless it is detached, and then somebody waits for it or for its fill.
//! - A block is in `order`, and may be dropped at any time, exactly if nothing of it is changed, nobody waits for it, and
//!   nothing fills it.
//! - `order` says how long ago a block came into it. Whether it was used since is noted in the block, which a reader has at hand, while its
//!   neighbours in the order are anywhere in memory; one that was gets a new place when it would be dropped.
//! - Whoever may change a file or a block gets it from [`State::file`] or [`State::block`], which close the file's lens.
//! - There are at most [`Config::max_blocks`] blocks, and at most [`Config::max_unclean`] of them have changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use slab::Slab;
use tokio::sync::Notify;
use tokio::time::Instant;
use vfs::Attributes;

use super::block::Block;
use super::config::Config;
use super::failures::Failures;
use super::lens::{Lens, View};
use super::promise::Promise;
use super::read::Reader;
use super::series::Series;
use crate::cache::order::Order;
use crate::file::Io;
use crate::types::FileVersion;
use crate::{Error, Handle, WriteVerifier};

/// How many blocks are spared at a time because somebody used them; when all were, the oldest goes all the same.
const MAX_SPARED: usize = 64;

/// A file of which something is kept, or that is open.
#[derive(Debug)]
pub(super) struct FileState {
    pub(super) handle: Handle,
    /// How many are open.
    pub(super) opens: u32,
    /// How many tasks will come back to it.
    pub(super) tasks: u32,
    pub(super) blocks: BTreeMap<u64, u32>,
    /// Those of them that have changes.
    pub(super) unclean: BTreeSet<u64>,
    /// How long the file is, with what was not written yet.
    pub(super) size: u64,
    /// How long the server's file is.
    pub(super) server_size: u64,
    /// How many changes are under way that go past the cache.
    pub(super) passing: u32,
    /// Which state of the file its clean blocks are of; none when it is not known.
    pub(super) version: Option<FileVersion>,
    /// Whether own writes, whose replies did not tell of it, explain that the server has another version.
    pub(super) is_explained: bool,
    /// What those who wrote since the version was known relied on.
    pub(super) promise: Option<Arc<dyn Promise>>,
    /// Counts own changes at the server: attributes that were asked for before one may tell of the time before.
    pub(super) changes: u64,
    pub(super) checked_until: Option<Instant>,
    pub(super) late: LateWrites,
    pub(super) lens: Arc<Lens>,
    /// Whether it shows anything, as far as is known here.
    pub(super) has_lens: bool,
}

/// What is known of the changes of a file that are written late.
#[derive(Debug, Default)]
pub(super) struct LateWrites {
    /// How to write.
    pub(super) io: Option<Arc<Io>>,
    pub(super) has_task: bool,
    /// Wakes the task.
    pub(super) wake: Arc<Notify>,
    /// Tells of everything that ended.
    pub(super) progress: Arc<Notify>,
    /// Changes up to this number are wanted at the server, and on its stable storage.
    pub(super) flush_to: u64,
    pub(super) commit_to: u64,
    /// When everything is written although nobody asked for it.
    pub(super) deadline: Option<Instant>,
    /// Dirty bytes, about: what is written twice counts twice.
    pub(super) gathered_bytes: u64,
    /// How many WRITEs are under way.
    pub(super) writes: u32,
    /// What they tell of the file, while any is.
    pub(super) series: Option<Series>,
    pub(super) is_committing: bool,
    /// While this is not 0 nothing is sent.
    pub(super) holds: u32,
    /// What the newest unstable WRITE was answered with.
    pub(super) verifier: Option<WriteVerifier>,
    /// What it was when the COMMIT was sent.
    pub(super) committing: Option<WriteVerifier>,
    /// How often in a row the server lost what was unstable.
    pub(super) losses: u32,
    /// Where the next search for something to write begins.
    pub(super) cursor: u64,
    pub(super) failures: Failures,
}

impl LateWrites {
    /// Keeps an error for whoever wrote.
    pub(super) fn fail(&mut self, error: Error) {
        self.failures.note(self.io.as_ref(), error);
    }

    /// Whether the server may still carry something out.
    pub(super) fn is_under_way(&self) -> bool {
        self.writes > 0 || self.is_committing
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) config: Config,
    by_handle: HashMap<Handle, u32>,
    files: Slab<FileState>,
    pub(super) readers: Slab<Reader>,
    pub(super) slots: Slab<Block>,
    pub(super) order: Order<u32, ()>,
    /// Blocks that sequential readers of large files have left, oldest first: file, index and slot. They may be gone by now.
    pub(super) behind: VecDeque<(u32, u64, u32)>,
    /// How many blocks have changes.
    pub(super) unclean: usize,
    /// The number of the newest change.
    pub(super) newest_change: u64,
    /// While this is not 0 no file is written.
    pub(super) holds: u32,
    /// Somebody waits for memory.
    pub(super) wants_room: bool,
    pub(super) room: Arc<Notify>,
}

impl State {
    pub(super) fn new(config: Config) -> State {
        State {
            config,
            by_handle: HashMap::new(),
            files: Slab::new(),
            readers: Slab::new(),
            slots: Slab::new(),
            order: Order::default(),
            behind: VecDeque::new(),
            unclean: 0,
            newest_change: 0,
            holds: 0,
            wants_room: false,
            room: Arc::default(),
        }
    }

    /// Opens a file that is as `attributes` say, and begins a reader of it.
    pub(super) fn open(&mut self, handle: &Handle, attributes: &Attributes) -> (u32, u32) {
        let file = match self.by_handle.get(handle) {
            Some(file) => *file,
            None => self.new_file(handle),
        };
        let state = self.file(file);
        state.opens += 1;
        let changes = state.changes;
        self.learn(file, attributes, changes);
        let reader = self.readers.insert(Reader::new(file));
        (file, reader as u32)
    }

    /// The file of this handle, if anything is known of it.
    pub(super) fn find_file(&self, handle: &Handle) -> Option<u32> {
        self.by_handle.get(handle).copied()
    }

    fn new_file(&mut self, handle: &Handle) -> u32 {
        let state = FileState {
            handle: *handle,
            opens: 0,
            tasks: 0,
            blocks: BTreeMap::new(),
            unclean: BTreeSet::new(),
            size: 0,
            server_size: 0,
            passing: 0,
            version: None,
            is_explained: false,
            promise: None,
            changes: 0,
            checked_until: None,
            late: LateWrites::default(),
            lens: Arc::default(),
            has_lens: false,
        };
        let file = self.files.insert(state) as u32;
        self.by_handle.insert(*handle, file);
        file
    }

    /// Closes what [`State::open`] opened.
    pub(super) fn close(&mut self, file: u32, reader: u32) {
        self.close_lens(file);
        self.readers.remove(reader as usize);
        self.file(file).opens -= 1;
        self.forget_unused(file);
    }

    /// Forgets a file that nobody has open and of which nothing is kept.
    pub(super) fn forget_unused(&mut self, file: u32) {
        let state = self.file(file);
        if state.opens == 0 && state.tasks == 0 && state.blocks.is_empty() && !state.late.has_task {
            let handle = state.handle;
            self.by_handle.remove(&handle);
            self.files.remove(file as usize);
        }
    }

    /// Takes in what the server says of a file; `changes` is what it was when the server was asked.
    pub(super) fn learn(&mut self, file: u32, attributes: &Attributes, changes: u64) {
        let state = self.file(file);
        if state.changes != changes {
            return;
        }
        let version = FileVersion::of(attributes);
        let is_own = (state.is_explained || state.late.writes > 0) && !state.is_promise_broken();
        // Own writes make a file no shorter, and no longer than they reach.
        let has_own_size = (state.server_size..=state.size).contains(&version.size_bytes);
        let is_other = state.version != Some(version) && !(is_own && has_own_size);
        state.version = Some(version);
        state.is_explained = state.late.writes > 0;
        if !state.is_explained {
            state.promise = None;
        }
        state.server_size = attributes.size_bytes;
        if is_other {
            self.forget_clean(file);
        }
        self.measure(file);
    }

    /// Whether what is known of the file need not be looked at again.
    pub(super) fn is_checked(&self, file: u32, now: Instant) -> bool {
        let state = self.file_ref(file);
        state.passing == 0 && state.checked_until.is_some_and(|until| now < until)
    }

    /// Whether a task has to be started that writes what is changed; whoever gets `true` does it.
    pub(super) fn needs_task(&mut self, file: u32) -> bool {
        let state = self.file(file);
        !state.unclean.is_empty() && !std::mem::replace(&mut state.late.has_task, true)
    }

    /// Works out how long the file is.
    pub(super) fn measure(&mut self, file: u32) {
        let state = self.file_ref(file);
        let ends = state.unclean.iter().rev().find_map(|index| {
            let end = self.block_ref(*state.blocks.get(index)?).unclean_end();
            (end > 0).then(|| self.config.start(*index) + u64::from(end))
        });
        let size = state.server_size.max(ends.unwrap_or(0));
        self.file(file).size = size;
    }

    /// Notes that the file was changed at the server past the cache: what was asked for before may tell of the time before.
    pub(super) fn forget(&mut self, file: u32) {
        self.forget_clean(file);
        let state = self.file(file);
        state.changes += 1;
        (state.version, state.checked_until) = (None, None);
        state.late.series.iter_mut().for_each(Series::forget_base);
    }

    /// Notes that the file is changed past the cache from now on.
    pub(super) fn begin_passing(&mut self, file: u32) {
        self.forget(file);
        let state = self.file(file);
        state.passing += 1;
        state.tasks += 1;
    }

    /// Notes that such a change is over.
    pub(super) fn end_passing(&mut self, file: u32) {
        self.forget(file);
        let state = self.file(file);
        state.passing -= 1;
        state.tasks -= 1;
        self.forget_unused(file);
    }

    /// From where on the server surely has no bytes of a file.
    pub(super) fn empty_from(&self, file: u32) -> u64 {
        let state = self.file_ref(file);
        if state.passing == 0 { state.server_size } else { u64::MAX }
    }

    /// Forgets everything that was not changed here.
    pub(super) fn forget_clean(&mut self, file: u32) {
        let all: Vec<(u64, u32)> = self.file(file).blocks.iter().map(|(index, slot)| (*index, *slot)).collect();
        for (index, slot) in all {
            if self.block(slot).is_unclean() {
                let block = self.block(slot);
                block.forget_clean();
                block.is_outdated = block.fill.is_some();
            } else {
                self.detach(index, slot);
            }
        }
    }

    /// Takes a block out of its file.
    pub(super) fn detach(&mut self, index: u64, slot: u32) {
        let file = self.block(slot).file;
        self.file(file).blocks.remove(&index);
        self.block(slot).is_detached = true;
        self.order.remove(&slot);
        self.settle(slot);
    }

    /// Whether somebody's changes take more than half of what they may, or memory is wanted.
    pub(super) fn is_pressed(&self) -> bool {
        self.wants_room || self.unclean * 2 > self.config.max_unclean
    }
}

/// Blocks and the memory for them.
impl State {
    /// A file is kept for as long as somebody names it.
    pub(super) fn file(&mut self, file: u32) -> &mut FileState {
        self.close_lens(file);
        &mut self.files[file as usize]
    }

    pub(super) fn file_ref(&self, file: u32) -> &FileState {
        &self.files[file as usize]
    }

    pub(super) fn file_numbers(&self) -> impl Iterator<Item = u32> {
        self.files.iter().map(|(number, _)| number as u32)
    }

    /// A block is kept for as long as somebody names it.
    pub(super) fn block(&mut self, slot: u32) -> &mut Block {
        self.close_lens(self.block_ref(slot).file);
        &mut self.slots[slot as usize]
    }

    /// Has readers look at the blocks again, from where they have come to.
    pub(super) fn close_lens(&mut self, file: u32) {
        if let Some(state) = self.files.get_mut(file as usize)
            && std::mem::take(&mut state.has_lens)
            && let Some((reader, next)) = state.lens.close()
        {
            self.readers[reader as usize].next = next;
        }
    }

    /// Shows a reader what it will ask for, which nothing changed may be before [`State::close_lens`].
    pub(super) fn open_lens(&mut self, view: View) {
        let file = self.readers[view.reader as usize].file;
        let state = &mut self.files[file as usize];
        state.lens.open(view);
        state.has_lens = true;
    }

    pub(super) fn block_ref(&self, slot: u32) -> &Block {
        &self.slots[slot as usize]
    }

    pub(super) fn find(&self, file: u32, index: u64) -> Option<u32> {
        self.file_ref(file).blocks.get(&index).copied()
    }

    /// Whether `slot` holds this very block of the file.
    pub(super) fn is_at(&self, slot: u32, file: u32, index: u64) -> bool {
        let block = self.slots.get(slot as usize);
        block.is_some_and(|block| block.file == file && block.index == index && !block.is_detached)
    }

    /// A new block, for which an old one goes if it must, or `None` while all are needed.
    pub(super) fn new_block(&mut self, file: u32, index: u64) -> Option<u32> {
        if self.slots.len() >= self.config.max_blocks {
            let oldest = self.pop_oldest()?;
            let block = self.block_ref(oldest);
            let (index, of) = (block.index, block.file);
            self.detach(index, oldest);
            if of != file {
                self.forget_unused(of);
            }
        }
        let slot = self.slots.insert(Block::new(file, index)) as u32;
        self.file(file).blocks.insert(index, slot);
        Some(slot)
    }

    /// Takes the block out of the order that nobody used for long.
    fn pop_oldest(&mut self) -> Option<u32> {
        for _ in 0..MAX_SPARED {
            let (oldest, ()) = self.order.pop_oldest()?;
            if !std::mem::take(&mut self.block(oldest).is_used) {
                return Some(oldest);
            }
            self.order.insert(oldest, ());
        }
        self.order.pop_oldest().map(|(oldest, ())| oldest)
    }

    /// Notes that a block was used.
    pub(super) fn touch(&mut self, slot: u32) {
        self.block(slot).is_used = true;
    }

    /// Nobody may drop the block until it is unpinned.
    pub(super) fn pin(&mut self, slot: u32) {
        self.block(slot).pins += 1;
        self.order.remove(&slot);
    }

    pub(super) fn unpin(&mut self, slot: u32) {
        self.block(slot).pins -= 1;
        self.settle(slot);
    }

    /// Keeps a block that nobody needs at the moment in the order of use, or drops it when nothing is known of it.
    pub(super) fn settle(&mut self, slot: u32) {
        let block = self.block_ref(slot);
        if block.pins > 0 || block.fill.is_some() || block.is_unclean() {
            return;
        }
        if block.is_detached || block.known.is_empty() {
            let (file, index, is_detached) = (block.file, block.index, block.is_detached);
            if !is_detached {
                self.file(file).blocks.remove(&index);
            }
            self.order.remove(&slot);
            self.slots.remove(slot as usize);
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

    /// Notes that somebody waits for memory, which writing changes gives.
    pub(super) fn want_room(&mut self) {
        self.wants_room = true;
        self.wake_all();
    }

    /// Wakes all tasks that write.
    pub(super) fn wake_all(&self) {
        self.files.iter().filter(|(_, file)| file.late.has_task).for_each(|(_, file)| file.late.wake.notify_one());
    }

    /// Notes whether a block has changes, after that may have become different.
    pub(super) fn note_changes(&mut self, slot: u32) {
        let block = self.block_ref(slot);
        let (file, index, is_unclean, is_detached) = (block.file, block.index, block.is_unclean(), block.is_detached);
        let is_unclean = is_unclean && !is_detached;
        let state = self.file(file);
        let differs = if is_unclean { state.unclean.insert(index) } else { state.unclean.remove(&index) };
        match (differs, is_unclean) {
            (true, true) => {
                self.unclean += 1;
                self.order.remove(&slot);
            }
            (true, false) => {
                self.unclean -= 1;
                self.settle(slot);
                self.tell_of_room();
            }
            (false, _) => {}
        }
    }
}

#[cfg(test)]
impl State {
    /// Panics unless what is said at the top of this file holds.
    pub(super) fn check(&self) {
        assert!(self.slots.len() <= self.config.max_blocks && self.unclean <= self.config.max_unclean);
        let unclean = |(_, file): (usize, &FileState)| file.unclean.len();
        assert_eq!(self.files.iter().map(unclean).sum::<usize>(), self.unclean);
        let mut idle = 0;
        for (slot, block) in &self.slots {
            let file = self.files.get(block.file as usize);
            let is_mapped = file.is_some_and(|file| file.blocks.get(&block.index) == Some(&(slot as u32)));
            assert_eq!(is_mapped, !block.is_detached);
            let is_idle = block.pins == 0 && block.fill.is_none() && !block.is_unclean();
            idle += usize::from(is_idle);
        }
        assert_eq!(idle, self.order.len());
    }
}
