use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proto::nfs4::{ChannelAttrs, ClientId, SequenceArgs, SessionId};

use super::exchange_id::ServerName;
use super::slots::{Slots, Taken};

/// How long a teardown that nobody waits for may take.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);
/// The bytes that a READ's reply and a WRITE's request need besides the data: headers, credential, SEQUENCE and PUTFH.
pub(super) const DATA_OVERHEAD_BYTES: u32 = 1024;
/// Transfers are a multiple of this, in bytes, to align with pages.
pub(super) const DATA_UNIT_BYTES: u32 = 4096;

/// The client's registration at the server: a client id, and from 4.1 on a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: ClientId,
    /// The fore channel; 4.0 has none.
    pub(super) channel: Option<Channel>,
    /// When it was requested. The lease lasts at least from then on.
    pub(super) since: Instant,
    /// Whether a call renewed the lease since the last check. In 4.0 only RENEW does for certain.
    is_renewed: AtomicBool,
}

/// The fore channel of a session.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) session: SessionId,
    pub(super) attributes: ChannelAttrs,
    pub(super) slots: Slots,
    /// Whether the server sends callbacks on it.
    pub(super) has_back_channel: bool,
    /// The server that all its connections lead to.
    pub(super) server: Arc<ServerName>,
}

impl Session {
    pub(super) fn new(client: ClientId, channel: Option<Channel>, since: Instant) -> Session {
        let is_renewed = AtomicBool::new(channel.is_some());
        Session { client, channel, since, is_renewed }
    }

    /// Notes that the lease was renewed.
    pub(super) fn renewed(&self) {
        // Most calls find it set and write nothing, since other processors read it.
        if !self.is_renewed.load(Ordering::Relaxed) {
            self.is_renewed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the lease was renewed since the last call.
    pub(super) fn take_renewed(&self) -> bool {
        self.is_renewed.swap(false, Ordering::Relaxed)
    }

    /// Ends all waiting for slots: the session is lost.
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

    /// The SEQUENCE in front of a request.
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
