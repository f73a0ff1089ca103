//! Owners as NFSv4 names them (RFC 7530 §5.9, RFC 8881 §5.9): numbers in digits, or names with a domain. A name without
//! a domain is never translated, as §5.9 requires.
//!
//! The machine's name service may block for as long as LDAP takes to reply, and attributes are decoded where nothing
//! may block. So [`resolve_in`] runs between the arrival of a reply and its decoding: it finds the names that the cache
//! does not have, and resolves them on a blocking thread. Decoding then reads the cache only.

use std::str;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use names::{AnswerCache, IdKind, MachineNames, NameService};
use proto::nfs4::{Attribute, AttributeValue, Fattr, Principal, Res, ResOp};
use tokio::sync::Semaphore;
use xdr::Decode;

use super::reply::Reply;
use crate::connection::now;

/// The uid and gid of an unknown owner.
const NOBODY: u32 = 65534;
/// The longest name that is looked up, in bytes. Linux limits names of users to 32, some directories to 256.
const MAX_NAME_BYTES: usize = 256;
/// The most replies whose names are resolved at the same time, each on one blocking thread.
const MAX_THREADS: usize = 4;

/// The owners of this machine.
static MACHINE: LazyLock<Owners> = LazyLock::new(|| Owners::new(Arc::new(MachineNames)));

/// The number of a user.
pub(super) fn uid(name: &[u8]) -> u32 {
    number(name, |name| MACHINE.known(IdKind::User, name))
}

/// The number of a group.
pub(super) fn gid(name: &[u8]) -> u32 {
    number(name, |name| MACHINE.known(IdKind::Group, name))
}

/// Resolves the names of owners in a reply, so that its attributes can be decoded.
pub(super) async fn resolve_in(reply: &Reply) {
    if reply.may_have_names() {
        MACHINE.resolve(reply.owners()).await;
    }
}

fn number(name: &[u8], known: impl FnOnce(&str) -> Option<u32>) -> u32 {
    let text = str::from_utf8(name).ok();
    let digits = || text?.parse().ok();
    digits().or_else(|| known(local(name)?)).unwrap_or(NOBODY)
}

/// The name before the domain, which is taken for this machine's.
fn local(name: &[u8]) -> Option<&str> {
    let (name, _) = str::from_utf8(name).ok()?.rsplit_once('@')?;
    (!name.is_empty() && name.len() <= MAX_NAME_BYTES).then_some(name)
}

impl Reply {
    /// Whether the reply can contain a name with a domain.
    fn may_have_names(&self) -> bool {
        self.unread().contains(&b'@')
    }

    /// The names of owners in the results, up to the first result that cannot be decoded.
    fn owners(&self) -> Vec<Owner> {
        let mut owners = Vec::new();
        for result in self.all_results() {
            match result {
                ResOp::Getattr(Res::Ok(found)) => add_owners(&found, &mut owners),
                ResOp::Readdir(Res::Ok(ok)) => {
                    ok.entries.iter().for_each(|entry| add_owners(&entry.attributes, &mut owners));
                }
                _ => {}
            }
        }
        owners
    }
}

fn add_owners(fattr: &Fattr<'_>, owners: &mut Vec<Owner>) {
    // Decoding reports what is malformed.
    let _ = fattr.read(|attribute, from| {
        let kind = match attribute {
            Attribute::Owner => IdKind::User,
            Attribute::OwnerGroup => IdKind::Group,
            other => return AttributeValue::skip(other, from),
        };
        let name = local(Principal::decode(from)?.0);
        owners.extend(name.map(|name| Owner { kind, name: name.to_owned() }));
        Ok(())
    });
}

/// A user or a group by name, without its domain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    kind: IdKind,
    name: String,
}

/// A name service behind a cache.
struct Owners {
    start: Instant,
    service: Arc<dyn NameService>,
    users: AnswerCache<String, u32>,
    groups: AnswerCache<String, u32>,
    threads: Semaphore,
}

impl Owners {
    fn new(service: Arc<dyn NameService>) -> Owners {
        let (users, groups) = (AnswerCache::default(), AnswerCache::default());
        Owners { start: now(), service, users, groups, threads: Semaphore::new(MAX_THREADS) }
    }

    fn cache(&self, kind: IdKind) -> &AnswerCache<String, u32> {
        match kind {
            IdKind::User => &self.users,
            IdKind::Group => &self.groups,
        }
    }

    /// The number of a name that was resolved, however long ago.
    fn known(&self, kind: IdKind, name: &str) -> Option<u32> {
        self.cache(kind).latest(name)
    }

