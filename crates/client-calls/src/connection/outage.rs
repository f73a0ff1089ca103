//! The silent servers, so that users are told once of each, however many connections lead to it.

use std::collections::btree_map::{BTreeMap, Entry};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::News;

/// The silent servers, each with the watches that noticed it. A server is removed when it answers, or when none of
/// these watches is left.
static SILENT: Mutex<BTreeMap<Arc<str>, Vec<u64>>> = Mutex::new(BTreeMap::new());

/// What one connection notices of its server.
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

    /// Logs news of the server, unless another connection already did.
    pub(super) fn tell(&self, news: News) {
        self.tell_why(news, None);
    }

    /// Logs news of the server, with the reason if it is known.
    pub(super) fn tell_why(&self, news: News, error: Option<&io::Error>) {
        match news {
            News::Silent if self.is_first() => {
                let error = error.map(tracing::field::display);
                tracing::warn!(server = %self.server, error, "server not responding, still trying");
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
