//! The names of NFSv4 users and groups in a domain (RFC 7530 §5.9, RFC 8881 §5.9).
//!
//! The machine's name service may be slow, so answers are cached for a while, and threads that must not block never
//! query it.

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::fault::Fault;

/// The lifetime of an answer, negative ones included.
const LIFETIME: Duration = Duration::from_secs(60);

/// The most answers of each kind to cache. When it is exceeded, all are dropped.
const MAX_ANSWERS: usize = 16_384;

/// The kind of a number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// A user.
    User,
    /// A group.
    Group,
}

/// Resolves names of users and groups. Calls may block.
pub trait NameService: Send + Sync {
    /// The name of a number, if it has one.
    ///
    /// # Errors
    /// When it cannot be resolved now.
    fn name(&self, kind: IdKind, id: u32) -> io::Result<Option<String>>;

    /// The number of a name, if it has one.
    ///
    /// # Errors
    /// When it cannot be resolved now.
    fn id(&self, kind: IdKind, name: &str) -> io::Result<Option<u32>>;
}

/// A domain of names, with cached answers.
pub(crate) struct IdMap {
    domain: String,
    service: Box<dyn NameService>,
    names: Answers<u32, String>,
    ids: Answers<String, u32>,
}

/// The time of a query, and whether it may block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking {
    pub(crate) now: Duration,
    pub(crate) may_block: bool,
}

impl IdMap {
    pub(crate) fn new(domain: String, service: Box<dyn NameService>) -> IdMap {
        IdMap { domain, service, names: Answers::default(), ids: Answers::default() }
    }

    /// `name@domain` for a number, if it has a name.
    pub(crate) fn name(&self, kind: IdKind, id: u32, asking: Asking) -> Result<Option<String>, Fault> {
        let name = self.names.get((kind, id), asking, || self.service.name(kind, id))?;
        Ok(name.map(|name| format!("{name}@{}", self.domain)))
    }

    /// The number of `name@domain`, if the name is of this domain.
    pub(crate) fn id(&self, kind: IdKind, text: &str, asking: Asking) -> Result<Option<u32>, Fault> {
        match text.rsplit_once('@') {
            Some((name, domain)) if domain.eq_ignore_ascii_case(&self.domain) => {
                self.ids.get((kind, name.to_owned()), asking, || self.service.id(kind, name))
            }
            _ => Ok(None),
        }
    }
}

/// The cached answers to one kind of query.
struct Answers<Q, A>(Mutex<HashMap<(IdKind, Q), CachedAnswer<A>>>);

/// An answer, after the time when it was fetched.
type CachedAnswer<A> = (Duration, Option<A>);

impl<Q, A> Default for Answers<Q, A> {
    fn default() -> Self {
        Answers(Mutex::default())
    }
}

impl<Q: Eq + Hash, A: Clone> Answers<Q, A> {
    fn get(
        &self,
        question: (IdKind, Q),
        asking: Asking,
        ask: impl FnOnce() -> io::Result<Option<A>>,
    ) -> Result<Option<A>, Fault> {
        if let Some(answer) = self.kept(&question, asking.now) {
            return Ok(answer);
        }
        if !asking.may_block {
            return Err(Fault::Defer);
        }
        // The lock is not held, so other queries do not wait.
        let answer = ask().map_err(|error| Fault::File(vfs::Error::TryLater(error)))?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_ANSWERS {
            kept.clear();
        }
        kept.insert(question, (asking.now, answer.clone()));
        Ok(answer)
    }

    fn kept(&self, question: &(IdKind, Q), now: Duration) -> Option<Option<A>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, answer) = kept.get(question)?;
        (now.saturating_sub(*since) < LIFETIME).then(|| answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Knows one user, and counts the queries.
    struct CountingNames(Arc<AtomicU32>);

    impl NameService for CountingNames {
        fn name(&self, kind: IdKind, id: u32) -> io::Result<Option<String>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok((kind == IdKind::User && id == 7).then(|| "alice".to_owned()))
        }

        fn id(&self, kind: IdKind, name: &str) -> io::Result<Option<u32>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok((kind == IdKind::User && name == "alice").then_some(7))
        }
    }

    fn owners() -> (IdMap, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        (IdMap::new("example.org".to_owned(), Box::new(CountingNames(Arc::clone(&asked)))), asked)
    }

    fn at(seconds: u64) -> Asking {
        Asking { now: Duration::from_secs(seconds), may_block: true }
    }

    #[test]
    fn answer_holds_for_its_lifetime_and_so_does_that_there_is_none() {
        let (owners, asked) = owners();
        for (seconds, questions) in [(0, 1), (59, 1), (60, 2), (61, 2)] {
            let name = owners.name(IdKind::User, 7, at(seconds)).unwrap();
            assert_eq!((name.as_deref(), asked.load(Ordering::Relaxed)), (Some("alice@example.org"), questions));
        }
        for _ in 0..2 {
            assert_eq!(owners.id(IdKind::User, "bob@example.org", at(61)).unwrap(), None);
            assert_eq!(asked.load(Ordering::Relaxed), 3);
        }
    }

    #[test]
    fn thread_that_may_not_wait_gets_what_is_known_and_asks_nobody() {
        let (owners, asked) = owners();
        let hasty = Asking { may_block: false, ..at(0) };
        assert!(matches!(owners.id(IdKind::User, "alice@EXAMPLE.org", hasty), Err(Fault::Defer)));
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert_eq!(owners.id(IdKind::User, "alice@EXAMPLE.org", at(0)).unwrap(), Some(7));
        assert_eq!(owners.id(IdKind::User, "alice@EXAMPLE.org", hasty).unwrap(), Some(7));
    }

    #[test]
    fn name_of_another_domain_or_of_none_is_nobodys() {
        let (owners, asked) = owners();
        for text in ["alice", "alice@example.com", "alice@", "alice@example.org@other"] {
            assert_eq!(owners.id(IdKind::User, text, at(0)).unwrap(), None, "{text}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn answers_are_bounded() {
        let (owners, _) = owners();
        for id in 0..MAX_ANSWERS as u32 * 2 {
            owners.name(IdKind::Group, id, at(0)).unwrap();
            assert!(owners.names.0.lock().unwrap().len() <= MAX_ANSWERS);
        }
    }
}
