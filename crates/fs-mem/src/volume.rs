//! The state that all nodes of a file system share.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use vfs::{Entry, Error, Handle, Result, Timestamp};

use crate::acls::Lists;
use crate::lock;
use crate::node::MemNode;
use crate::options::{Clock, MemOptions};
use crate::space::Supply;
use crate::table::NodeTable;

/// A handle's length: eight bytes for the instance, eight for the node.
const HANDLE_BYTES: usize = 16;

/// The root counts as a file, and is always there.
const ROOT_FILES: u64 = 1;

pub(crate) struct MemVolume {
    /// Distinguishes this file system from all others, and from itself before a restart.
    instance: u64,
    next_id: AtomicU64,
    table: NodeTable,
    bytes: Supply,
    files: Supply,
    clock: Clock,
    renames: Mutex<()>,
    /// Whether any file ever had an access list; otherwise checks skip lists.
    has_lists: AtomicBool,
}

impl MemVolume {
    pub(crate) fn new(options: &MemOptions) -> MemVolume {
        MemVolume {
            instance: new_instance(),
            next_id: AtomicU64::new(1),
            table: NodeTable::new(),
            bytes: Supply::new(options.capacity_bytes),
            files: Supply::with_used(options.max_files, ROOT_FILES),
            clock: options.clock.clone(),
            renames: Mutex::new(()),
            has_lists: AtomicBool::new(false),
        }
    }

    pub(crate) fn instance(&self) -> u64 {
        self.instance
    }

    pub(crate) fn table(&self) -> &NodeTable {
        &self.table
    }

    pub(crate) fn bytes(&self) -> &Supply {
        &self.bytes
    }

    pub(crate) fn files(&self) -> &Supply {
        &self.files
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A number that no node has had.
    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether any file may have an access list.
    pub(crate) fn has_lists(&self) -> bool {
        self.has_lists.load(Ordering::Acquire)
    }

    /// Must be called before a file gets these lists.
    pub(crate) fn note_lists(&self, lists: &Lists) {
        if !lists.are_empty() {
            self.has_lists.store(true, Ordering::Release);
        }
    }

    /// Prevents renames of directories.
    pub(crate) fn hold_renames(&self) -> MutexGuard<'_, ()> {
        lock::hold(&self.renames)
    }

    pub(crate) fn handle(&self, id: u64) -> Handle {
        let mut bytes = [0; HANDLE_BYTES];
        bytes[..8].copy_from_slice(&self.instance.to_be_bytes());
        bytes[8..].copy_from_slice(&id.to_be_bytes());
        const { assert!(HANDLE_BYTES <= Handle::MAX_BYTES) };
        Handle::new(&bytes).unwrap_or_else(|| unreachable!("the length was checked at compile time"))
    }

    pub(crate) fn entry(&self, node: &MemNode) -> Entry {
        Entry { handle: self.handle(node.id()), attributes: node.attributes() }
    }

    /// The node of `handle`.
    pub(crate) fn node(&self, handle: &Handle) -> Result<Arc<MemNode>> {
        let bytes: [u8; HANDLE_BYTES] = handle.as_bytes().try_into().map_err(|_| Error::BadHandle)?;
        let number = u128::from_be_bytes(bytes);
        let (instance, id) = ((number >> 64) as u64, number as u64);
        if instance != self.instance {
            return Err(Error::Stale);
        }
        self.table.get(id).ok_or_else(|| self.absence_of(id))
    }

    fn absence_of(&self, id: u64) -> Error {
        if (1..self.next_id.load(Ordering::Relaxed)).contains(&id) { Error::Stale } else { Error::BadHandle }
    }
}

/// A number from the system's random numbers and the time. Either alone distinguishes two instances.
fn new_instance() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    hasher.write_u128(since.as_nanos());
    hasher.finish()
}
