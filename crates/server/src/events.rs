//! What the state manager wants clients to be told, on its way to the protocol that tells them.

use std::time::Duration;

use state::Event;

use crate::nlm;
use crate::server::Server;

impl Server {
    /// Sends what the state manager wants to be sent.
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
