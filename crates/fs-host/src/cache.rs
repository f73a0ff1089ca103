//! The nodes at hand: one shelf per worker, each behind its own lock, so that a hit waits for nobody.
//!
//! A shelf is bounded, and so are all of them together. What makes room is the node that was not used since the hand
//! last came by (second chance): of the same shelf, or of another one when only that has any. A node holds a
//! descriptor, and a descriptor keeps a removed file's space: a file that is gone leaves every shelf.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vfs::Handle;

use crate::node::HostNode;

/// All workers' shelves.
pub(crate) struct NodeCache {
    shelves: Box<[AlignedShelf]>,
    limits: NodeLimits,
    /// How many nodes all shelves have.
    count: AtomicUsize,
}

/// How many nodes are kept at the most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeLimits {
    pub(crate) per_worker: usize,
    pub(crate) total: usize,
}

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
}

impl NodeCache {
    /// Makes a cache of `workers` shelves; each may have one node at the least.
    pub(crate) fn new(workers: usize, limits: NodeLimits) -> NodeCache {
        let shelves = (0..workers.max(1)).map(|_| AlignedShelf(Mutex::default())).collect();
        let limits = NodeLimits { per_worker: limits.per_worker.max(1), total: limits.total.max(1) };
        NodeCache { shelves, limits, count: AtomicUsize::new(0) }
    }

    /// The node that `worker` has at hand for `handle`.
    pub(crate) fn get(&self, worker: usize, handle: &Handle) -> Option<Arc<HostNode>> {
        self.shelf(worker).get(handle)
    }

    /// Puts a node on `worker`'s shelf, in place of another one when the shelf is full.
    pub(crate) fn put(&self, worker: usize, handle: Handle, node: Arc<HostNode>) {
        let replaced = self.shelf(worker).put(CachedNode { handle, node, used: false }, self.limits.per_worker);
        if replaced.is_none() && self.count.fetch_add(1, Ordering::Relaxed) >= self.limits.total {
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
            let nodes: Vec<_> = self.shelf(worker).slots.iter().map(|s| (s.handle, Arc::clone(&s.node))).collect();
            for (handle, _) in nodes.iter().filter(|(_, node)| is_unwanted(node)) {
                let taken = self.shelf(worker).remove(handle);
                self.count.fetch_sub(usize::from(taken.is_some()), Ordering::Relaxed);
            }
        }
    }

    /// Takes a node off the shelf of `worker`, which has a new one, or else off the next one that has any.
    fn make_room(&self, worker: usize) {
        for next in worker..worker + self.shelves.len() {
            let mut shelf = self.shelf(next);
            let taken = if next > worker || shelf.slots.len() > 1 { shelf.take_unused() } else { None };
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
        slot.used = true;
        Some(Arc::clone(&slot.node))
    }

    fn put(&mut self, slot: CachedNode, max_nodes: usize) -> Option<CachedNode> {
        let replaced = match self.remove(&slot.handle) {
            None if self.slots.len() >= max_nodes => self.take_unused(),
            earlier => earlier,
        };
        self.places.insert(slot.handle, self.slots.len());
        self.slots.push(slot);
        replaced
    }

    /// Every slot that the hand passes loses its mark, so the second round finds one at the latest.
    fn take_unused(&mut self) -> Option<CachedNode> {
        for _ in 0..2 * self.slots.len() {
            self.hand = (self.hand + 1) % self.slots.len();
            let slot = &mut self.slots[self.hand];
            if !std::mem::take(&mut slot.used) {
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
