//! The names of NFSv4 users and groups in a domain (RFC 7530 §5.9, RFC 8881 §5.9).
//!
//! The machine's name service may be slow, so answers are cached for a while, and threads that must not block never
//! query it.

use std::hash::Hash;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use names::{AnswerCache, IdKind, NameService};

use crate::fault::Fault;

/// A domain of names, with cached answers.
pub(crate) struct IdMap {
    domain: String,
    service: Box<dyn NameService>,
    /// Names with their domains.
    names: AnswerCache<(IdKind, u32), Arc<str>>,
    ids: AnswerCache<(IdKind, String), u32>,
}

/// The time of a query, and whether it may block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking {
    pub(crate) now: Duration,
    pub(crate) may_block: bool,
}

impl IdMap {
    pub(crate) fn new(domain: String, service: Box<dyn NameService>) -> IdMap {
        IdMap { domain, service, names: AnswerCache::default(), ids: AnswerCache::default() }
    }

    /// `name@domain` for a number, if it has a name.
    pub(crate) fn name(&self, kind: IdKind, id: u32, asking: Asking) -> Result<Option<Arc<str>>, Fault> {
        answer(&self.names, (kind, id), asking, || {
            let name = self.service.name(kind, id)?;
            Ok(name.map(|name| format!("{name}@{}", self.domain).into()))
        })
    }

    /// The number of `name@domain`, if the name is of this domain.
    pub(crate) fn id(&self, kind: IdKind, text: &str, asking: Asking) -> Result<Option<u32>, Fault> {
        match text.rsplit_once('@') {
            Some((name, domain)) if domain.eq_ignore_ascii_case(&self.domain) => {
                answer(&self.ids, (kind, name.to_owned()), asking, || self.service.id(kind, name))
            }
            _ => Ok(None),
        }
    }
}

/// The cached answer, or that of the name service, which is then cached.
fn answer<Q: Eq + Hash, A: Clone>(
    cache: &AnswerCache<Q, A>,
    query: Q,
    asking: Asking,
    resolve: impl FnOnce() -> io::Result<Option<A>>,
) -> Result<Option<A>, Fault> {
    if let Some(answer) = cache.current(&query, asking.now) {
        return Ok(answer);
    }
    if !asking.may_block {
        return Err(Fault::Defer);
    }
    let answer = resolve().map_err(|error| Fault::File(vfs::Error::TryLater(error)))?;
    cache.insert(query, answer.clone(), asking.now);
    Ok(answer)
}

#[cfg(test)]
mod tests {
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
}
