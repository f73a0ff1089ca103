//! Attributes of files, valid for a while.
//!
//! How long depends on how long a file has not changed: what was the same for ten seconds stays valid for ten more,
//! within the bounds of the options. So files at rest are rarely revalidated, and busy ones often.
//!
//! Replies may overtake one another. A reply is newer than a cached entry if its call was sent after the entry was
//! learned. Otherwise the order at the server is unknown, and the file's own times decide.

use std::cmp::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vfs::{Attributes, FileKind};

use super::order::Order;
use crate::{Caching, Handle};

/// The attributes of many files.
#[derive(Debug)]
pub(crate) struct AttributeCache {
    files: Mutex<Files>,
    file_times: Bounds,
    dir_times: Bounds,
    max_entries: usize,
}

/// When a call was sent: the count of events in the cache at that time, and the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(super) number: u64,
    pub(super) time: Instant,
}

#[derive(Debug, Default)]
struct Files {
    known: Order<Handle, Known>,
    /// Counts what was learned or invalidated, here or in caches that use this counter.
    number: u64,
    /// The count at which this client last removed a name without knowing its file.
    unlinked: u64,
    /// The count at which a handle was stale: directories that were learned before may have been replaced, too.
    stale: u64,
}

/// The shortest and the longest time that attributes stay valid.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    min: Duration,
    max: Duration,
}

#[derive(Debug)]
struct Known {
    /// `None` when the file was changed since, and no reply told how.
    now: Option<Now>,
    /// The count when this was learned or invalidated: calls sent before may show earlier state.
    number: u64,
}

#[derive(Debug)]
struct Now {
    attributes: Attributes,
    /// When the file was first seen in this state.
    since: Instant,
    /// The end of validity.
    until: Instant,
}

impl AttributeCache {
    pub(crate) fn new(caching: &Caching) -> AttributeCache {
        AttributeCache {
            files: Mutex::default(),
            file_times: Bounds { min: caching.file_min, max: caching.file_max },
            dir_times: Bounds { min: caching.dir_min, max: caching.dir_max },
            max_entries: caching.max_entries.max(1),
        }
    }

    /// Stamps a call that is sent `now` and whose reply carries attributes.
    pub(crate) fn ask(&self, now: Instant) -> Asked {
        Asked { number: self.lock().number, time: now }
    }

    /// Advances the count: replies to calls sent before `now` may be stale.
    pub(crate) fn turn(&self, now: Instant) -> Asked {
        let mut files = self.lock();
        files.number += 1;
        Asked { number: files.number, time: now }
    }

    /// The attributes of a file, as long as they are valid.
    pub(crate) fn get(&self, now: Instant, file: &Handle) -> Option<Attributes> {
        let mut files = self.lock();
        let (unlinked, stale) = (files.unlinked, files.stale);
        let known = files.known.get(file)?;
        let last = known.now.as_ref()?;
        let oldest = match last.attributes.kind {
            FileKind::Directory => stale,
            _ if has_more_names(&last.attributes) => unlinked,
            _ => 0,
        };
        let is_believed = now < last.until && known.number > oldest;
        is_believed.then_some(last.attributes)
    }

    /// The attributes of a file as last learned, valid or not, for callers that know by other means that it has not
    /// changed.
    pub(crate) fn last(&self, file: &Handle) -> Option<Attributes> {
        self.lock().known.get(file)?.now.as_ref().map(|now| now.attributes)
    }

    /// Takes in attributes from the reply to a call, unless something newer is known.
    pub(crate) fn learn(&self, asked: Asked, file: &Handle, attributes: &Attributes) {
        let mut files = self.lock();
        if asked.number < files.unlinked && has_more_names(attributes) {
            return self.put(&mut files, file, None);
        }
        let Files { known, number, .. } = &mut *files;
        let Some(known) = known.get(file) else {
            return self.put(&mut files, file, Some(self.now(asked, asked.time, attributes)));
        };
        let same = known.now.as_ref().filter(|now| is_same(&now.attributes, attributes));
        let now = match known.compare(asked, attributes) {
            Ordering::Greater => return,
            Ordering::Equal if same.is_none() => None,
            Ordering::Equal | Ordering::Less => {
                Some(self.now(asked, same.map_or(asked.time, |now| now.since), attributes))
            }
        };
        *number += 1;
        *known = Known { now, number: *number };
    }

    /// Attributes that were requested at `asked`, of a file in this state `since` then.
    fn now(&self, asked: Asked, since: Instant, attributes: &Attributes) -> Now {
        let until = asked.time + self.bounds(attributes.kind).clamp(asked.time.saturating_duration_since(since));
        Now { attributes: *attributes, since, until }
    }

    /// Invalidates the attributes of a file that this client changed, and those in replies still in flight.
    pub(crate) fn outdate(&self, file: &Handle) {
        self.put(&mut self.lock(), file, None);
    }

    /// Notes that this client removed a name of an unknown file: any file with several links may have lost one.
    pub(crate) fn outdate_linked(&self) {
        let mut files = self.lock();
        files.number += 1;
        files.unlinked = files.number;
    }

    /// Invalidates the attributes of a file whose handle is stale, and those of all directories: the next walk to the
    /// file asks the server for each of its directories.
    pub(crate) fn drop_stale(&self, file: &Handle) {
        let mut files = self.lock();
        self.put(&mut files, file, None);
        files.stale = files.number;
    }

    fn put(&self, files: &mut Files, file: &Handle, now: Option<Now>) {
        files.number += 1;
        let known = Known { now, number: files.number };
        files.known.insert(*file, known);
        while files.known.len() > self.max_entries {
            files.known.pop_oldest();
        }
    }

