//! Replies to calls that must not happen twice, kept so that a call that is sent again gets the first one's reply
//! (RFC 1813 §4.5, "duplicate request cache").
//!
//! A call is known by its sender's address, its xid and all of its bytes, or their number and the first ones where they bear data. The port does
//! not count: a client that lost its connection sends the call again over another one. Each kept reply is small, since only those
//! to calls that change names and attributes are kept, and to WRITEs in datagrams: a copy of one may come so late that other bytes
//! were written in its place since, which it must not go over.
//!
//! A server that is killed forgets what it has in memory, and a client whose reply was lost with it sends its call again. So
//! each reply is handed to a [`ReplyLog`] too, before it is sent, and a server that starts takes up what is there. A call that
//! the log shows as begun and not as answered may have happened: when it comes again, it is carried out with that in mind
//! ([`Seen::MayHaveHappened`]).

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use buffer::Buffer;
use xdr::{Decoder, Encoder};

use crate::handle::HandleKey;

/// How many parts the cache has, each behind a lock of its own.
const SHARDS: usize = 16;

/// The largest reply that is kept, in bytes; the largest that these calls make is far below it.
pub(crate) const MAX_REPLY_BYTES: usize = 1024;

/// How much of a message with data tells it from others, in bytes: the head, the arguments and the beginning of the data. To look at all
/// of the data would take longer than to write them.
const MAX_WRITE_KEY_BYTES: usize = 1024;

/// What tells one call from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayKey {
    sender: IpAddr,
    xid: u32,
    /// Two independent hashes of what is looked at of the message, so that different calls meet with a chance of 2⁻¹²⁸ only.
    message: [u64; 2],
}

/// One hash of the message is as good as one of everything, and nobody who does not know its key can make many calls share it.
impl Hash for ReplayKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.message[0]);
    }
}

/// Where replies outlive the process.
pub trait ReplyLog: Send + Sync {
    /// Keeps a record: it must survive the end of this process when this returns, though not that of the machine.
    fn keep(&self, record: &[u8]);
}

/// What a record in the log says.
enum Record<'r> {
    /// The call was begun.
    Begun(ReplayKey),
    /// The call was answered with this reply.
    Answered(ReplayKey, &'r [u8]),
}

impl ReplayKey {
    /// The record that the call was answered, or, without a reply, that it was begun.
    fn to_record(self, reply: Option<&[u8]>) -> Buffer {
        let sender = match self.sender {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let mut record = Buffer::new();
        let mut to = Encoder::new(&mut record);
        to.fixed(&sender.octets());
        to.u32(self.xid);
        self.message.iter().for_each(|hash| to.u64(*hash));
        to.bool(reply.is_some());
        reply.iter().for_each(|reply| to.opaque(reply));
        record
    }
}

impl Record<'_> {
    fn read(record: &[u8]) -> xdr::Result<Record<'_>> {
        let mut from = Decoder::new(record);
        let sender = IpAddr::V6(Ipv6Addr::from(from.fixed::<16>()?)).to_canonical();
        let key = ReplayKey { sender, xid: from.u32()?, message: [from.u64()?, from.u64()?] };
        Ok(if from.bool()? { Record::Answered(key, from.opaque(MAX_REPLY_BYTES)?) } else { Record::Begun(key) })
    }
}

#[derive(Debug)]
enum Entry {
    UnderWay,
    Done { reply: Box<[u8]>, at: Duration },
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<ReplayKey, Entry>,
    /// Finished calls, oldest first.
    order: VecDeque<ReplayKey>,
}

/// The cache: bounded in entries and in age.
pub(crate) struct ReplayCache {
    shards: Box<[Mutex<Shard>]>,
    /// Keys of two hashes, the same after a restart.
    keys: [HandleKey; 2],
    /// How much of a message is looked at.
    key_bytes: usize,
    log: Option<Arc<dyn ReplyLog>>,
    /// Calls that a process before this one began and did not answer.
    unanswered: HashSet<ReplayKey>,
    entries_per_shard: usize,
    max_age: Duration,
}

impl fmt::Debug for ReplayCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayCache").field("max_age", &self.max_age).finish_non_exhaustive()
    }
}

/// A call that is under way. Dropped without a reply, it is forgotten: when it was put off, and when a defect of the
/// server ends it, so that no client waits for it in vain.
pub(crate) struct Begun<'c> {
    cache: &'c ReplayCache,
    key: ReplayKey,
    /// Where the reply is kept too.
    log: Option<&'c dyn ReplyLog>,
}

/// What is known of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is new, and from now on under way.
    New,
    /// It is under way from now on, and a process before this one began it and was killed.
    MayHaveHappened,
    /// It is under way: its reply will go out, so nothing is to be said now.
    UnderWay,
    /// It was answered; this is the reply.
    Answered(Box<[u8]>),
}

