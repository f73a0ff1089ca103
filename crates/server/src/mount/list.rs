//! The mounts that clients reported. Nothing depends on this list: it is only for display.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most mounts to remember; a new one evicts the oldest.
const MAX_MOUNTS: usize = 1024;

/// A client and a path that it mounted.
type Mounted = (IpAddr, Box<[u8]>);

/// The mounts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct MountList(Mutex<Mounts>);

#[derive(Debug, Default)]
struct Mounts {
    by_age: BTreeMap<u64, Mounted>,
    ages: HashMap<Mounted, u64>,
    next_age: u64,
}

impl MountList {
    /// Records that `client` mounted `path`; repeated mounts count once.
    pub(crate) fn add(&self, client: IpAddr, path: &[u8]) {
        let mut mounts = self.lock();
        let mounted = key(client, path);
        mounts.forget(&mounted);
        while mounts.by_age.len() >= MAX_MOUNTS
            && let Some((_, oldest)) = mounts.by_age.pop_first()
        {
            mounts.ages.remove(&oldest);
        }
        let age = mounts.next_age;
        mounts.next_age += 1;
        mounts.by_age.insert(age, mounted.clone());
        mounts.ages.insert(mounted, age);
    }

    /// Removes one mount.
    pub(crate) fn remove(&self, client: IpAddr, path: &[u8]) {
        self.lock().forget(&key(client, path));
    }

    /// Removes all mounts of a client.
    pub(crate) fn remove_client(&self, client: IpAddr) {
        let client = client.to_canonical();
        let mut mounts = self.lock();
        mounts.by_age.retain(|_, (other, _)| *other != client);
        mounts.ages.retain(|(other, _), _| *other != client);
    }

    /// All mounts, oldest first.
    pub(crate) fn all(&self) -> Vec<Mounted> {
        self.lock().by_age.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Mounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The normal form of a mount: no trailing slashes, and IPv4-mapped addresses as IPv4.
fn key(client: IpAddr, path: &[u8]) -> Mounted {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = if end == 0 { b"/" } else { &path[..end] };
    (client.to_canonical(), path.into())
}

impl Mounts {
    fn forget(&mut self, mounted: &Mounted) {
        if let Some(age) = self.ages.remove(mounted) {
            self.by_age.remove(&age);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    #[test]
    fn mount_is_noted_once_and_forgotten_with_any_slashes() {
        let list = MountList::default();
        list.add(client(1), b"/srv");
        list.add(client(1), b"/srv/");
        list.add(client(2), b"/srv");
        assert_eq!(list.all().len(), 2);
        list.remove("::ffff:192.0.2.1".parse().unwrap(), b"/srv//");
        assert_eq!(list.all(), [(client(2), b"/srv".as_slice().into())]);
    }

    #[test]
    fn all_mounts_of_one_client_are_forgotten_and_no_others() {
        let list = MountList::default();
        for number in [1, 2] {
            list.add(client(number), b"/a");
            list.add(client(number), b"/b");
        }
        list.remove_client(client(1));
        assert_eq!(list.all().iter().filter(|(other, _)| *other == client(2)).count(), list.all().len());
        assert_eq!(list.all().len(), 2);
    }

    #[test]
    fn full_list_forgets_its_oldest_mount() {
        let list = MountList::default();
        for number in 0..=MAX_MOUNTS {
            list.add(client(1), format!("/{number}").as_bytes());
        }
        let all = list.all();
        assert_eq!((all.len(), &*all[0].1), (MAX_MOUNTS, b"/1".as_slice()));
    }
}
