//! From the number of a node to the node.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, Weak};

use crate::lock;
use crate::node::Node;

/// Into how many parts the table is split, so that look-ups of different files rarely meet in one lock.
const SHARDS: usize = 64;

/// One part of the table, alone in its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Shard(RwLock<HashMap<u64, Weak<Node>>>);

/// All nodes that exist, by number. The table keeps none of them alive: their names and their open files do.
pub(crate) struct Table {
    shards: Vec<Shard>,
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Node>> {
        lock::read(self.shard(id)).get(&id).and_then(Weak::upgrade)
    }

    pub(crate) fn insert(&self, node: &Arc<Node>) {
        lock::write(self.shard(node.id())).insert(node.id(), Arc::downgrade(node));
    }

    pub(crate) fn forget(&self, id: u64) {
        lock::write(self.shard(id)).remove(&id);
    }

    fn shard(&self, id: u64) -> &RwLock<HashMap<u64, Weak<Node>>> {
        &self.shards[id as usize % SHARDS].0
    }
}