impl ReplayCache {
    /// Makes a cache of about `max_entries` replies, but no fewer than 16, each kept for `max_age` at the most. Calls are told
    /// apart with hashes under `key`.
    pub(crate) fn new(max_entries: usize, max_age: Duration, key: &HandleKey) -> ReplayCache {
        ReplayCache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            keys: [key.derive(b"replay cache, first hash"), key.derive(b"replay cache, second hash")],
            key_bytes: usize::MAX,
            log: None,
            unanswered: HashSet::new(),
            entries_per_shard: max_entries.div_ceil(SHARDS).max(1),
            max_age,
        }
    }

    /// Makes it one for calls that bear data.
    pub(crate) fn of_writes(self) -> ReplayCache {
        ReplayCache { key_bytes: MAX_WRITE_KEY_BYTES, ..self }
    }

    /// Takes up the replies that `records` hold, and keeps further ones in `log`. Returns how many records were none.
    pub(crate) fn set_log(&mut self, log: Arc<dyn ReplyLog>, records: &[Vec<u8>]) -> usize {
        let mut broken = 0;
        for record in records {
            match Record::read(record) {
                Ok(Record::Answered(key, reply)) => self.remember(&key, reply, Duration::ZERO),
                Ok(Record::Begun(key)) => drop(self.unanswered.insert(key)),
                Err(_) => broken += 1,
            }
        }
        let mut unanswered = std::mem::take(&mut self.unanswered);
        unanswered.retain(|key| !self.shard(key).entries.contains_key(key));
        self.unanswered = unanswered;
        self.log = Some(log);
        broken
    }

    pub(crate) fn key(&self, sender: IpAddr, xid: u32, message: &[u8]) -> ReplayKey {
        let (looked_at, rest) = message.split_at(message.len().min(self.key_bytes));
        // A datagram may be cut on its way.
        let message = [self.keys[0].checksum(looked_at), self.keys[1].checksum(looked_at) ^ rest.len() as u64];
        ReplayKey { sender: sender.to_canonical(), xid, message }
    }

    fn shard(&self, key: &ReplayKey) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[key.message[0] as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a call up, and notes it as under way when it is new.
    pub(crate) fn begin(&self, key: &ReplayKey, now: Duration) -> Seen {
        let mut shard = self.shard(key);
        shard.expire(now.saturating_sub(self.max_age));
        match shard.entries.get(key) {
            Some(Entry::UnderWay) => Seen::UnderWay,
            Some(Entry::Done { reply, .. }) => Seen::Answered(reply.clone()),
            None => {
                shard.entries.insert(*key, Entry::UnderWay);
                if self.unanswered.contains(key) { Seen::MayHaveHappened } else { Seen::New }
            }
        }
    }

    /// Holds the note that a call is under way, until it has a reply; in the log too, if that `outlives_process`. A call that is put off
    /// is begun once more when it runs again; two records of that say no more than one.
    pub(crate) fn begun(&self, key: ReplayKey, outlives_process: bool) -> Begun<'_> {
        let log = self.log.as_deref().filter(|_| outlives_process);
        if let Some(log) = log {
            log.keep(key.to_record(None).as_slice());
        }
        Begun { cache: self, key, log }
    }

    fn remember(&self, key: &ReplayKey, reply: &[u8], now: Duration) {
        let mut shard = self.shard(key);
        while shard.order.len() >= self.entries_per_shard {
            shard.drop_oldest();
        }
        shard.entries.insert(*key, Entry::Done { reply: reply.into(), at: now });
        shard.order.push_back(*key);
    }

    /// Forgets a call that was under way and did not happen.
    fn cancel(&self, key: &ReplayKey) {
        self.shard(key).entries.remove(key);
    }

    /// How many replies are kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().order.len()).sum()
    }
}

impl Begun<'_> {
    /// Notes the reply.
    pub(crate) fn finish(self, reply: &[u8], now: Duration) {
        debug_assert!(reply.len() <= MAX_REPLY_BYTES, "a reply of {} bytes is no small one", reply.len());
        if let Some(log) = self.log {
            log.keep(self.key.to_record(Some(reply)).as_slice());
        }
        self.cache.remember(&self.key, reply, now);
        std::mem::forget(self);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.cache.cancel(&self.key);
    }
}