    /// Resolves the names that have no current answer. A name that cannot be resolved now counts as unknown until its
    /// answer expires, so that a broken name service does not delay every reply.
    async fn resolve(&self, mut owners: Vec<Owner>) {
        owners.sort_unstable();
        owners.dedup();
        self.retain_unknown(&mut owners);
        if owners.is_empty() {
            return;
        }
        let Ok(_permit) = self.threads.acquire().await else { return };
        // Another reply may have had the same names.
        self.retain_unknown(&mut owners);
        let service = Arc::clone(&self.service);
        let look_up = move || owners.into_iter().map(|owner| (number_of(&*service, &owner), owner)).collect::<Vec<_>>();
        let answers = tokio::task::spawn_blocking(look_up).await.unwrap_or_default();
        let now = self.now();
        for (id, Owner { kind, name }) in answers {
            self.cache(kind).insert(name, id, now);
        }
    }

    fn retain_unknown(&self, owners: &mut Vec<Owner>) {
        let now = self.now();
        owners.retain(|owner| self.cache(owner.kind).current(owner.name.as_str(), now).is_none());
    }

    fn now(&self) -> Duration {
        now().saturating_duration_since(self.start)
    }
}

fn number_of(service: &dyn NameService, owner: &Owner) -> Option<u32> {
    service.id(owner.kind, &owner.name).unwrap_or_else(|error| {
        tracing::debug!(name = owner.name, %error, "the name service cannot resolve an owner");
        None
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;
    use std::sync::mpsc::{self, Receiver};

    use super::*;

    /// Knows one user and one group, fails for one, and records the queries.
    #[derive(Default)]
    struct Directory {
        queries: Mutex<Vec<String>>,
        /// If it is some, each query waits for a message first.
        gate: Option<Mutex<Receiver<()>>>,
    }

    impl NameService for Directory {
        fn name(&self, _: IdKind, _: u32) -> io::Result<Option<String>> {
            Ok(None)
        }

        fn id(&self, kind: IdKind, name: &str) -> io::Result<Option<u32>> {
            if let Some(gate) = &self.gate {
                gate.lock().unwrap().recv().unwrap();
            }
            self.queries.lock().unwrap().push(name.to_owned());
            match (kind, name) {
                (IdKind::User, "alice") => Ok(Some(1001)),
                (IdKind::Group, "staff") => Ok(Some(50)),
                (_, "broken") => Err(io::ErrorKind::TimedOut.into()),
                _ => Ok(None),
            }
        }
    }

    fn owner(kind: IdKind, name: &str) -> Owner {
        Owner { kind, name: name.to_owned() }
    }

    fn directory() -> (Arc<Directory>, Owners) {
        let directory = Arc::new(Directory::default());
        (Arc::clone(&directory), Owners::new(directory))
    }

    #[test]
    fn digits_are_numbers_and_names_without_a_domain_are_nobody() {
        let known = |name: &str| (name == "alice").then_some(1001);
        for (name, id) in [
            (&b"1234"[..], 1234),
            (b"alice@example.org", 1001),
            (b"alice", NOBODY),
            (b"@example.org", NOBODY),
            (b"bob@example.org", NOBODY),
            (b"", NOBODY),
            (b"\xff@example.org", NOBODY),
        ] {
            assert_eq!(number(name, known), id, "{name:?}");
        }
        assert_eq!(number(&[&[b'a'; MAX_NAME_BYTES + 1][..], b"@x"].concat(), |_| Some(1)), NOBODY);
    }

    #[tokio::test]
    async fn users_and_groups_are_resolved_once_with_those_that_are_unknown() {
        let (directory, owners) = directory();
        let names = ["alice", "bob", "broken"].map(|name| owner(IdKind::User, name)).to_vec();
        let all = [names, vec![owner(IdKind::Group, "staff"), owner(IdKind::User, "alice")]].concat();
        for _ in 0..3 {
            owners.resolve(all.clone()).await;
        }
        assert_eq!(*directory.queries.lock().unwrap(), ["alice", "bob", "broken", "staff"]);
        let known = |kind, name| owners.known(kind, name);
        assert_eq!((known(IdKind::User, "alice"), known(IdKind::Group, "staff")), (Some(1001), Some(50)));
        assert_eq!((known(IdKind::Group, "alice"), known(IdKind::User, "broken")), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_fetched_again_after_it_has_expired() {
        let (directory, owners) = directory();
        for _ in 0..2 {
            owners.resolve(vec![owner(IdKind::User, "alice")]).await;
            tokio::time::advance(Duration::from_secs(61)).await;
        }
        assert_eq!(directory.queries.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn slow_name_service_does_not_block_the_runtime() {
        let (open, gate) = mpsc::channel();
        let directory = Arc::new(Directory { gate: Some(Mutex::new(gate)), ..Directory::default() });
        let owners = Owners::new(directory);
        // Both are on this runtime's only thread: without a thread for the query, nobody would open the gate.
        let opening = async {
            tokio::task::yield_now().await;
            open.send(()).unwrap();
        };
        tokio::join!(owners.resolve(vec![owner(IdKind::User, "alice")]), opening);
        assert_eq!(owners.known(IdKind::User, "alice"), Some(1001));
    }
}
