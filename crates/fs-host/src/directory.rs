//! Listings. Names come from memory while the directory is unchanged (`metadata/listings.rs`), else from the kernel.

use std::ffi::CStr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use vfs::{Context, Detail, DirEntry, EachEntry, Entry, Error, Listing, ReadDir, Result};

use crate::attributes::timestamp;
use crate::handles::NameAt;
use crate::host::HostFs;
use crate::metadata::{ChunkEntry, DirChunk, DirState};
use crate::node::HostNode;

/// How long a listing goes on where it must not block; then it ends early with what it has.
const MAX_TIME_ON_LOOP: Duration = Duration::from_millis(2);

/// How many entries are given between two looks at the clock.
const ENTRIES_PER_LOOK: u32 = 64;

impl HostFs {
    pub(crate) fn list(&self, cx: &Context<'_>, list: &ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        if !self.may_wait(cx) && list.detail != Detail::Names {
            // Nothing tells whether the kernel has the inodes of all entries in memory.
            return Err(Error::WouldBlock);
        }
        let dir = self.dir_node(cx, list.dir)?;
        self.identity.own()?;
        let before = self.clock.earlier();
        let stat = self.stat_living(list.dir, &dir)?;
        let state = DirState { dir: list.dir, before, changed: timestamp(stat.stx_ctime) };
        let mut budget = ListingBudget::new(cx);
        let mut after = list.after;
        loop {
            let chunk = match self.chunk(cx, &dir, state, after) {
                Err(Error::WouldBlock) if after != list.after => return Ok(Listing::Stopped),
                chunk => chunk?,
            };
            for entry in chunk.after(after).unwrap_or_default() {
                let site = NameAt { dir: list.dir, node: &dir, name: chunk.name(entry) };
                if each(self.dir_entry(cx, site, list.detail, entry)).is_break() || budget.is_spent() {
                    self.keep_handles()?;
                    return Ok(Listing::Stopped);
                }
            }
            match chunk.next() {
                Some(next) => after = next,
                None => break,
            }
        }
        self.keep_handles()?;
        Ok(Listing::Complete)
    }

    /// What comes after a cookie.
    fn chunk(&self, cx: &Context<'_>, dir: &HostNode, state: DirState<'_>, after: u64) -> Result<Arc<DirChunk>> {
        if let Some(chunk) = self.listings.as_ref().and_then(|listings| listings.find(state, after)) {
            return Ok(chunk);
        }
        if !self.may_wait(cx) {
            // Nothing tells whether the kernel has the directory's blocks in memory.
            return Err(Error::WouldBlock);
        }
        let is_proved = state.before <= self.clock.read() && state.before.is_after(state.changed);
        let keeper = self.listings.as_ref().filter(|_| is_proved);
        let fd = self.with_room(cx, || dir.listing())?;
        let position = dir.position.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = DirChunk::read(fd, after, keeper.is_some())?;
        drop(position);
        Ok(match keeper {
            Some(listings) => listings.keep(state, chunk),
            None => Arc::new(chunk),
        })
    }

    /// Whether this thread may wait, or never has to.
    fn may_wait(&self, cx: &Context<'_>) -> bool {
        cx.may_block || self.volume.is_memory
    }

    fn dir_entry<'e>(&self, cx: &Context<'_>, site: NameAt<'e>, detail: Detail, listed: &ChunkEntry) -> DirEntry<'e> {
        let found = match detail {
            Detail::Names => None,
            // Some file systems keep no kinds beside the names.
            Detail::Kinds if listed.kind.is_some() => None,
            Detail::Kinds | Detail::Entries => self.find(cx, site).ok(),
        };
        DirEntry {
            name: CStr::to_bytes(site.name),
            fileid: found.map_or(listed.fileid, |found: Entry| found.attributes.fileid),
            cookie: listed.cookie,
            kind: found.map(|found| found.attributes.kind).or(listed.kind),
            entry: found,
        }
    }
}

/// The time that a listing may take on a thread that must not block.
struct ListingBudget {
    deadline: Option<Instant>,
    entries: u32,
}

impl ListingBudget {
    fn new(cx: &Context<'_>) -> ListingBudget {
        let deadline = (!cx.may_block).then(|| Instant::now() + MAX_TIME_ON_LOOP);
        ListingBudget { deadline, entries: 0 }
    }

    fn is_spent(&mut self) -> bool {
        self.entries += 1;
        self.entries.is_multiple_of(ENTRIES_PER_LOOK) && self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}
