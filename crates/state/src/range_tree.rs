//! An interval tree of the ranges of many owners: a search tree by first byte, in which each node stores how far the
//! ranges of its subtree reach.
//!
//! It is a treap. The priorities do not depend on the ranges, so no order of requests makes it deep.

use std::cmp::max;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::ByteRange;
use crate::ids::OwnerId;

/// The sort key of a range: first byte, then owner.
type RangeKey = (u64, OwnerId);
type Tree = Option<Box<RangeNode>>;

/// The largest last byte in a subtree with its owner, and the largest last byte of all other owners.
#[derive(Debug, Clone, Copy)]
struct Reach {
    last: u64,
    owner: OwnerId,
    others: Option<u64>,
}

#[derive(Debug)]
struct RangeNode {
    key: RangeKey,
    last: u64,
    priority: u64,
    reach: Reach,
    left: Tree,
    right: Tree,
}

/// A range, and the owner whose part in it is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnerRange {
    pub owner: OwnerId,
    pub range: ByteRange,
}

/// Ranges with unique pairs of owner and first byte.
#[derive(Debug, Default)]
pub(crate) struct RangeTree {
    root: Tree,
    /// Makes a random priority of the number of earlier insertions.
    priorities: RandomState,
    insertions: u64,
}

impl Reach {
    fn join(self, other: Reach) -> Reach {
        let (far, near) = if self.last >= other.last { (self, other) } else { (other, self) };
        let near = if near.owner == far.owner { near.others } else { Some(near.last) };
        Reach { others: max(far.others, near), ..far }
    }

    /// Whether a range of an owner other than `owner` reaches `byte`.
    fn is_of_another(self, owner: OwnerId, byte: u64) -> bool {
        let last = if self.owner == owner { self.others } else { Some(self.last) };
        last.is_some_and(|last| last >= byte)
    }
}

impl RangeNode {
    fn of_another(&self, owner: OwnerId, range: ByteRange) -> bool {
        self.key.1 != owner && self.key.0 <= range.last() && self.last >= range.first()
    }

    fn refresh(&mut self) {
        let own = Reach { last: self.last, owner: self.key.1, others: None };
        let below = [&self.left, &self.right].into_iter().flatten();
        self.reach = below.fold(own, |reach, node| reach.join(node.reach));
    }
}

impl RangeTree {
    pub(crate) fn insert(&mut self, owner: OwnerId, range: ByteRange) {
        let (key, last) = ((range.first(), owner), range.last());
        let reach = Reach { last, owner, others: None };
        let priority = self.priorities.hash_one(self.insertions);
        self.insertions += 1;
        let node = Box::new(RangeNode { key, last, priority, reach, left: None, right: None });
        let (before, behind) = split(self.root.take(), key);
        self.root = merge(merge(before, Some(node)), behind);
    }

    pub(crate) fn remove(&mut self, owner: OwnerId, first: u64) {
        remove(&mut self.root, (first, owner));
    }

    /// The ranges of all owners except `owner` that overlap `range`, in order.
    pub(crate) fn of_others(&self, owner: OwnerId, range: ByteRange) -> impl Iterator<Item = (OwnerId, ByteRange)> {
        let mut after = None;
        std::iter::from_fn(move || {
            let node = next(&self.root, after, OwnerRange { owner, range })?;
            after = Some(node.key);
            Some((node.key.1, ByteRange::inclusive(node.key.0, node.last)?))
        })
    }
}

/// The first matching range after `after`. Subtrees without a match are skipped.
fn next(tree: &Tree, after: Option<RangeKey>, search: OwnerRange) -> Option<&RangeNode> {
    let OwnerRange { owner, range } = search;
    let node = tree.as_deref().filter(|node| node.reach.is_of_another(owner, range.first()))?;
    let is_behind = after.is_none_or(|after| node.key > after);
    if is_behind {
        if let Some(found) = next(&node.left, after, search) {
            return Some(found);
        }
        if node.of_another(owner, range) {
            return Some(node);
        }
    }
    if node.key.0 > range.last() { None } else { next(&node.right, after, search) }
}