    fn bounds(&self, kind: FileKind) -> Bounds {
        if kind == FileKind::Directory { self.dir_times } else { self.file_times }
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// `Less` when this entry is older than the reply, `Greater` when newer, `Equal` when the order is unknown.
    fn compare(&self, asked: Asked, attributes: &Attributes) -> Ordering {
        if self.number <= asked.number {
            return Ordering::Less;
        }
        self.now.as_ref().map_or(Ordering::Greater, |now| now.attributes.changed.cmp(&attributes.changed))
    }
}

impl Bounds {
    fn clamp(self, age: Duration) -> Duration {
        age.max(self.min).min(self.max.max(self.min))
    }
}

/// Whether a file may stay reachable when one of its names is removed. Directories have one name.
fn has_more_names(attributes: &Attributes) -> bool {
    attributes.links > 1 && attributes.kind != FileKind::Directory
}

/// Whether a file has not changed between two replies. Reading it changes only its access time.
fn is_same(one: &Attributes, other: &Attributes) -> bool {
    let told = |of: &Attributes| (of.change, of.changed, of.modified, of.size_bytes, of.fileid);
    told(one) == told(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs::Timestamp;

    const CACHING_SECONDS: (u64, u64) = (3, 60);

    fn cache() -> AttributeCache {
        AttributeCache::new(&Caching::default())
    }

    fn handle(number: u8) -> Handle {
        Handle::new(&[number]).unwrap()
    }

    fn version(seconds: i64) -> Attributes {
        let changed = Timestamp { seconds, nanoseconds: 0 };
        Attributes { changed, modified: changed, change: seconds as u64, ..Attributes::new(FileKind::Regular, 1) }
    }

    fn learn(cache: &AttributeCache, seconds: i64) {
        cache.learn(cache.ask(Instant::now()), &handle(1), &version(seconds));
    }

    /// For how many whole seconds an entry is still valid.
    async fn believed_s(cache: &AttributeCache) -> u64 {
        let mut seconds = 0;
        while cache.get(Instant::now(), &handle(1)).is_some() {
            tokio::time::advance(Duration::from_secs(1)).await;
            seconds += 1;
        }
        seconds
    }

    #[tokio::test(start_paused = true)]
    async fn file_at_rest_is_believed_longer_each_time_and_a_changed_one_is_not() {
        let (cache, (min, max)) = (cache(), CACHING_SECONDS);
        let mut times = Vec::new();
        for _ in 0..7 {
            learn(&cache, 1);
            times.push(believed_s(&cache).await);
        }
        assert_eq!(times, [min, min, 6, 12, 24, 48, max]);
        learn(&cache, 2);
        assert_eq!(believed_s(&cache).await, min);
    }

    #[tokio::test(start_paused = true)]
    async fn directory_has_bounds_of_its_own() {
        let cache = cache();
        let dir = Attributes { kind: FileKind::Directory, ..version(1) };
        cache.learn(cache.ask(Instant::now()), &handle(1), &dir);
        assert_eq!(believed_s(&cache).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn without_times_nothing_is_believed() {
        let cache = AttributeCache::new(&Caching::without_attributes());
        learn(&cache, 1);
        assert_eq!(cache.get(Instant::now(), &handle(1)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_a_reply_took_counts() {
        let cache = cache();
        let asked = cache.ask(Instant::now());
        tokio::time::advance(Duration::from_secs(2)).await;
        cache.learn(asked, &handle(1), &version(1));
        assert_eq!(believed_s(&cache).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn reply_that_was_overtaken_changes_nothing() {
        let cache = cache();
        let asked = cache.ask(Instant::now());
        learn(&cache, 5);
        cache.learn(asked, &handle(1), &version(4));
        assert_eq!(cache.get(Instant::now(), &handle(1)), Some(version(5)));
        cache.learn(asked, &handle(1), &version(6));
        assert_eq!(
            cache.get(Instant::now(), &handle(1)),
            Some(version(6)),
            "carried out later than the one that was sent later"
        );
        learn(&cache, 2);
        assert_eq!(
            cache.get(Instant::now(), &handle(1)),
            Some(version(2)),
            "whoever asks later may see an older time: it was set back"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_states_with_one_time_neither_is_believed() {
        let cache = cache();
        let asked = cache.ask(Instant::now());
        learn(&cache, 5);
        cache.learn(asked, &handle(1), &Attributes { mode: 0o600, change: 7, ..version(5) });
        assert_eq!(cache.get(Instant::now(), &handle(1)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn reply_from_before_an_own_change_is_not_believed() {
        let cache = cache();
        learn(&cache, 1);
        let asked = cache.ask(Instant::now());
        cache.outdate(&handle(1));
        cache.learn(asked, &handle(1), &version(1));
        assert_eq!(cache.get(Instant::now(), &handle(1)), None);
        learn(&cache, 1);
        assert_eq!(cache.get(Instant::now(), &handle(1)), Some(version(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_files_are_known() {
        let cache = AttributeCache::new(&Caching { max_entries: 3, ..Caching::default() });
        for number in 0..100 {
            cache.learn(cache.ask(Instant::now()), &handle(number), &version(1));
            assert!(cache.get(Instant::now(), &handle(0)).is_some(), "it is used all the time");
        }
        let known = (0..100).filter(|number| cache.get(Instant::now(), &handle(*number)).is_some()).count();
        assert_eq!(known, 3);
    }
}
