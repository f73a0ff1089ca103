//! Searching the export for a file that is not where it was, because somebody on the host has moved it.
//!
//! Every file that the walk meets and that has a number is looked up, and its place is written down: when a tool moves
//! many files, the first one that is asked for finds all of them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Instant;

use rustix::fs::{FileType, OFlags, RawDir, RawDirEntry, SeekFrom, Statx, seek};
use vfs::{Context, Error, FileKind, Result};

use crate::attributes::{kind, stat_name};
use crate::failure::failed;
use crate::handles::{FileAt, StoredHandles};
use crate::host::HostFs;
use crate::node::{HostNode, reopen};
use crate::store::StoredFile;
use crate::walk::{TURN_ENTRIES, Walk, WalkPosition};

/// How much of a directory is taken from the kernel at once, in bytes.
const BATCH_BYTES: usize = 16 * 1024;

/// One turn of a walk.
struct WalkTurn<'a> {
    stored: &'a StoredHandles,
    walk: &'a mut Walk,
    /// The file that ends it when it is met.
    target: u64,
    is_found: bool,
    entries_left: usize,
}

/// A directory of the walk.
struct WalkedDir<'a> {
    id: u64,
    node: &'a HostNode,
    descends: bool,
}

impl HostFs {
    /// Looks for a file everywhere.
    ///
    /// # Errors
    /// [`Error::TryLater`] while the search goes on, [`Error::Stale`] when it found nothing.
    pub(crate) fn search(&self, cx: &Context<'_>, stored: &StoredHandles, record: &StoredFile) -> Result<OwnedFd> {
        if self.searches.vain().has(record, Instant::now()) {
            return Err(Error::Stale);
        }
        if !cx.may_block {
            return Err(Error::WouldBlock);
        }
        self.searches.vain().ask(record);
        // Somebody else's search, such as that for a directory above, may have met it.
        if stored.store.record(record.id).map_err(Error::Io)?.as_ref() != Some(record) {
            return self.open_found(cx, stored, record.id);
        }
        let mut walks = self.searches.take_turn().ok_or_else(later)?;
        thread::sleep(walks.rest(Instant::now()).map_err(|_| later())?);
        let called = Instant::now();
        let met = self.carry_on(cx, stored, walks.go_on(called, stored.store.next_id()), record);
        let ended = walks.end_turn(called, Instant::now());
        drop(walks);
        let is_found = met?;
        match ended {
            _ if is_found => self.open_found(cx, stored, record.id),
            Some(walk) => self.give_up(stored, record, walk, called),
            None => Err(later()),
        }
    }

    /// Gives back the memory of searches that are over.
    pub(crate) fn tidy_searches(&self) {
        let now = Instant::now();
        self.searches.vain().expire(now);
        if let Some(mut walks) = self.searches.take_turn() {
            walks.drop_idle(now);
        }
    }

    /// Makes one turn of the walk and says whether it met the file.
    fn carry_on(&self, cx: &Context<'_>, stored: &StoredHandles, walk: &mut Walk, record: &StoredFile) -> Result<bool> {
        walk.look_first(record.parent);
        let mut turn = WalkTurn { stored, walk, target: record.id, is_found: false, entries_left: TURN_ENTRIES };
        while turn.goes_on()
            && let Some(stop) = turn.walk.next()
        {
            match self.visit(cx, &mut turn, stop) {
                // A directory that has gone meanwhile, or that nobody may read, has nothing in it.
                Ok(()) | Err(Error::Stale | Error::NoEntry | Error::NotDirectory | Error::AccessDenied) => {}
                Err(error) if error.lacks_descriptors() => {
                    turn.walk.pause(stop);
                    return Err(error);
                }
                Err(_) => turn.walk.miss(),
            }
        }
        let is_found = turn.is_found;
        self.keep_handles()?;
        Ok(is_found)
    }

    /// The file was met, and its place is known now.
    fn open_found(&self, cx: &Context<'_>, stored: &StoredHandles, id: u64) -> Result<OwnedFd> {
        let record = stored.store.record(id).map_err(Error::Io)?.ok_or(Error::Stale)?;
        self.open_in_place(cx, stored, &record, 0)?.ok_or_else(later)
    }

