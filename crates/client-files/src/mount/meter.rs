use std::sync::Arc;

use client_calls::{CacheRecorder, Observed};

use super::Mount;
use super::other_programs::OtherPrograms;
use crate::Statistics;
use crate::v4::{self, Holdings};

/// Reads the statistics of a mount without keeping its connections open. They can still be read when the mount is gone.
#[derive(Debug, Clone)]
pub struct Meter {
    connections: Box<[Observed]>,
    caches: Arc<CacheRecorder>,
    other_programs: Arc<OtherPrograms>,
    /// State of NFSv4.
    holdings: Option<Holdings>,
}

impl Meter {
    /// The statistics so far, like [`Mount::statistics`].
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.caches = self.caches.counters();
        self.connections.iter().for_each(|connection| connection.add_to(&mut statistics));
        self.other_programs.add_to(&mut statistics);
        statistics.held = self.holdings.as_ref().map(Holdings::now).unwrap_or_default();
        statistics
    }

    /// Whether both are of one mount.
    pub fn is_same(&self, other: &Meter) -> bool {
        Arc::ptr_eq(&self.caches, &other.caches)
    }

    /// Whether the mount is gone, so that the statistics no longer change.
    pub fn is_over(&self) -> bool {
        self.connections.iter().all(Observed::is_closed)
    }
}

impl Mount {
    /// A reader of this mount's statistics, also for when the mount is gone.
    pub fn meter(&self) -> Meter {
        let connections = self.connections().iter().map(crate::Connection::observed).collect();
        let (caches, other_programs) = (Arc::clone(&self.0.cache_recorder), Arc::clone(&self.0.other_programs));
        let holdings = self.1.v4.as_ref().map(v4::Client::holdings);
        Meter { connections, caches, other_programs, holdings }
    }

    /// The statistics so far, of each procedure and each cache.
    ///
    /// ```no_run
    /// # fn example(mount: &client::Mount) {
    /// let before = mount.statistics();
    /// // Work for a while.
    /// let since = mount.statistics().since(&before);
    /// println!("{} READs", since.calls("READ"));
    /// # }
    /// ```
    pub fn statistics(&self) -> Statistics {
        self.meter().statistics()
    }
}
