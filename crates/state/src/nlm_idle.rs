//! Hosts of the lock protocol that hold nothing any more: after a while they go off the record, so that neither the table nor the
//! record grows for ever, and a restart waits for nobody who has nothing to reclaim.

use std::time::Duration;

use crate::State;
use crate::core::Core;
use crate::records::RecordKind;

impl Core {
    /// Forgets hosts that have had nothing for `Limits::nlm_idle`. Looks at all of them, and only now and then.
    pub(crate) fn sweep_nlm_hosts(&mut self, now: Duration) {
        let idle = self.limits().nlm_idle;
        if !self.nlm.is_sweep_due(now, idle) {
            return;
        }
        let steps = self.limits().steps;
        let owners = &self.owners;
        let has_nothing = |number| owners.first_of(true, number).is_none();
        let gone: Vec<Box<[u8]>> = self.nlm.unused_since(now.saturating_sub(idle), has_nothing).take(steps).collect();
        let records: Vec<(RecordKind, &[u8])> = gone.iter().map(|host| (RecordKind::Nlm, &**host)).collect();
        // A host whose record cannot be removed stays; the next sweep tries again.
        if gone.is_empty() || self.records.remove(&records).is_err() {
            return;
        }
        gone.iter().for_each(|host| self.nlm.remove(host));
    }
}

impl State {
    /// How many hosts of the lock protocol are known.
    pub fn nlm_hosts(&self) -> usize {
        self.core().nlm.len()
    }
}