    /// Nothing was found. A walk that this very call began leaves no doubt that the file is gone.
    fn give_up(&self, stored: &StoredHandles, record: &StoredFile, walk: Walk, called: Instant) -> Result<OwnedFd> {
        let is_gone = walk.began() == called && walk.is_whole();
        self.searches.vain().end(walk, Instant::now());
        if is_gone {
            stored.store.forget(record.id).map_err(Error::Io)?;
        }
        Err(Error::Stale)
    }

    fn visit(&self, cx: &Context<'_>, turn: &mut WalkTurn<'_>, stop: WalkPosition) -> Result<()> {
        let node = HostNode::new(self.open_dir(cx, turn.stored, stop.dir)?, FileKind::Directory);
        let dir = WalkedDir { id: stop.dir, node: &node, descends: stop.descends };
        let listing = reopen(node.fd(), OFlags::RDONLY | OFlags::DIRECTORY)?;
        seek(&listing, SeekFrom::Start(stop.cookie)).map_err(failed)?;
        let mut buffer = [const { MaybeUninit::uninit() }; BATCH_BYTES];
        let mut entries = RawDir::new(&listing, &mut buffer);
        turn.count();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            self.meet(cx, turn, &dir, &entry)?;
            if !turn.goes_on() {
                turn.walk.pause(WalkPosition { cookie: entry.next_entry_cookie(), ..stop });
                break;
            }
        }
        Ok(())
    }

    fn open_dir(&self, cx: &Context<'_>, stored: &StoredHandles, id: u64) -> Result<OwnedFd> {
        if id == crate::store::ROOT_ID {
            return self.open_root();
        }
        let record = stored.store.record(id).map_err(Error::Io)?.ok_or(Error::Stale)?;
        self.open_in_place(cx, stored, &record, 0)?.ok_or(Error::Stale)
    }

    fn meet(
        &self,
        cx: &Context<'_>,
        turn: &mut WalkTurn<'_>,
        dir: &WalkedDir<'_>,
        entry: &RawDirEntry<'_>,
    ) -> Result<()> {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            return Ok(());
        }
        turn.count();
        turn.walk.see(entry.ino());
        let Ok(stat) = stat_name(dir.node.fd(), name) else { return Ok(()) };
        if !self.volume.holds(&stat) {
            return Ok(());
        }
        let is_dir =
            matches!(entry.file_type(), FileType::Directory | FileType::Unknown) && kind(&stat) == FileKind::Directory;
        // Should the name pass to another file between the two answers, they are those of no file that is known.
        let Ok(fingerprint) = turn.stored.fingerprint(FileAt { fd: dir.node.fd(), path: name, stat: &stat }) else {
            return Ok(());
        };
        let seen = StoredFile { id: 0, parent: dir.id, name: name.to_bytes().to_vec(), fingerprint };
        if is_dir && dir.descends {
            let id = turn.stored.store.id(seen, true).map_err(Error::Io)?;
            turn.walk.add(id);
            turn.is_found |= id == turn.target;
            return Ok(());
        }
        self.learn(cx, turn, seen, &stat)
    }

    /// Writes down where a file is that has a number. One with several names keeps the one that is known, if it is
    /// still there.
    fn learn(&self, cx: &Context<'_>, turn: &mut WalkTurn<'_>, seen: StoredFile, stat: &Statx) -> Result<()> {
        let stored = turn.stored;
        let Some(known) = stored.store.known(&seen.fingerprint).map_err(Error::Io)? else { return Ok(()) };
        turn.is_found |= known.id == turn.target;
        if (known.parent, &known.name) == (seen.parent, &seen.name) {
            return Ok(());
        }
        let has_one_name = stat.stx_nlink == 1 || kind(stat) == FileKind::Directory;
        if has_one_name || !matches!(self.open_in_place(cx, stored, &known, 0), Ok(Some(_))) {
            stored.store.put(StoredFile { id: known.id, ..seen }).map_err(Error::Io)?;
        }
        Ok(())
    }
}

impl WalkTurn<'_> {
    fn count(&mut self) {
        self.entries_left = self.entries_left.saturating_sub(1);
    }

    fn goes_on(&self) -> bool {
        self.entries_left > 0 && !self.is_found
    }
}

/// The client asks again, and by then the walk has come further.
fn later() -> Error {
    Error::TryLater(io::Error::new(io::ErrorKind::WouldBlock, "the file is being searched for"))
}
