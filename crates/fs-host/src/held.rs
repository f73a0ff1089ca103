//! Files that somebody holds: their handles reach them after their last name is gone.
//!
//! A hold keeps a node, and so a descriptor, which may be the one that is at hand anyway. The kernel's handles are the
//! same in every view of a device, so these views share one table: a file is held through one export and used through
//! another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use vfs::{Handle, Result};

use crate::attributes::{BLOCK_BYTES, MAX_SPACE_ON_LOOP_BYTES, stat_fd};
use crate::node::HostNode;

/// The held files of a device, or of a store.
#[derive(Debug, Default)]
pub(crate) struct HeldFiles {
    files: Mutex<HashMap<Handle, HeldFile, foldhash::fast::RandomState>>,
    /// How many there are, so that nobody takes the lock while there are none.
    count: AtomicUsize,
}

#[derive(Debug)]
struct HeldFile {
    node: Arc<HostNode>,
    holds: usize,
}

/// The tables of the devices.
static TABLES: Mutex<Vec<(u64, Weak<HeldFiles>)>> = Mutex::new(Vec::new());

impl HeldFiles {
    /// The table of a device whose files have the kernel's handles, or else a new one.
    pub(crate) fn of(device: Option<u64>) -> Arc<HeldFiles> {
        let Some(device) = device else { return Arc::default() };
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|(_, table)| table.strong_count() > 0);
        if let Some(table) = tables.iter().find(|(of, _)| *of == device).and_then(|(_, table)| table.upgrade()) {
            return table;
        }
        let table = Arc::<HeldFiles>::default();
        tables.push((device, Arc::downgrade(&table)));
        table
    }

    /// The node of a file that is held.
    pub(crate) fn get(&self, handle: &Handle) -> Option<Arc<HostNode>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().get(handle).map(|held| Arc::clone(&held.node))
    }

    /// Notes that a file has no name left, if it is held.
    pub(crate) fn lose_name(&self, handle: &Handle) {
        if let Some(node) = self.get(handle) {
            node.lose_name();
        }
    }

    /// Holds a file, which `node` finds if it is not held.
    pub(crate) fn hold(
        self: &Arc<HeldFiles>,
        handle: Handle,
        node: impl FnOnce() -> Result<Arc<HostNode>>,
    ) -> Result<HostHold> {
        let hold = || HostHold { table: Arc::clone(self), handle };
        if let Some(held) = self.lock().get_mut(&handle) {
            held.holds += 1;
            return Ok(hold());
        }
        let node = node()?;
        let mut files = self.lock();
        files.entry(handle).or_insert(HeldFile { node, holds: 0 }).holds += 1;
        self.count.store(files.len(), Ordering::Release);
        drop(files);
        Ok(hold())
    }

    /// Ends a hold; the last one gets the node.
    fn end(&self, handle: &Handle) -> Option<Arc<HostNode>> {
        let mut files = self.lock();
        let held = files.get_mut(handle)?;
        held.holds -= 1;
        if held.holds > 0 {
            return None;
        }
        let ended = files.remove(handle);
        self.count.store(files.len(), Ordering::Release);
        ended.map(|held| held.node)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Handle, HeldFile, foldhash::fast::RandomState>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One hold.
#[derive(Debug)]
pub(crate) struct HostHold {
    table: Arc<HeldFiles>,
    handle: Handle,
}

impl Drop for HostHold {
    fn drop(&mut self) {
        let Some(node) = self.table.end(&self.handle) else { return };
        if node.is_nameless() && is_large(&node) {
            // The kernel frees its space as the descriptor is closed, which may take long: this thread may be a loop.
            // A thread that cannot be started drops the node here all the same.
            let _ = thread::Builder::new().name("free".to_owned()).spawn(move || drop(node));
        }
    }
}

fn is_large(node: &HostNode) -> bool {
    stat_fd(node.fd()).is_ok_and(|stat| stat.stx_blocks.saturating_mul(BLOCK_BYTES) > MAX_SPACE_ON_LOOP_BYTES)
}
