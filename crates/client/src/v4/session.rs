use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use proto::nfs4::{ChannelAttrs, ClientId, SequenceArgs, SessionId};

use super::exchange_id::ServerName;
use super::slots::{Slots, Taken};

/// What the client is to the server until the server forgets it: a client id, and from 4.1 on a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: ClientId,
    /// The fore channel; 4.0 has none.
    pub(super) channel: Option<Channel>,
    /// When it was asked for: the lease lasts from then on at the least.
    pub(super) since: Instant,
    /// Whether a call renewed the lease since the renewal looked last. In 4.0 only RENEW does for certain.
    is_renewed: AtomicBool,
}

/// The fore channel of a session.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) session: SessionId,
    pub(super) attributes: ChannelAttrs,
    pub(super) slots: Slots,
    /// Whether the server calls the client in it.
    pub(super) has_back_channel: bool,
    /// Where all its connections lead.
    pub(super) server: Arc<ServerName>,
}

impl Session {
    pub(super) fn new(client: ClientId, channel: Option<Channel>, since: Instant) -> Session {
        let is_renewed = AtomicBool::new(channel.is_some());
        Session { client, channel, since, is_renewed }
    }

    /// Notes that the lease was renewed.
    pub(super) fn renewed(&self) {
        // Most calls find the note there already, and need not write to what other processors read.
        if !self.is_renewed.load(Ordering::Relaxed) {
            self.is_renewed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the lease was renewed since this was asked last.
    pub(super) fn take_renewed(&self) -> bool {
        self.is_renewed.swap(false, Ordering::Relaxed)
    }

    /// Ends the waiting for its slots: it is gone.
    pub(super) fn close(&self) {
        self.channel.iter().for_each(|channel| channel.slots.close());
    }
}

impl Channel {
    pub(super) fn new(
        session: SessionId,
        attributes: ChannelAttrs,
        has_back_channel: bool,
        server: Arc<ServerName>,
    ) -> Channel {
        Channel { session, attributes, slots: Slots::new(attributes.max_requests), has_back_channel, server }
    }

    /// What stands in front of a request.
    pub(super) fn sequence(&self, taken: &Taken<'_>, is_kept: bool) -> SequenceArgs {
        SequenceArgs {
            session: self.session,
            sequence: taken.sequence,
            slot: taken.slot,
            highest_slot: taken.highest,
            cache_this: is_kept,
        }
    }
}
