//! The walk through an export that looks for files that somebody on the host has moved: what it has still to look at,
//! and what it came to. It is shared by all who look for a file, and makes no system call itself; `search.rs` carries
//! it out.
//!
//! A client can ask for any number of files that are gone. So there is one walk at a time, a thread works on it only
//! for a turn, and it rests between turns and between walks. Its memory is bounded however large the tree is:
//! directories wait by their numbers.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::store::{NO_FILEID, StoredFile};

/// How many entries one turn looks at: about 100 ms of work.
pub(crate) const TURN_ENTRIES: usize = 20_000;

/// How many directories may wait to be looked at: 8 MiB.
const MAX_QUEUED: usize = 1 << 20;

/// How many directories are looked at before their turn, because a file was last seen there.
const MAX_FIRST: usize = 4096;

/// How many files are remembered for which a search was asked for, or was in vain.
const MAX_ASKED: usize = 16_384;

/// A walk that is over is followed by a rest this many times as long as the work on it.
const REST_FACTOR: u32 = 9;

/// A rest that is shorter than this is waited for.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// A walk that nobody carries on for this long is given up: what it saw is no longer true.
const MAX_IDLE: Duration = Duration::from_secs(60);

/// How long a file that was searched for in vain is not searched for again.
const VAIN_HOLDS: Duration = Duration::from_secs(60);

/// How long a look at the whole tree speaks for files that were not in it. When somebody on the host removes many
/// files, the first one that is asked for is searched and the others are known to be gone.
const EVIDENCE_HOLDS: Duration = Duration::from_secs(5);

/// The bits that remember which files a walk saw: 1 MiB. When several files share one, none of them is taken for gone.
const SEEN_BITS: usize = 1 << 23;

/// The walk of an export, and when it may go on.
#[derive(Debug, Default)]
pub(crate) struct Walks {
    walk: Option<Walk>,
    resting_until: Option<Instant>,
}

/// A walk that is in progress.
#[derive(Debug)]
pub(crate) struct Walk {
    began: Instant,
    last_turn: Instant,
    worked: Duration,
    /// It says nothing of files that were numbered from here on.
    below_id: u64,
    first: VecDeque<WalkPosition>,
    was_first: HashSet<u64>,
    queue: VecDeque<u64>,
    current: Option<WalkPosition>,
    is_whole: bool,
    seen: SeenFiles,
}

/// What all searches of an export share.
#[derive(Debug, Default)]
pub(crate) struct Searches {
    /// Held for a turn: whoever does not get it tries again later, so that one search occupies one thread.
    walks: Mutex<Walks>,
    vain: Mutex<Vain>,
}

/// A directory to look at, from this position on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalkPosition {
    pub(crate) dir: u64,
    pub(crate) cookie: u64,
    /// Whether the directories in it are looked at too.
    pub(crate) descends: bool,
}

/// What searches came to that found nothing.
#[derive(Debug, Default)]
pub(crate) struct Vain {
    /// Files for which a search was asked for and has not ended, and the places where they were not.
    asked: HashMap<u64, u64>,
    /// Files that were searched for in vain, until when that holds, and the places where they were not.
    until: HashMap<u64, (Instant, u64)>,
    evidence: Option<WalkResult>,
}

/// What a walk through the whole tree saw.
#[derive(Debug)]
struct WalkResult {
    ended: Instant,
    below_id: u64,
    seen: SeenFiles,
}

/// Numbers of files, each as one bit.
#[derive(Debug)]
struct SeenFiles(Box<[u64]>);

