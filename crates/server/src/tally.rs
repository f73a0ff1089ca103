//! Counts the entries of each address in a table, so that none fills the table alone.

use std::collections::HashMap;

use state::{Origin, may_take};

/// The number of entries in a table, by origin.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    by_origin: HashMap<Origin, usize>,
    all: usize,
}

impl Tally {
    /// The number of entries of an address.
    pub(crate) fn of(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).copied().unwrap_or_default()
    }

    /// Whether an address may add one entry to a table of `limit` entries. It may have as many as remain free, and
    /// always a few.
    pub(crate) fn has_room(&self, origin: Origin, limit: usize) -> bool {
        may_take(1, self.of(origin), self.all, limit)
    }

    pub(crate) fn add(&mut self, origin: Origin) {
        *self.by_origin.entry(origin).or_default() += 1;
        self.all += 1;
    }

    pub(crate) fn remove(&mut self, origin: Origin) {
        let Some(own) = self.by_origin.get_mut(&origin) else { return };
        *own -= 1;
        self.all -= 1;
        if *own == 0 {
            self.by_origin.remove(&origin);
        }
    }
}