impl Shard {
    fn expire(&mut self, oldest: Duration) {
        while let Some(key) = self.order.front() {
            match self.entries.get(key) {
                Some(Entry::Done { at, .. }) if *at >= oldest => break,
                _ => self.drop_oldest(),
            }
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(key) = self.order.pop_front() {
            self.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn cache() -> ReplayCache {
        ReplayCache::new(SHARDS * 4, 60 * SECOND, &HandleKey::new([9; 16]))
    }

    fn key(cache: &ReplayCache, xid: u32) -> ReplayKey {
        cache.key("192.0.2.1".parse().unwrap(), xid, &xid.to_be_bytes())
    }

    #[test]
    fn call_sent_again_is_dropped_while_it_is_under_way_and_answered_afterwards() {
        let cache = cache();
        let key = key(&cache, 1);
        assert_eq!(cache.begin(&key, SECOND), Seen::New);
        let begun = cache.begun(key, true);
        assert_eq!(cache.begin(&key, SECOND), Seen::UnderWay);
        begun.finish(b"reply", SECOND);
        assert_eq!(cache.begin(&key, 2 * SECOND), Seen::Answered(b"reply".as_slice().into()));
    }

    #[test]
    fn other_bytes_under_the_same_xid_are_another_call() {
        let cache = cache();
        let sender = "192.0.2.1".parse().unwrap();
        assert_ne!(cache.key(sender, 1, b"remove a"), cache.key(sender, 1, b"remove b"));
        assert_ne!(cache.key(sender, 1, b"remove a"), cache.key("192.0.2.2".parse().unwrap(), 1, b"remove a"));
    }

    #[test]
    fn of_a_write_the_length_and_the_beginning_of_the_data_are_looked_at_and_no_more() {
        let (cache, sender) = (cache().of_writes(), "192.0.2.1".parse().unwrap());
        let mut message = [0; 8192];
        let key = cache.key(sender, 1, &message);
        message[MAX_WRITE_KEY_BYTES] = 1;
        assert_eq!(cache.key(sender, 1, &message), key);
        assert_ne!(cache.key(sender, 1, &message[..4096]), key);
        message[MAX_WRITE_KEY_BYTES - 1] = 1;
        assert_ne!(cache.key(sender, 1, &message), key);
    }

    #[test]
    fn call_that_ended_without_a_reply_is_new_again() {
        let cache = cache();
        let key = key(&cache, 1);
        assert_eq!(cache.begin(&key, SECOND), Seen::New);
        drop(cache.begun(key, true));
        assert_eq!(cache.begin(&key, SECOND), Seen::New);
    }

    #[test]
    fn cache_holds_no_more_than_it_may() {
        let cache = cache();
        for xid in 0..10_000 {
            let key = key(&cache, xid);
            assert_eq!(cache.begin(&key, SECOND), Seen::New);
            cache.begun(key, true).finish(b"reply", SECOND);
        }
        assert_eq!(cache.len(), SHARDS * 4);
    }

    #[test]
    fn old_reply_is_not_given_to_a_new_call_that_looks_the_same() {
        let cache = cache();
        let key = key(&cache, 1);
        cache.begin(&key, SECOND);
        cache.begun(key, true).finish(b"reply", SECOND);
        assert_eq!(cache.begin(&key, 62 * SECOND), Seen::New);
    }

    /// A log in memory.
    #[derive(Default)]
    struct Records(Mutex<Vec<Vec<u8>>>);

    impl ReplyLog for Records {
        fn keep(&self, record: &[u8]) {
            self.0.lock().unwrap().push(record.to_vec());
        }
    }

    #[test]
    fn reply_is_given_again_after_a_restart() {
        let log = Arc::new(Records::default());
        let mut before = cache();
        before.set_log(log.clone(), &[]);
        let call = key(&before, 1);
        before.begin(&call, SECOND);
        before.begun(call, true).finish(b"reply", SECOND);

        let mut after = cache();
        let records = log.0.lock().unwrap().clone();
        assert_eq!(after.set_log(log, &[records, vec![b"no record".to_vec()]].concat()), 1);
        assert_eq!(after.begin(&key(&after, 1), SECOND), Seen::Answered(b"reply".as_slice().into()));
        assert_eq!(after.begin(&key(&after, 2), SECOND), Seen::New);
    }

    #[test]
    fn reply_that_ends_with_the_process_is_not_given_after_it() {
        let log = Arc::new(Records::default());
        let mut before = cache();
        before.set_log(log.clone(), &[]);
        let call = key(&before, 1);
        before.begin(&call, SECOND);
        before.begun(call, false).finish(b"reply", SECOND);
        assert_eq!(before.begin(&call, SECOND), Seen::Answered(b"reply".as_slice().into()));
        assert!(log.0.lock().unwrap().is_empty());
    }

    #[test]
    fn call_that_was_begun_and_not_answered_may_have_happened() {
        let log = Arc::new(Records::default());
        let mut before = cache();
        before.set_log(log.clone(), &[]);
        for xid in [1, 2] {
            let call = key(&before, xid);
            before.begin(&call, SECOND);
            let begun = before.begun(call, true);
            if xid == 2 {
                begun.finish(b"reply", SECOND);
            } else {
                std::mem::forget(begun);
            }
        }
        let mut after = cache();
        let records = log.0.lock().unwrap().clone();
        after.set_log(log, &records);
        assert_eq!(after.begin(&key(&after, 1), SECOND), Seen::MayHaveHappened);
        assert_eq!(after.begin(&key(&after, 2), SECOND), Seen::Answered(b"reply".as_slice().into()));
        assert_eq!(after.begin(&key(&after, 3), SECOND), Seen::New);
    }
}
