//! The replay cache: replies to calls that are not idempotent, so that a retransmitted call gets the first one's reply
//! (RFC 1813 §4.5, "duplicate request cache").
//!
//! # Which calls are equal
//! A call is identified by its sender's address, its XID and all of its bytes but the stamp and the machine name of an
//! AUTH_SYS credential ([`rpc::identifying_parts`]); a WRITE in a datagram by its length and first bytes. Replies are
//! small, since only calls that change names and attributes are kept, and WRITEs in datagrams. A late duplicate of a
//! WRITE must not overwrite newer data.
//!
//! Processes behind one address may use equal XIDs and bytes. So a datagram is a retransmission only if it comes from
//! the same port. A call over another connection is one only if the first connection may have lost the reply. That is
//! so if it broke ([`Server::disconnected`](crate::Server::disconnected)), if it does not acknowledge the reply
//! ([`Connections`](crate::Connections)), or if the server restarted. A client that has its reply does not retransmit,
//! so another process's call replaces the entry. Linux's knfsd always compares address and port, and relies on clients
//! that reconnect from the same port. FreeBSD compares connections and acknowledged bytes, as this cache does.
//!
//! A client may abandon a connection without the server's notice; it then acknowledges nothing. The same is true, for a
//! while, of a live client that does not read. After a second without an acknowledgement or a further call, the
//! connection counts as lost.
//!
//! # After a restart
//! A killed server loses its memory, and clients retransmit the calls whose replies were lost. So each reply is also
//! written to a [`ReplyLog`] before it is sent, and a starting server reads the log.
//!
//! The server can also be killed between a change and its reply. So a call that changes names is logged right before
//! the change, with the state before it ([`record::NameChange`]). From its look at the names until its reply is in the
//! log, no other call changes them ([`names::NameSlots`]). A starting server compares each unanswered record with the
//! files before it answers any call: only the logged call or a local process can have changed the names since. The
//! change counts as made by the call if
//! - a new file exists where none was, of the kind that the call makes, with its owner, created within a second of the
//!   record;
//! - the file of a LINK has the name, and its ctime is within that second;
//! - a removed name is gone, and the ctime of its directory is within that second;
//! - a moved file has its new name and not the old one, and its ctime is within that second.
//!
//! A retransmission of such a call succeeds without any action. In all other cases the call runs like a new one. If
//! that is wrong, the client gets EXIST or NOENT for its own change, as with every server without a log. Two clients
//! never both succeed in making the same name. One case remains: the server is killed in the microseconds between
//! record and change, and a local process makes the same change within the second. See [`verification`].
//!
//! Operations of NFSv4.1 and later are logged in the same way, until the reply to their COMPOUND is in the log
//! ([`operations`]). That reply is replayed in the session that ended with the process ([`lost_sessions`]).

mod key;
mod lost_sessions;
mod made;
mod names;
mod operations;
pub(crate) mod record;
mod tickets;
pub(crate) mod verification;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use peer::{Peer, Transport};
use state::SlotRequest;
use vfs::Handle;
use xdr::{Decode, Decoder};

use crate::handle::HandleKey;
pub(crate) use key::{MAX_REPLY_BYTES, ReplayKey};
use lost_sessions::LostSessions;
pub(crate) use lost_sessions::OldSessionReply;
pub(crate) use made::Finished;
pub use made::MadeBefore;
use made::{MadeStep, step_bytes};
pub(crate) use names::{NameSlot, NameSlots};
pub(crate) use operations::CompoundChanges;
use record::{DoneStep, FileBytes, NameChange, ReplyBytes, ReplyLogRecord, Step};
use verification::Verification;

/// The number of shards, each with its own lock.
const SHARDS: usize = 16;

/// The bytes of a WRITE that identify it: the headers, the arguments and the beginning of the data. Hashing all data
/// would take longer than writing it.
const MAX_WRITE_KEY_BYTES: usize = 1024;

/// The connection of calls in datagrams, or from before a restart.
const NO_CONNECTION: u64 = 0;

