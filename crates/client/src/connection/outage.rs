//! Which servers are silent, so that whoever waits for one is told once, however many connections lead to it.

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::News;

/// The silent servers, each with the watches of the connections that noticed. A server leaves when it answers, and when
/// none of these connections is left.
static SILENT: Mutex<BTreeMap<Arc<str>, Vec<u64>>> = Mutex::new(BTreeMap::new());

/// What one connection has noticed of its server.
#[derive(Debug)]
pub(super) struct Watch {
    server: Arc<str>,
    number: u64,
}

impl Watch {
    pub(super) fn new(server: Arc<str>) -> Watch {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Watch { server, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Tells what the core found out, unless another connection to this server did already.
    pub(super) fn tell(&self, news: News) {
        match news {
            News::Silent if self.is_first() => {
                tracing::warn!(server = %self.server, "server not responding, still trying");
            }
            News::Answers if silent().remove(&self.server).is_some() => {
                tracing::warn!(server = %self.server, "server OK");
            }
            News::Silent | News::Answers => {}
        }
    }

    fn is_first(&self) -> bool {
        let mut silent = silent();
        let watches = silent.entry(Arc::clone(&self.server)).or_default();
        watches.push(self.number);
        watches.len() == 1
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Entry::Occupied(mut watches) = silent().entry(Arc::clone(&self.server)) {
            watches.get_mut().retain(|number| *number != self.number);
            if watches.get().is_empty() {
                watches.remove();
            }
        }
    }
}

fn silent() -> MutexGuard<'static, BTreeMap<Arc<str>, Vec<u64>>> {
    SILENT.lock().unwrap_or_else(PoisonError::into_inner)
}
