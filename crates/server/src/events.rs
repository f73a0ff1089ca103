//! Passes the events of the state manager to the protocols that send them.

use std::time::Duration;

use state::Event;

use crate::nlm;
use crate::server::Server;

impl Server {
    /// Sends the pending events of the state manager.
    pub(crate) fn send_events(&self, now: Duration) {
        while let Some(event) = self.state.poll_event() {
            match event {
                Event::Recall(recall) => self.recall(recall, now),
                Event::NotifyLock(notice) => self.notify_lock(&notice, now),
                Event::NlmGranted(granted) => nlm::grant(self, &granted, now),
            }
        }
    }
}
