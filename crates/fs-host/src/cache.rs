//! The nodes at hand: one shelf per worker, each behind its own lock, so that a hit waits for nobody.
//!
//! All shelves together are bounded. What makes room is a node that was not used since the hand last came by (second
//! chance). Other shelves in turn make room before the one that needs it, so that an idle worker does not keep its
//! nodes at the cost of a busy one. A node holds a descriptor: one that nobody uses leaves after a while. A descriptor
//! keeps a removed file's space: a file that is gone leaves every shelf.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vfs::Handle;

use crate::node::HostNode;

/// All workers' shelves.
pub(crate) struct NodeCache {
    shelves: Box<[AlignedShelf]>,
    /// The most nodes that all shelves may have, and how many they have.
    max_nodes: usize,
    count: AtomicUsize,
    /// The shelf that makes room next.
    turn: AtomicUsize,
}

/// How many shelves are asked in turn to make room. Most workers have no nodes, so one shelf is too few; a bound keeps
/// the cost of a new node the same with many workers.
const SHELVES_ASKED: usize = 8;

/// How many nodes the hand passes at most, with a shelf locked.
const MAX_PASSED: usize = 64;

/// How many nodes are copied with a shelf locked, when all of them are looked at.
const NODES_AT_ONCE: usize = 1024;

/// How many rounds of [`NodeCache::drop_idle`], one in ten seconds, a node stays that nobody uses: most of a minute, so
/// that a client which goes through very many files finds them at hand the next time.
const MAX_IDLE_ROUNDS: u8 = 5;

/// Keeps two workers' locks off one cache line.
#[repr(align(128))]
struct AlignedShelf(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    places: foldhash::HashMap<Handle, usize>,
    slots: Vec<CachedNode>,
    hand: usize,
}

struct CachedNode {
    handle: Handle,
    node: Arc<HostNode>,
    used: bool,
    /// How often [`NodeCache::drop_idle`] met it since it was used.
    idle_rounds: u8,
}

impl NodeCache {
    /// Makes a cache of `workers` shelves, with so many nodes or one.
    pub(crate) fn new(workers: usize, max_nodes: usize) -> NodeCache {
        let shelves = (0..workers.max(1)).map(|_| AlignedShelf(Mutex::default())).collect();
        NodeCache { shelves, max_nodes: max_nodes.max(1), count: AtomicUsize::new(0), turn: AtomicUsize::new(0) }
    }

    /// The node that `worker` has at hand for `handle`.
    pub(crate) fn get(&self, worker: usize, handle: &Handle) -> Option<Arc<HostNode>> {
        self.shelf(worker).get(handle)
    }

    /// Puts a node on `worker`'s shelf, in place of another one when all are full.
    pub(crate) fn put(&self, worker: usize, handle: Handle, node: Arc<HostNode>) {
        let replaced = self.shelf(worker).put(CachedNode { handle, node, used: false, idle_rounds: 0 });
        if replaced.is_none() && self.count.fetch_add(1, Ordering::Relaxed) >= self.max_nodes {
            self.make_room(worker);
        }
        // The descriptor is closed when the lock is free again.
        drop(replaced);
    }

    /// Takes a file off every shelf.
    pub(crate) fn forget(&self, handle: &Handle) {
        for worker in 0..self.shelves.len() {
            let taken = self.shelf(worker).remove(handle);
            self.count.fetch_sub(usize::from(taken.is_some()), Ordering::Relaxed);
            drop(taken);
        }
    }

    /// Takes half of the nodes off every shelf, to get descriptors back.
    pub(crate) fn shrink_all(&self) {
        (0..self.shelves.len()).for_each(|worker| self.shrink(worker));
    }

    /// Takes half of the nodes off `worker`'s shelf, to get descriptors back.
    pub(crate) fn shrink(&self, worker: usize) {
        let mut shelf = self.shelf(worker);
        let kept = shelf.slots.len() / 2;
        let taken = shelf.slots.split_off(kept);
        for slot in &taken {
            shelf.places.remove(&slot.handle);
        }
        shelf.hand = 0;
        drop(shelf);
        self.count.fetch_sub(taken.len(), Ordering::Relaxed);
        drop(taken);
    }