impl Searches {
    pub(crate) fn vain(&self) -> MutexGuard<'_, Vain> {
        self.vain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to walk, unless another search has it.
    pub(crate) fn take_turn(&self) -> Option<MutexGuard<'_, Walks>> {
        match self.walks.try_lock() {
            Ok(walks) => Some(walks),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Walks {
    /// How long to wait before the next turn; `Err` when that is too long for a thread.
    pub(crate) fn rest(&self, now: Instant) -> Result<Duration, Duration> {
        let left = self.resting_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        if left <= MAX_WAIT { Ok(left) } else { Err(left) }
    }

    /// The walk that is in progress, or a new one through an export whose next file gets the number `next_id`.
    pub(crate) fn go_on(&mut self, now: Instant, next_id: u64) -> &mut Walk {
        self.drop_idle(now);
        self.walk.get_or_insert_with(|| Walk::new(now, next_id))
    }

    /// Gives up a walk that nobody carries on.
    pub(crate) fn drop_idle(&mut self, now: Instant) {
        self.walk.take_if(|walk| now.saturating_duration_since(walk.last_turn) > MAX_IDLE);
    }

    /// Ends a turn: the next one comes after a rest of the same length. Returns the walk when that was its last one.
    pub(crate) fn end_turn(&mut self, began: Instant, now: Instant) -> Option<Walk> {
        let worked = now.saturating_duration_since(began);
        let walk = self.walk.as_mut()?;
        walk.worked += worked;
        walk.last_turn = now;
        let ended = if walk.is_over() { self.walk.take() } else { None };
        let rest = ended.as_ref().map_or(worked, |walk| walk.worked * REST_FACTOR);
        self.resting_until = Some(now + rest);
        ended
    }
}

impl Walk {
    fn new(now: Instant, below_id: u64) -> Walk {
        Walk {
            began: now,
            last_turn: now,
            worked: Duration::ZERO,
            below_id,
            first: VecDeque::new(),
            was_first: HashSet::new(),
            queue: VecDeque::from([crate::store::ROOT_ID]),
            current: None,
            is_whole: true,
            seen: SeenFiles::new(),
        }
    }

    /// When it began.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Whether it has left nothing out.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Looks at a directory soon, and not at those in it: most files that are moved stay where they are, under another
    /// name.
    pub(crate) fn look_first(&mut self, dir: u64) {
        if self.was_first.len() < MAX_FIRST && self.was_first.insert(dir) {
            self.first.push_back(WalkPosition { dir, cookie: 0, descends: false });
        }
    }

    /// The next directory.
    pub(crate) fn next(&mut self) -> Option<WalkPosition> {
        let queued = |dir| WalkPosition { dir, cookie: 0, descends: true };
        let first = self.first.pop_front().or_else(|| self.current.take());
        first.or_else(|| self.queue.pop_front().map(queued))
    }

    /// Goes on with a directory later.
    pub(crate) fn pause(&mut self, stop: WalkPosition) {
        if stop.descends { self.current = Some(stop) } else { self.first.push_front(stop) }
    }

    /// Says that something could not be looked at, so that nothing is taken for gone.
    pub(crate) fn miss(&mut self) {
        self.is_whole = false;
    }

    /// Adds a directory.
    pub(crate) fn add(&mut self, dir: u64) {
        if self.queue.len() < MAX_QUEUED { self.queue.push_back(dir) } else { self.is_whole = false }
    }

    /// Remembers that a file was seen.
    pub(crate) fn see(&mut self, fileid: u64) {
        self.seen.add(fileid);
    }

    fn is_over(&self) -> bool {
        self.first.is_empty() && self.current.is_none() && self.queue.is_empty()
    }
}

impl Vain {
    /// Whether a file is known to be gone, or was lately searched for in vain.
    pub(crate) fn has(&self, record: &StoredFile, now: Instant) -> bool {
        // A file that was found since is known to be in another place.
        let holds = |&(until, place)| now < until && place == place_of(record);
        let is_vain = self.until.get(&record.id).is_some_and(holds);
        is_vain || self.evidence.as_ref().is_some_and(|evidence| evidence.excludes(record, now))
    }

    /// Remembers that somebody looks for a file.
    pub(crate) fn ask(&mut self, record: &StoredFile) {
        if self.asked.len() < MAX_ASKED {
            self.asked.insert(record.id, place_of(record));
        }
    }

    /// Takes what a walk came to that is over: whoever asked for a file and still does not find it has done so in vain.
    pub(crate) fn end(&mut self, walk: Walk, now: Instant) {
        self.until.retain(|_, (until, _)| now < *until);
        let room = MAX_ASKED.saturating_sub(self.until.len());
        self.until.extend(self.asked.drain().take(room).map(|(id, place)| (id, (now + VAIN_HOLDS, place))));
        let Walk { below_id, seen, is_whole, .. } = walk;
        self.evidence = is_whole.then_some(WalkResult { ended: now, below_id, seen });
    }

    /// Gives back the memory of what no longer holds.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.until.retain(|_, (until, _)| now < *until);
        self.evidence.take_if(|evidence| !evidence.holds(now));
    }
}

/// What tells a file's last known place from others.
fn place_of(record: &StoredFile) -> u64 {
    let mut hasher = DefaultHasher::new();
    (record.parent, &record.name).hash(&mut hasher);
    hasher.finish()
}

impl WalkResult {
    fn holds(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.ended) < EVIDENCE_HOLDS
    }