/// Stores replies beyond the end of the process.
pub trait ReplyLog: Send + Sync {
    /// Stores a record. When this returns, the record survives the end of the process, though not that of the machine.
    fn keep(&self, record: &[u8]);
}

/// A call in the cache.
#[derive(Debug)]
struct CachedCall {
    /// The connection it arrived over.
    connection: u64,
    state: CachedCallState,
}

#[derive(Debug)]
enum CachedCallState {
    InProgress,
    Answered(Box<[u8]>),
    /// An earlier process made these steps of the call, and was killed before it replied.
    Happened(Vec<Finished>),
}

#[derive(Debug, Default)]
struct CacheShard {
    /// The hash of a key is a part of it that no peer can choose.
    entries: foldhash::HashMap<ReplayKey, CachedCall>,
    /// The calls of `entries` that are answered, oldest first, and when they were.
    order: VecDeque<(ReplayKey, Duration)>,
}

/// The cache, bounded in entries and in age.
pub(crate) struct ReplayCache {
    shards: Box<[Mutex<CacheShard>]>,
    /// The key of the hashes, stable across restarts.
    key: HandleKey,
    /// The number of message bytes to hash.
    key_bytes: usize,
    log: Option<CacheLog>,
    lost_sessions: LostSessions,
    /// Whether the knowledge from before the start was dropped.
    has_expired: AtomicBool,
    entries_per_shard: usize,
    max_age: Duration,
}

/// The log of a cache that outlives its process.
struct CacheLog {
    records: Arc<dyn ReplyLog>,
    names: NameSlots,
}

impl fmt::Debug for ReplayCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayCache").field("max_age", &self.max_age).finish_non_exhaustive()
    }
}

/// A call that is being processed. If it is dropped without a reply, the call becomes unknown again. That happens when
/// the call is deferred, or when a bug ends it, so that no client waits in vain.
pub(crate) struct Begun<'c> {
    cache: &'c ReplayCache,
    key: ReplayKey,
    /// The connection it arrived over; `None` for an operation of a session, whose slot keeps the reply.
    connection: Option<u64>,
    /// The session request that contains the operation.
    request: Option<SlotRequest>,
    happened: Vec<Finished>,
    /// The log that also stores the reply.
    log: Option<&'c CacheLog>,
    /// Whether a change of names was logged.
    is_noted: Cell<bool>,
    /// The file that has the name, once the change that was logged last is made.
    made: Cell<Option<Handle>>,
    /// The names that no other call may change before the reply is in the log.
    slots: RefCell<Vec<NameSlot>>,
}

/// The state of a call in the cache.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallState {
    /// It is new, and is being processed from now on. An earlier process made these steps of it.
    New(Vec<Finished>),
    /// It is being processed: its reply will follow, so this copy gets none.
    InProgress,
    /// It was answered with this reply.
    Answered(Box<[u8]>),
    /// A call with the same bytes arrived over another connection.
    Elsewhere {
        /// That connection.
        connection: u64,
        /// Whether it was answered.
        is_answered: bool,
    },
}

