//! The opens of one file, indexed by owner and by share modes, so that each request only visits opens that it changes
//! or conflicts with.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::ShareDeny;
use crate::ids::{OwnerId, StateKey};
use crate::share::Share;

/// The sort key of an open: its share modes, then its client.
type ShareKey = (Share, StateKey);

const ALL: RangeInclusive<StateKey> = StateKey(0)..=StateKey(u64::MAX);

/// The opens of a file, at most one of each owner.
#[derive(Debug, Default)]
pub(crate) struct OpenSet {
    by_owner: BTreeMap<OwnerId, StateKey>,
    by_share: BTreeSet<ShareKey>,
}

impl OpenSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_share.is_empty()
    }

    pub(crate) fn of_owner(&self, owner: OwnerId) -> Option<StateKey> {
        self.by_owner.get(&owner).copied()
    }

    pub(crate) fn insert(&mut self, owner: OwnerId, share: Share, key: StateKey) {
        self.by_owner.insert(owner, key);
        self.by_share.insert((share, key));
    }

    pub(crate) fn remove(&mut self, owner: OwnerId, share: Share, key: StateKey) {
        if self.by_share.remove(&(share, key)) {
            self.by_owner.remove(&owner);
        }
    }

    /// Adds what conflicts like an open without being one.
    pub(crate) fn reserve(&mut self, share: Share, key: StateKey) {
        self.by_share.insert((share, key));
    }

    /// Ends a reservation; false if it had ended.
    pub(crate) fn end_reservation(&mut self, share: Share, key: StateKey) -> bool {
        self.by_share.remove(&(share, key))
    }

    /// The union of all deny modes.
    pub(crate) fn deny(&self) -> ShareDeny {
        self.shares().fold(ShareDeny::NONE, |sum, share| sum.union(share.deny))
    }

    /// The opens whose share modes match.
    pub(crate) fn sharing(&self, is_wanted: impl Fn(Share) -> bool) -> impl Iterator<Item = StateKey> {
        let wanted = self.shares().filter(move |share| is_wanted(*share));
        wanted.flat_map(|share| self.within(share, ALL))
    }

    /// The opens of clients other than `client` whose share modes match.
    pub(crate) fn of_others(&self, client: u32, is_wanted: impl Fn(Share) -> bool) -> impl Iterator<Item = StateKey> {
        let before = StateKey(0)..=StateKey(StateKey::new(client, 0).0.saturating_sub(1));
        let behind = StateKey(StateKey::new(client, u32::MAX).0.saturating_add(1))..=*ALL.end();
        let wanted = self.shares().filter(move |share| is_wanted(*share));
        wanted.flat_map(move |share| self.within(share, before.clone()).chain(self.within(share, behind.clone())))
    }

    /// Whether one is the client's.
    pub(crate) fn has_client(&self, client: u32) -> bool {
        let own = StateKey::new(client, 0)..=StateKey::new(client, u32::MAX);
        self.shares().any(|share| self.within(share, own.clone()).next().is_some())
    }

    /// The distinct pairs of access and deny modes.
    fn shares(&self) -> impl Iterator<Item = Share> {
        let first = self.by_share.first();
        let next = |&(share, _): &ShareKey| self.by_share.range((share, *ALL.end())..).next();
        std::iter::successors(first, move |place| next(place)).map(|(share, _)| *share)
    }

    fn within(&self, share: Share, keys: RangeInclusive<StateKey>) -> impl Iterator<Item = StateKey> {
        self.by_share.range((share, *keys.start())..=(share, *keys.end())).map(|(_, key)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShareAccess;

    const READ: Share = Share { access: ShareAccess::READ, deny: ShareDeny::NONE };
    const WRITE: Share = Share { access: ShareAccess::WRITE, deny: ShareDeny::WRITE };

    const KEY: fn(u32, u32) -> StateKey = StateKey::new;

    fn set() -> OpenSet {
        let mut set = OpenSet::default();
        set.insert(OwnerId(1), READ, KEY(1, 1));
        set.insert(OwnerId(2), READ, KEY(2, 1));
        set.insert(OwnerId(3), READ, KEY(3, u32::MAX));
        set.insert(OwnerId(4), WRITE, KEY(2, 2));
        set
    }

    #[test]
    fn opens_are_found_by_owner_and_by_share() {
        let set = set();
        assert_eq!((set.of_owner(OwnerId(3)), set.of_owner(OwnerId(5))), (Some(KEY(3, u32::MAX)), None));
        let readers: Vec<_> = set.sharing(|share| share.access.reads()).collect();
        assert_eq!(readers, [KEY(1, 1), KEY(2, 1), KEY(3, u32::MAX)]);
        assert_eq!(set.deny(), ShareDeny::WRITE);
    }

    #[test]
    fn opens_of_the_client_itself_are_passed_by() {
        let set = set();
        assert_eq!(set.of_others(2, |_| true).collect::<Vec<_>>(), [KEY(1, 1), KEY(3, u32::MAX)]);
        assert_eq!(set.of_others(3, |share| share.deny != ShareDeny::NONE).collect::<Vec<_>>(), [KEY(2, 2)]);
    }

    #[test]
    fn client_with_an_open_is_known() {
        let set = set();
        assert_eq!([0, 1, 2, 3, 4].map(|client| set.has_client(client)), [false, true, true, true, false]);
    }

    #[test]
    fn removed_open_denies_nothing() {
        let mut set = set();
        set.remove(OwnerId(4), WRITE, KEY(2, 2));
        assert_eq!((set.deny(), set.of_owner(OwnerId(4))), (ShareDeny::NONE, None));
        assert_eq!(set.sharing(|_| true).count(), 3);
    }
}