    /// Takes every node off every shelf for which `is_unwanted` says so.
    pub(crate) fn drop_where(&self, is_unwanted: impl Fn(&HostNode) -> bool) {
        for worker in 0..self.shelves.len() {
            let mut end = usize::MAX;
            while end > 0 {
                // From the last place to the first: a removal moves a node from behind to where it was.
                let (nodes, first) = self.shelf(worker).part_before(end);
                for (handle, _) in nodes.iter().filter(|(_, node)| is_unwanted(node)) {
                    let taken = self.shelf(worker).remove(handle);
                    self.count.fetch_sub(usize::from(taken.is_some()), Ordering::Relaxed);
                }
                end = first;
            }
        }
    }

    /// Takes the nodes off their shelves that were not used for [`MAX_IDLE_ROUNDS`] calls, to give descriptors back.
    pub(crate) fn drop_idle(&self) {
        for worker in 0..self.shelves.len() {
            let mut end = usize::MAX;
            while end > 0 {
                let (taken, first) = self.shelf(worker).take_idle_before(end);
                self.count.fetch_sub(taken.len(), Ordering::Relaxed);
                end = first;
            }
        }
    }

    /// Takes a node off one of the shelves whose turn it is, or else off that of `worker`, which has a new one, or else
    /// off any.
    fn make_room(&self, worker: usize) {
        let (shelves, turn) = (self.shelves.len(), self.turn.fetch_add(1, Ordering::Relaxed));
        let asked = (0..SHELVES_ASKED.min(shelves)).map(|next| turn.wrapping_add(next) % shelves);
        for next in asked.chain([worker % shelves]).chain(0..shelves) {
            let mut shelf = self.shelf(next);
            let has_others = next != worker % shelves || shelf.slots.len() > 1;
            let taken = if has_others { shelf.take_unused() } else { None };
            drop(shelf);
            if taken.is_some() {
                self.count.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        }
    }

    fn shelf(&self, worker: usize) -> MutexGuard<'_, Shelf> {
        // A shelf is whole between any two statements that can panic, so a poisoned lock means nothing here.
        self.shelves[worker % self.shelves.len()].0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn get(&mut self, handle: &Handle) -> Option<Arc<HostNode>> {
        let slot = &mut self.slots[*self.places.get(handle)?];
        (slot.used, slot.idle_rounds) = (true, 0);
        Some(Arc::clone(&slot.node))
    }

    /// Puts a node in place of an earlier one of its file.
    fn put(&mut self, slot: CachedNode) -> Option<CachedNode> {
        let replaced = self.remove(&slot.handle);
        self.places.insert(slot.handle, self.slots.len());
        self.slots.push(slot);
        replaced
    }

    /// The last nodes before a place, and the place of the first of them.
    fn part_before(&self, end: usize) -> (Vec<(Handle, Arc<HostNode>)>, usize) {
        let end = end.min(self.slots.len());
        let first = end.saturating_sub(NODES_AT_ONCE);
        (self.slots[first..end].iter().map(|slot| (slot.handle, Arc::clone(&slot.node))).collect(), first)
    }

    /// Takes the idle ones of the last nodes before a place, and counts the round for the others; says the place of the
    /// first of them.
    fn take_idle_before(&mut self, end: usize) -> (Vec<CachedNode>, usize) {
        let end = end.min(self.slots.len());
        let first = end.saturating_sub(NODES_AT_ONCE);
        let mut taken = Vec::new();
        for place in (first..end).rev() {
            let slot = &mut self.slots[place];
            slot.idle_rounds += 1;
            if slot.idle_rounds > MAX_IDLE_ROUNDS {
                let handle = slot.handle;
                taken.extend(self.remove(&handle));
            }
        }
        (taken, first)
    }

    /// Takes a node that was not used since the hand passed it last; after many that were used, the next one.
    fn take_unused(&mut self) -> Option<CachedNode> {
        for passed in 0.. {
            self.hand = self.hand.checked_add(1).filter(|next| *next < self.slots.len()).unwrap_or(0);
            let slot = self.slots.get_mut(self.hand)?;
            if !std::mem::take(&mut slot.used) || passed == MAX_PASSED {
                let handle = slot.handle;
                return self.remove(&handle);
            }
        }
        None
    }

    fn remove(&mut self, handle: &Handle) -> Option<CachedNode> {
        if self.places.is_empty() {
            return None;
        }
        let place = self.places.remove(handle)?;
        let taken = self.slots.swap_remove(place);
        if let Some(moved) = self.slots.get(place) {
            self.places.insert(moved.handle, place);
        }
        Some(taken)
    }
}