impl ReplayCache {
    /// Makes a cache of about `max_entries` replies, at least 16, each kept for at most `max_age`. Calls are hashed
    /// under `key`.
    pub(crate) fn new(max_entries: usize, max_age: Duration, key: &HandleKey) -> ReplayCache {
        ReplayCache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            key: key.derive(b"replay cache"),
            key_bytes: usize::MAX,
            log: None,
            lost_sessions: LostSessions::default(),
            has_expired: AtomicBool::new(false),
            entries_per_shard: max_entries.div_ceil(SHARDS).max(1),
            max_age,
        }
    }

    /// Makes it a cache for calls that carry data.
    pub(crate) fn of_writes(self) -> ReplayCache {
        ReplayCache { key_bytes: MAX_WRITE_KEY_BYTES, ..self }
    }

    /// Loads `records`, oldest first, and the changes `made` before a power failure, and writes further records to
    /// `log`. `verify` decides whether a change was made. Returns the number of malformed records.
    pub(crate) fn set_log(
        &mut self,
        log: Arc<dyn ReplyLog>,
        records: &[Vec<u8>],
        made: &[MadeBefore],
        verify: impl Fn(&NameChange<'_>) -> Verification,
    ) -> usize {
        let mut unanswered = Unanswered::default();
        let read = records.iter().filter_map(|record| ReplyLogRecord::read(record).ok());
        let count = read.inspect(|record| self.take_up(record, &mut unanswered)).count();
        for (ticket, file) in made.iter().filter_map(MadeBefore::read) {
            self.take_up_made(&ticket, file, &*log, &mut unanswered);
        }
        for (key, notes) in unanswered.0 {
            let made = notes.made(&verify);
            keep_verified(&*log, &key, &made);
            let finished = made.iter().map(Finished::of).collect();
            self.shard(&key).entries.insert(key, CachedCall::unclaimed(CachedCallState::Happened(finished)));
        }
        self.log = Some(CacheLog { records: log, names: NameSlots::new() });
        records.len() - count
    }

    fn take_up<'r>(&self, record: &ReplyLogRecord<'r>, unanswered: &mut Unanswered<'r>) {
        match *record {
            ReplyLogRecord::Answered(key, reply) => {
                unanswered.0.remove(&key);
                self.remember(&key, NO_CONNECTION, reply.bytes, Duration::ZERO);
            }
            ReplyLogRecord::Dropped(key) => drop(unanswered.0.remove(&key)),
            ReplyLogRecord::Begun(key, change) => unanswered.0.entry(key).or_default().note(change),
            ReplyLogRecord::Happened(key, done) => unanswered.0.entry(key).or_default().done.push(done),
            ReplyLogRecord::Ended(key, made) => unanswered.0.entry(key).or_default().end(made),
            ReplyLogRecord::SlotAnswered(answered) => {
                ReplayKey::operations(answered.operations).for_each(|key| drop(unanswered.0.remove(&key)));
                self.lost_sessions.remember(&answered);
            }
            ReplyLogRecord::HappenedIn(key, request, done) => {
                self.lost_sessions.add(request.into(), key, Finished::of(&MadeStep::of(&done)));
            }
        }
    }

    /// The key of a message from `peer`.
    pub(crate) fn key(&self, peer: &Peer, xid: u32, message: &[u8]) -> ReplayKey {
        let [head, behind] = rpc::identifying_parts(message);
        let (looked_at, rest) = behind.split_at(behind.len().min(self.key_bytes.saturating_sub(head.len())));
        let [first, second] = self.key.long_checksum(&[head, looked_at]);
        // Truncated datagrams get their own key, since the length is part of it.
        let message = [first, second ^ rest.len() as u64];
        let port = if peer.transport == Transport::Udp { peer.address.port() } else { 0 };
        ReplayKey { sender: peer.address.ip().to_canonical(), port, xid, message }
    }

    /// The names that calls are changing; `None` without a log, where they do not matter.
    pub(crate) fn names(&self) -> Option<&NameSlots> {
        self.log.as_ref().map(|log| &log.names)
    }

    fn shard(&self, key: &ReplayKey) -> MutexGuard<'_, CacheShard> {
        let shard = &self.shards[key.message[0] as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up a call that arrived over `connection`, and records it as being processed if it is new.
    pub(crate) fn begin(&self, key: &ReplayKey, connection: u64, now: Duration) -> CallState {
        let mut shard = self.shard(key);
        shard.expire(now.saturating_sub(self.max_age));
        let Some(entry) = shard.entries.get_mut(key) else {
            shard.entries.insert(*key, CachedCall { connection, state: CachedCallState::InProgress });
            return CallState::New(Vec::new());
        };
        if entry.connection != connection && entry.connection != NO_CONNECTION {
            let is_answered = !matches!(entry.state, CachedCallState::InProgress);
            return CallState::Elsewhere { connection: entry.connection, is_answered };
        }
        entry.connection = connection;
        match &mut entry.state {
            CachedCallState::InProgress => CallState::InProgress,
            CachedCallState::Answered(reply) => CallState::Answered(reply.clone()),
            CachedCallState::Happened(finished) => {
                let finished = std::mem::take(finished);
                entry.state = CachedCallState::InProgress;
                CallState::New(if now <= self.max_age { finished } else { Vec::new() })
            }
        }
    }

    /// Treats a call as a retransmission over `connection`, because the connection of the original lost the reply.
    pub(crate) fn adopt(&self, key: &ReplayKey, connection: u64) {
        if let Some(entry) = self.shard(key).entries.get_mut(key) {
            entry.connection = connection;
        }
    }

    /// Drops an answered call of `connection`, which has its reply: a call with the same bytes is a new one.
    pub(crate) fn replace(&self, key: &ReplayKey, connection: u64) {
        let mut shard = self.shard(key);
        let is_answered = |entry: &CachedCall| matches!(entry.state, CachedCallState::Answered(_));
        if shard.entries.get(key).is_some_and(|entry| entry.connection == connection && is_answered(entry)) {
            shard.entries.remove(key);
            shard.order.retain(|(other, _)| other != key);
        }
    }

    /// Represents a call in progress until its reply; the reply is also logged if the call `outlives_process`.
    pub(crate) fn begun(
        &self,
        key: ReplayKey,
        connection: u64,
        happened: Vec<Finished>,
        outlives_process: bool,
    ) -> Begun<'_> {
        let log = self.log.as_ref().filter(|_| outlives_process);
        Begun::new(self, key, Some(connection), happened, log)
    }

    fn remember(&self, key: &ReplayKey, connection: u64, reply: &[u8], now: Duration) {
        let mut shard = self.shard(key);
        while shard.order.len() >= self.entries_per_shard {
            shard.drop_oldest();
        }
        let state = CachedCallState::Answered(reply.into());
        let before = shard.entries.insert(*key, CachedCall { connection, state });
        // A log that was read twice contains the same call twice.
        if !before.is_some_and(|entry| matches!(entry.state, CachedCallState::Answered(_))) {
            shard.order.push_back((*key, now));
        }
    }

    /// The number of kept replies.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().order.len()).sum()
    }
}

