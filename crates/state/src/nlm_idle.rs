//! Removes hosts of the lock protocol without state after a while, so that the table does not grow forever.

use std::time::Duration;

use crate::State;
use crate::core::Core;
use crate::records::RecordKind;

impl Core {
    /// Removes hosts that had no state for `Limits::nlm_idle`. It scans all hosts, so it runs rarely.
    pub(crate) fn sweep_nlm_hosts(&mut self, now: Duration) {
        let idle = self.limits().nlm_idle;
        if !self.nlm.is_sweep_due(now, idle) {
            return;
        }
        let steps = self.limits().steps;
        let owners = &self.owners;
        let has_nothing = |number| owners.first_of(true, number).is_none();
        let gone: Vec<Box<[u8]>> = self.nlm.unused_since(now.saturating_sub(idle), has_nothing).take(steps).collect();
        let recorded = gone.iter().filter(|host| self.nlm.is_recorded(host));
        let records: Vec<(RecordKind, &[u8])> = recorded.map(|host| (RecordKind::Nlm, &**host)).collect();
        self.take_off_record(&records);
        gone.iter().for_each(|host| self.nlm.remove(host));
    }

    /// Makes room for another host by evicting one without state, if there is any.
    pub(crate) fn forget_idle_nlm_host(&mut self) {
        let owners = &self.owners;
        let has_nothing = |number| owners.first_of(true, number).is_none();
        let Some(host) = self.nlm.unused_since(Duration::MAX, has_nothing).next() else { return };
        if self.nlm.is_recorded(&host) {
            self.take_off_record(&[(RecordKind::Nlm, &host)]);
        }
        self.nlm.remove(&host);
    }
}

impl State {
    /// The number of known hosts of the lock protocol.
    pub fn nlm_hosts(&self) -> usize {
        self.core().nlm.len()
    }
}
