//! Maps the numbers of nodes to nodes.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, Weak};

use crate::lock;
use crate::node::MemNode;

/// The number of shards, so that look-ups of different files rarely share a lock.
const SHARDS: usize = 64;

/// A shard, alone in its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct NodeShard(RwLock<HashMap<u64, Weak<MemNode>>>);

/// All existing nodes, by number. Only their names, open files and holds keep them alive.
pub(crate) struct NodeTable {
    shards: Vec<NodeShard>,
}

impl NodeTable {
    pub(crate) fn new() -> NodeTable {
        NodeTable { shards: (0..SHARDS).map(|_| NodeShard::default()).collect() }
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<MemNode>> {
        lock::read(self.shard(id)).get(&id).and_then(Weak::upgrade)
    }

    pub(crate) fn insert(&self, node: &Arc<MemNode>) {
        lock::write(self.shard(node.id())).insert(node.id(), Arc::downgrade(node));
    }

    pub(crate) fn forget(&self, id: u64) {
        lock::write(self.shard(id)).remove(&id);
    }

    fn shard(&self, id: u64) -> &RwLock<HashMap<u64, Weak<MemNode>>> {
        &self.shards[id as usize % SHARDS].0
    }
}
