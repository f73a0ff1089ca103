//! The directories below an export that are exports of their own. This one ends there, as it ends where another file
//! system is mounted, so that nobody gets around the rules of the inner export by way of the outer one.

use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use rustix::fs::Statx;
use vfs::{FileKind, Origin};

use crate::attributes::{device, kind};

/// The borders in force.
#[derive(Debug, Default)]
pub(crate) struct Borders {
    origins: ArcSwap<Vec<Origin>>,
    /// How many there are: nearly always none, which every look-up has to find out fast.
    count: AtomicUsize,
    /// How often they were set.
    changes: AtomicUsize,
}

impl Borders {
    /// Puts other borders in force.
    pub(crate) fn set(&self, origins: Vec<Origin>) {
        let count = origins.len();
        self.origins.store(origins.into());
        self.count.store(count, Ordering::Release);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// How often they were set so far.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::Acquire)
    }

    /// Whether these are the borders in force.
    pub(crate) fn are(&self, origins: &[Origin]) -> bool {
        **self.origins.load() == origins
    }

    /// The border that a file is.
    pub(crate) fn at(&self, stat: &Statx) -> Option<Origin> {
        if self.is_empty() || kind(stat) != FileKind::Directory {
            return None;
        }
        self.origins.load().iter().find(|origin| origin.is_at(device(stat), stat.stx_ino)).copied()
    }
}