    fn excludes(&self, record: &StoredFile, now: Instant) -> bool {
        let fileid = record.fingerprint.fileid;
        record.id < self.below_id && self.holds(now) && fileid != NO_FILEID && !self.seen.has(fileid)
    }
}

impl SeenFiles {
    fn new() -> SeenFiles {
        SeenFiles(vec![0; SEEN_BITS / 64].into_boxed_slice())
    }

    fn add(&mut self, fileid: u64) {
        let (word, bit) = SeenFiles::place(fileid);
        self.0[word] |= bit;
    }

    fn has(&self, fileid: u64) -> bool {
        let (word, bit) = SeenFiles::place(fileid);
        self.0[word] & bit != 0
    }

    fn place(fileid: u64) -> (usize, u64) {
        let bit = fileid.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SEEN_BITS.ilog2());
        (bit as usize / 64, 1 << (bit % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Fingerprint;

    const SECOND: Duration = Duration::from_secs(1);

    fn file(id: u64) -> StoredFile {
        let fingerprint = Fingerprint { fileid: id, device: 0, evidence: Vec::new() };
        StoredFile { id, parent: 0, name: Vec::new(), fingerprint }
    }

    /// Carries a walk out that takes a second and sees `seen`.
    fn walk(walks: &mut Walks, now: Instant, seen: &[u64]) -> Walk {
        let walk = walks.go_on(now, 100);
        while walk.next().is_some() {}
        seen.iter().for_each(|&fileid| walk.see(fileid));
        walks.end_turn(now, now + SECOND).unwrap()
    }

    #[test]
    fn turn_is_followed_by_a_rest_and_a_walk_by_a_longer_one() {
        let (mut walks, now) = (Walks::default(), Instant::now());
        assert_eq!(walks.rest(now), Ok(Duration::ZERO));
        walks.go_on(now, 100);
        assert!(walks.end_turn(now, now + SECOND).is_none());
        assert_eq!(walks.rest(now + SECOND), Err(SECOND));
        assert_eq!(walks.rest(now + 2 * SECOND), Ok(Duration::ZERO));
        walk(&mut walks, now + 2 * SECOND, &[]);
        // Two seconds of work in all.
        assert_eq!(walks.rest(now + 3 * SECOND), Err(18 * SECOND));
    }

    #[test]
    fn directories_come_once_each_the_first_ones_before_the_others() {
        let (mut walks, now) = (Walks::default(), Instant::now());
        let walk = walks.go_on(now, 100);
        let stop = walk.next().unwrap();
        assert_eq!(stop, WalkPosition { dir: 0, cookie: 0, descends: true });
        walk.pause(WalkPosition { cookie: 5, ..stop });
        (0..2).for_each(|_| walk.look_first(7));
        walk.add(8);
        let order: Vec<_> = std::iter::from_fn(|| walk.next()).map(|stop| (stop.dir, stop.cookie)).collect();
        assert_eq!(order, [(7, 0), (0, 5), (8, 0)]);
    }

    #[test]
    fn file_that_a_walk_did_not_see_is_gone_for_a_while_and_one_that_was_asked_for_longer() {
        let (mut walks, mut vain, now) = (Walks::default(), Vain::default(), Instant::now());
        vain.ask(&file(1));
        let ended = now + SECOND;
        vain.end(walk(&mut walks, now, &[1, 2]), ended);
        let gone = |id, after| vain.has(&file(id), ended + after);
        assert!(gone(1, SECOND) && gone(3, SECOND) && !gone(2, SECOND));
        assert!(gone(1, 59 * SECOND) && !gone(3, 6 * SECOND) && !gone(1, 61 * SECOND));
        let elsewhere = StoredFile { parent: 9, ..file(1) };
        assert!(!vain.has(&elsewhere, ended + SECOND), "it was found since");
        // It was numbered later.
        assert!(!gone(100, SECOND));
    }

    #[test]
    fn memory_is_bounded_however_many_ask_and_however_many_directories_there_are() {
        let (mut walks, mut vain, now) = (Walks::default(), Vain::default(), Instant::now());
        (0..100_000).for_each(|id| vain.ask(&file(id)));
        assert_eq!(vain.asked.len(), MAX_ASKED);
        let walk = walks.go_on(now, 100);
        (0..=MAX_QUEUED as u64).for_each(|dir| walk.add(dir));
        (0..100_000).for_each(|dir| walk.look_first(dir));
        assert_eq!((walk.queue.len(), walk.first.len(), walk.is_whole), (MAX_QUEUED, MAX_FIRST, false));
    }
}