/// Splits the tree into the ranges before `key` and the rest.
fn split(tree: Tree, key: RangeKey) -> (Tree, Tree) {
    let Some(mut node) = tree else { return (None, None) };
    if node.key < key {
        let (before, behind) = split(node.right.take(), key);
        node.right = before;
        node.refresh();
        (Some(node), behind)
    } else {
        let (before, behind) = split(node.left.take(), key);
        node.left = behind;
        node.refresh();
        (before, Some(node))
    }
}

/// Joins two trees; all of `left` must precede all of `right`.
fn merge(left: Tree, right: Tree) -> Tree {
    match (left, right) {
        (Some(mut left), Some(right)) if left.priority >= right.priority => {
            left.right = merge(left.right.take(), Some(right));
            left.refresh();
            Some(left)
        }
        (Some(left), Some(mut right)) => {
            right.left = merge(Some(left), right.left.take());
            right.refresh();
            Some(right)
        }
        (left, None) => left,
        (None, right) => right,
    }
}

fn remove(tree: &mut Tree, key: RangeKey) {
    let Some(node) = tree else { return };
    if node.key == key {
        *tree = merge(node.left.take(), node.right.take());
        return;
    }
    remove(if key < node.key { &mut node.left } else { &mut node.right }, key);
    node.refresh();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, last: u64) -> ByteRange {
        ByteRange::inclusive(first, last).unwrap()
    }

    fn found(tree: &RangeTree, owner: u64, first: u64, last: u64) -> Vec<u64> {
        tree.of_others(OwnerId(owner), range(first, last)).map(|(owner, _)| owner.0).collect()
    }

    fn depth(tree: &Tree) -> usize {
        tree.as_ref().map_or(0, |node| 1 + max(depth(&node.left), depth(&node.right)))
    }

    /// The number of subtrees that a search visits.
    fn looked_at(tree: &Tree, search: (OwnerId, ByteRange)) -> usize {
        let Some(node) = tree.as_ref().filter(|node| node.reach.is_of_another(search.0, search.1.first())) else {
            return 1;
        };
        let left = looked_at(&node.left, search);
        let ends = node.of_another(search.0, search.1) || node.key.0 > search.1.last();
        1 + left + if ends { 0 } else { looked_at(&node.right, search) }
    }

    #[test]
    fn ranges_of_others_are_found_in_order() {
        let mut tree = RangeTree::default();
        tree.insert(OwnerId(1), range(0, u64::MAX));
        tree.insert(OwnerId(2), range(0, 9));
        tree.insert(OwnerId(3), range(5, 5));
        tree.insert(OwnerId(2), range(u64::MAX, u64::MAX));
        assert_eq!(found(&tree, 9, 5, 9), [1, 2, 3]);
        assert_eq!(found(&tree, 1, 6, u64::MAX), [2, 2]);
        assert_eq!(found(&tree, 1, 10, u64::MAX - 1), [0; 0]);
        tree.remove(OwnerId(2), u64::MAX);
        assert_eq!(found(&tree, 1, 6, u64::MAX), [2]);
    }

    #[test]
    fn owner_of_many_ranges_finds_that_nobody_else_has_one_in_few_steps() {
        const RANGES: u64 = 1 << 14;
        let mut tree = RangeTree::default();
        (0..RANGES).for_each(|at| tree.insert(OwnerId(1), range(10 * at, 10 * at)));
        assert!(depth(&tree.root) < 100, "{}", depth(&tree.root));
        assert_eq!(looked_at(&tree.root, (OwnerId(1), ByteRange::WHOLE)), 1);
        tree.insert(OwnerId(2), range(10 * RANGES, 10 * RANGES));
        assert_eq!(found(&tree, 1, 0, u64::MAX), [2]);
        assert!(looked_at(&tree.root, (OwnerId(1), ByteRange::WHOLE)) < 250);
        assert!(looked_at(&tree.root, (OwnerId(3), range(81_925, 81_929))) < 250);
    }
}
