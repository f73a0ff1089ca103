//! Answers of a name service, for a while.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The lifetime of an answer, negative ones included.
const LIFETIME: Duration = Duration::from_secs(60);

/// The most answers of a generation.
const MAX_ANSWERS: usize = 8192;

/// Cached answers to one kind of query. Times are those of the caller's clock.
///
/// The answers are in two generations. When the younger one is full, the older one is dropped, so an answer stays for
/// at least as many newer ones as a generation has.
#[derive(Debug)]
pub struct AnswerCache<Q, A>(Mutex<Generations<Q, A>>);

#[derive(Debug)]
struct Generations<Q, A> {
    young: HashMap<Q, Answer<A>>,
    old: HashMap<Q, Answer<A>>,
}

#[derive(Debug, Clone)]
struct Answer<A> {
    fetched: Duration,
    value: Option<A>,
}

impl<Q, A> Default for AnswerCache<Q, A> {
    fn default() -> Self {
        AnswerCache(Mutex::new(Generations { young: HashMap::new(), old: HashMap::new() }))
    }
}

impl<Q: Eq + Hash, A: Clone> AnswerCache<Q, A> {
    /// The answer, unless it has expired; `Some(None)` says that there is no such name or number.
    pub fn current<K: Eq + Hash + ?Sized>(&self, query: &K, now: Duration) -> Option<Option<A>>
    where
        Q: Borrow<K>,
    {
        self.find(query).filter(|answer| now.saturating_sub(answer.fetched) < LIFETIME).map(|answer| answer.value)
    }

    /// The latest answer, expired or not.
    pub fn latest<K: Eq + Hash + ?Sized>(&self, query: &K) -> Option<A>
    where
        Q: Borrow<K>,
    {
        self.find(query)?.value
    }

    /// Adds an answer, which replaces an earlier one.
    pub fn insert(&self, query: Q, value: Option<A>, now: Duration) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.young.len() >= MAX_ANSWERS && !answers.young.contains_key(&query) {
            answers.old = std::mem::take(&mut answers.young);
        }
        answers.young.insert(query, Answer { fetched: now, value });
    }

    fn find<K: Eq + Hash + ?Sized>(&self, query: &K) -> Option<Answer<A>>
    where
        Q: Borrow<K>,
    {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.young.get(query).or_else(|| answers.old.get(query)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1000);

    #[test]
    fn answer_and_absence_expire_after_their_lifetime() {
        let cache = AnswerCache::<String, u32>::default();
        assert_eq!(cache.current("alice", START), None);
        cache.insert("alice".to_owned(), Some(7), START);
        cache.insert("bob".to_owned(), None, START);
        let last = START + LIFETIME - Duration::from_nanos(1);
        assert_eq!((cache.current("alice", last), cache.current("bob", last)), (Some(Some(7)), Some(None)));
        assert_eq!((cache.current("alice", START + LIFETIME), cache.latest("alice")), (None, Some(7)));
    }

    #[test]
    fn answers_are_bounded_and_the_youngest_generation_stays() {
        let cache = AnswerCache::<u32, u32>::default();
        let newest = 5 * MAX_ANSWERS as u32;
        for id in 0..newest {
            cache.insert(id, Some(id), START);
            let answers = cache.0.lock().unwrap();
            assert!(answers.young.len() <= MAX_ANSWERS && answers.old.len() <= MAX_ANSWERS);
        }
        for id in newest - MAX_ANSWERS as u32..newest {
            assert_eq!(cache.latest(&id), Some(id));
        }
        assert_eq!(cache.latest(&0), None);
    }

    #[test]
    fn newer_answer_replaces_an_older_one_of_either_generation() {
        let cache = AnswerCache::<u32, u32>::default();
        for id in 0..MAX_ANSWERS as u32 + 1 {
            cache.insert(id, Some(id), START);
        }
        cache.insert(0, Some(77), START + LIFETIME);
        assert_eq!(cache.current(&0, START + LIFETIME), Some(Some(77)));
    }
}