/// The logged calls that were not answered.
#[derive(Default)]
struct Unanswered<'r>(HashMap<ReplayKey, Notes<'r>>);

#[derive(Default)]
struct Notes<'r> {
    begun: Vec<NameChange<'r>>,
    done: Vec<DoneStep<'r>>,
}

impl<'r> Notes<'r> {
    /// Adds a change. If it was already logged, the call had been deferred, and the last record counts.
    fn note(&mut self, change: NameChange<'r>) {
        self.begun.retain(|other| other.step != change.step);
        self.begun.push(change);
    }

    /// Records that the last change was made.
    fn end(&mut self, made: FileBytes<'r>) {
        if let Some(change) = self.begun.pop() {
            self.done.push(DoneStep { step: change.step, made });
        }
    }

    /// The steps that were made.
    fn made(&self, verify: impl Fn(&NameChange<'_>) -> Verification) -> Vec<MadeStep<'r>> {
        let known = self.done.iter().map(MadeStep::of);
        let is_new = |change: &&NameChange<'_>| !self.done.iter().any(|done| done.step == change.step);
        let found = self.begun.iter().filter(is_new).filter_map(|change| match verify(change) {
            Verification::Made(handle) => Some(MadeStep { step: change.step, handle }),
            Verification::NotMade => None,
        });
        known.chain(found).collect()
    }
}

impl Finished {
    /// Logs the step for the next start.
    fn keep(&self, log: &dyn ReplyLog, key: &ReplayKey) {
        let made = FileBytes { handle: self.made.as_ref().map_or(&[], Handle::as_bytes) };
        if let Ok(step) = Step::decode(&mut Decoder::new(&self.step)) {
            log.keep(ReplyLogRecord::Happened(*key, DoneStep { step, made }).bytes().as_slice());
        }
    }
}

impl CachedCall {
    fn unclaimed(state: CachedCallState) -> CachedCall {
        CachedCall { connection: NO_CONNECTION, state }
    }
}

impl<'c> Begun<'c> {
    fn new(
        cache: &'c ReplayCache,
        key: ReplayKey,
        connection: Option<u64>,
        happened: Vec<Finished>,
        log: Option<&'c CacheLog>,
    ) -> Begun<'c> {
        let (is_noted, made, slots) = (Cell::new(false), Cell::new(None), RefCell::default());
        Begun { cache, key, connection, request: None, happened, log, is_noted, made, slots }
    }

    /// Whether the call is logged for a later process.
    pub(crate) fn outlives_process(&self) -> bool {
        self.log.is_some()
    }

    /// The result of a step, if an earlier process made it.
    pub(crate) fn finished(&self, step: &Step<'_>) -> Option<&Finished> {
        if self.happened.is_empty() {
            return None;
        }
        let step = step_bytes(step);
        self.happened.iter().find(|finished| finished.step == step)
    }

    /// Whether this call already holds a name.
    pub(crate) fn has(&self, slot: NameSlot) -> bool {
        self.slots.borrow().contains(&slot)
    }

    /// Logs a change right before it is made. The call keeps its names until the reply is in the log.
    pub(crate) fn note(&self, change: NameChange<'_>, slots: impl Iterator<Item = NameSlot>) {
        self.slots.borrow_mut().extend(slots);
        if let Some(log) = self.log {
            log.records.keep(ReplyLogRecord::Begun(self.key, change).bytes().as_slice());
            self.is_noted.set(true);
            self.made.set(change.named().and_then(|file| Handle::new(file.handle)));
        }
    }

    /// Records the new file that has the name.
    pub(crate) fn made(&self, file: Handle) {
        self.made.set(Some(file));
    }

    /// Stores the reply.
    pub(crate) fn finish(mut self, reply: &[u8], now: Duration) {
        debug_assert!(reply.len() <= MAX_REPLY_BYTES, "a reply of {} bytes is no small one", reply.len());
        if let Some(log) = self.log.take() {
            log.records.keep(ReplyLogRecord::Answered(self.key, ReplyBytes { bytes: reply }).bytes().as_slice());
            self.release(log);
        }
        self.cache.remember(&self.key, self.connection.unwrap_or(NO_CONNECTION), reply, now);
        self.happened = Vec::new();
        std::mem::forget(self);
    }

    fn release(&self, log: &CacheLog) {
        self.slots.take().into_iter().for_each(|slot| log.names.release(slot));
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.log {
            // Others may change the names from now on.
            if self.is_noted.get() {
                log.records.keep(ReplyLogRecord::Dropped(self.key).bytes().as_slice());
            }
            self.release(log);
        }
        let happened = std::mem::take(&mut self.happened);
        if !happened.is_empty() {
            let entry = CachedCall::unclaimed(CachedCallState::Happened(happened));
            self.cache.shard(&self.key).entries.insert(self.key, entry);
        } else if !self.is_operation() {
            self.cache.shard(&self.key).entries.remove(&self.key);
        }
    }
}

impl CacheShard {
    fn expire(&mut self, oldest: Duration) {
        while self.order.front().is_some_and(|(_, at)| *at < oldest) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((key, _)) = self.order.pop_front() {
            self.entries.remove(&key);
        }
    }
}

/// Replaces the records of a call by the verified steps, so that the next start does not verify what others changed
/// since.
fn keep_verified(log: &dyn ReplyLog, key: &ReplayKey, made: &[MadeStep<'_>]) {
    log.keep(ReplyLogRecord::Dropped(*key).bytes().as_slice());
    for MadeStep { step, handle } in made {
        let made = FileBytes { handle: handle.as_ref().map_or(&[], Handle::as_bytes) };
        log.keep(ReplyLogRecord::Happened(*key, DoneStep { step: *step, made }).bytes().as_slice());
    }
}

#[cfg(test)]
mod tests {
    use super::record::{Before, NamedPlace};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn cache() -> ReplayCache {
        ReplayCache::new(SHARDS * 4, 60 * SECOND, &HandleKey::new([9; 16]))
    }

    fn peer(address: &str, transport: Transport) -> Peer {
        let address = address.parse().unwrap();
        Peer { address, local: address, transport, connection: 7 }
    }

    fn key(cache: &ReplayCache, xid: u32) -> ReplayKey {
        cache.key(&peer("192.0.2.1:700", Transport::Tcp), xid, &xid.to_be_bytes())
    }

    fn new() -> CallState {
        CallState::New(Vec::new())
    }

    /// Begins the call and answers it.
    fn answer(cache: &ReplayCache, key: ReplayKey, connection: u64) {
        assert_eq!(cache.begin(&key, connection, SECOND), new());
        cache.begun(key, connection, Vec::new(), true).finish(b"reply", SECOND);
    }

    fn replayed() -> CallState {
        CallState::Answered(b"reply".as_slice().into())
    }

    #[test]
    fn retransmitted_call_is_dropped_while_it_is_under_way_and_answered_afterwards() {
        let cache = cache();
        let key = key(&cache, 1);
        assert_eq!(cache.begin(&key, 7, SECOND), new());
        let begun = cache.begun(key, 7, Vec::new(), true);
        assert_eq!(cache.begin(&key, 7, SECOND), CallState::InProgress);
        begun.finish(b"reply", SECOND);
        assert_eq!(cache.begin(&key, 7, 2 * SECOND), replayed());
    }

    #[test]
    fn other_bytes_under_the_same_xid_are_another_call() {
        let cache = cache();
        let key = |sender, message: &[u8]| cache.key(&peer(sender, Transport::Tcp), 1, message);
        assert_ne!(key("192.0.2.1:700", b"remove a"), key("192.0.2.1:700", b"remove b"));
        assert_ne!(key("192.0.2.1:700", b"remove a"), key("192.0.2.2:700", b"remove a"));
    }

    #[test]
    fn datagram_is_a_retransmission_only_from_the_same_port() {
        let cache = cache();
        let key = |sender, transport| cache.key(&peer(sender, transport), 1, b"remove a");
        assert_ne!(key("192.0.2.1:700", Transport::Udp), key("192.0.2.1:701", Transport::Udp));
        assert_ne!(key("192.0.2.1:700", Transport::Udp), key("192.0.2.1:700", Transport::Tcp));
        assert_eq!(key("192.0.2.1:700", Transport::Tcp), key("192.0.2.1:701", Transport::Tcp));
    }

    #[test]
    fn call_over_another_connection_is_not_answered_before_the_first_one_is_judged() {
        let cache = cache();
        let key = key(&cache, 1);
        assert_eq!(cache.begin(&key, 7, SECOND), new());
        let begun = cache.begun(key, 7, Vec::new(), true);
        assert_eq!(cache.begin(&key, 8, SECOND), CallState::Elsewhere { connection: 7, is_answered: false });
        begun.finish(b"reply", SECOND);
        assert_eq!(cache.begin(&key, 8, SECOND), CallState::Elsewhere { connection: 7, is_answered: true });
        cache.adopt(&key, 8);
        assert_eq!(cache.begin(&key, 8, SECOND), replayed());
        assert_eq!(cache.begin(&key, 7, SECOND), CallState::Elsewhere { connection: 8, is_answered: true });
        cache.replace(&key, 8);
        assert_eq!(cache.begin(&key, 7, SECOND), new());
    }

    #[test]
    fn call_that_takes_the_place_of_another_is_kept_as_long_as_any() {
        let cache = cache();
        let key = key(&cache, 1);
        answer(&cache, key, 7);
        cache.replace(&key, 7);
        answer(&cache, key, 8);
        assert_eq!((cache.len(), cache.begin(&key, 8, 2 * SECOND)), (1, replayed()));
    }

    #[test]
    fn of_a_write_the_length_and_the_beginning_of_the_data_are_looked_at_and_no_more() {
        let (cache, sender) = (cache().of_writes(), peer("192.0.2.1:700", Transport::Udp));
        let mut message = [0; 8192];
        let key = cache.key(&sender, 1, &message);
        message[MAX_WRITE_KEY_BYTES] = 1;
        assert_eq!(cache.key(&sender, 1, &message), key);
        assert_ne!(cache.key(&sender, 1, &message[..4096]), key);
        message[MAX_WRITE_KEY_BYTES - 1] = 1;
        assert_ne!(cache.key(&sender, 1, &message), key);
    }

    #[test]
    fn call_that_ended_without_a_reply_is_new_again() {
        let cache = cache();
        let key = key(&cache, 1);
        assert_eq!(cache.begin(&key, 7, SECOND), new());
        drop(cache.begun(key, 7, Vec::new(), true));
        assert_eq!(cache.begin(&key, 7, SECOND), new());
    }

    #[test]
    fn cache_holds_no_more_than_it_may() {
        let cache = cache();
        for xid in 0..10_000 {
            answer(&cache, key(&cache, xid), 7);
        }
        assert_eq!(cache.len(), SHARDS * 4);
    }

    #[test]
    fn old_reply_is_not_given_to_a_new_call_that_looks_the_same() {
        let cache = cache();
        let key = key(&cache, 1);
        answer(&cache, key, 7);
        assert_eq!(cache.begin(&key, 7, 62 * SECOND), new());
    }

    /// A log in memory.
    #[derive(Default)]
    struct MemoryLog(Mutex<Vec<Vec<u8>>>);

    impl ReplyLog for MemoryLog {
        fn keep(&self, record: &[u8]) {
            self.0.lock().unwrap().push(record.to_vec());
        }
    }

    impl MemoryLog {
        fn all(&self) -> Vec<Vec<u8>> {
            self.0.lock().unwrap().clone()
        }
    }

    fn logged(log: &Arc<MemoryLog>, records: &[Vec<u8>], finding: Verification) -> (ReplayCache, usize) {
        let mut cache = cache();
        let broken = cache.set_log(log.clone(), records, &[], |_| finding);
        (cache, broken)
    }

    /// A process that begins a call which removes a name, and is killed before it replies.
    fn killed_before_the_reply(log: &Arc<MemoryLog>) {
        let (cache, _) = logged(log, &log.all(), Verification::NotMade);
        let key = key(&cache, 1);
        assert_eq!(cache.begin(&key, 7, SECOND), new());
        let begun = cache.begun(key, 7, Vec::new(), true);
        let before = Before::Named(FileBytes { handle: b"file" });
        begun.note(NameChange { step: removal(), before, at_ns: 0 }, std::iter::empty());
        std::mem::forget(begun);
    }

    fn removal() -> Step<'static> {
        Step::Remove(NamedPlace { dir: b"dir", name: b"name" })
    }

    #[test]
    fn reply_is_given_again_after_a_restart_over_any_connection_and_then_over_that_one() {
        let log = Arc::new(MemoryLog::default());
        let (before, _) = logged(&log, &[], Verification::NotMade);
        answer(&before, key(&before, 1), 7);
        let records = [log.all(), vec![b"no record".to_vec()]].concat();
        let (after, broken) = logged(&log, &records, Verification::NotMade);
        assert_eq!(broken, 1);
        assert_eq!(after.begin(&key(&after, 1), 8, SECOND), replayed());
        assert_eq!(after.begin(&key(&after, 1), 9, SECOND), CallState::Elsewhere { connection: 8, is_answered: true });
        assert_eq!(after.begin(&key(&after, 2), 8, SECOND), new());
    }

    #[test]
    fn reply_that_ends_with_the_process_is_not_given_after_it() {
        let log = Arc::new(MemoryLog::default());
        let (before, _) = logged(&log, &[], Verification::NotMade);
        let call = key(&before, 1);
        before.begin(&call, 7, SECOND);
        before.begun(call, 7, Vec::new(), false).finish(b"reply", SECOND);
        assert_eq!(before.begin(&call, 7, SECOND), replayed());
        assert!(log.all().is_empty());
    }

    #[test]
    fn unanswered_call_has_done_what_was_found_made_and_only_once() {
        let log = Arc::new(MemoryLog::default());
        killed_before_the_reply(&log);
        let (after, _) = logged(&log, &log.all(), Verification::Made(None));
        let call = key(&after, 1);
        let CallState::New(happened) = after.begin(&call, 8, SECOND) else { panic!("the call is in progress") };
        let begun = after.begun(call, 8, happened, true);
        assert!(begun.finished(&removal()).is_some());
        assert!(begun.finished(&Step::Make(NamedPlace { dir: b"dir", name: b"name" })).is_none());
        begun.finish(b"reply", SECOND);
        assert_eq!(after.begin(&call, 8, SECOND), replayed());
        assert_eq!(after.begin(&call, 8, 62 * SECOND), new());
    }

    #[test]
    fn what_happened_before_the_start_is_forgotten_after_the_age_of_replies() {
        let log = Arc::new(MemoryLog::default());
        killed_before_the_reply(&log);
        let (after, _) = logged(&log, &log.all(), Verification::Made(None));
        let known = || after.shards.iter().map(|shard| shard.lock().unwrap().entries.len()).sum::<usize>();
        after.expire_earlier(60 * SECOND);
        assert_eq!(known(), 1);
        after.expire_earlier(61 * SECOND);
        assert_eq!(known(), 0);
    }

    #[test]
    fn call_that_is_put_off_keeps_what_a_process_before_did_of_it() {
        let log = Arc::new(MemoryLog::default());
        killed_before_the_reply(&log);
        let (after, _) = logged(&log, &log.all(), Verification::Made(None));
        let call = key(&after, 1);
        let CallState::New(first) = after.begin(&call, 8, SECOND) else { panic!("the call is in progress") };
        drop(after.begun(call, 8, first.clone(), true));
        assert_eq!(after.begin(&call, 8, SECOND), CallState::New(first));
    }

    #[test]
    fn unanswered_call_that_was_found_not_made_is_new() {
        let log = Arc::new(MemoryLog::default());
        killed_before_the_reply(&log);
        let (after, _) = logged(&log, &log.all(), Verification::NotMade);
        assert_eq!(after.begin(&key(&after, 1), 8, SECOND), new());
    }

    /// Others may have changed the names since the start that judged them.
    #[test]
    fn what_one_start_has_found_the_next_one_does_not_judge_again() {
        for (first, finding) in
            [(Verification::NotMade, Verification::Made(None)), (Verification::Made(None), Verification::NotMade)]
        {
            let log = Arc::new(MemoryLog::default());
            killed_before_the_reply(&log);
            logged(&log, &log.all(), first);
            let (after, _) = logged(&log, &log.all(), finding);
            let CallState::New(happened) = after.begin(&key(&after, 1), 8, SECOND) else {
                panic!("the call is in progress")
            };
            assert_eq!(happened.is_empty(), first == Verification::NotMade);
        }
    }

    /// Others may change its names from then on, so that a later start cannot tell who did.
    #[test]
    fn noted_call_that_ended_without_a_reply_is_not_judged() {
        let log = Arc::new(MemoryLog::default());
        let (before, _) = logged(&log, &[], Verification::NotMade);
        let call = key(&before, 1);
        before.begin(&call, 7, SECOND);
        let begun = before.begun(call, 7, Vec::new(), true);
        let change = NameChange { step: removal(), before: Before::Named(FileBytes { handle: b"" }), at_ns: 0 };
        begun.note(change, std::iter::empty());
        drop(begun);
        let (after, _) = logged(&log, &log.all(), Verification::Made(None));
        assert_eq!(after.begin(&key(&after, 1), 8, SECOND), new());
    }
}
