//! Sends in segments of a chosen size, with the fallback of network cards that take only so many: ways to send that are
//! not the default and exist to be measured ([`SendPath`](crate::SendPath)).

use buffer::Output;

use super::stream::LoopContext;
use crate::Service;
use crate::channel::{Channel, Sent};
use crate::close_reason::CloseReason;
use crate::connection::Connection;
use crate::outbox::Outbox;

/// How many segments the kernel takes in one send (`IOV_MAX`, sendmsg(2)).
const KERNEL_MAX_SEGMENTS: usize = 1024;

impl<S: Service + ?Sized> LoopContext<S> {
    /// Sends bytes of the outbox up to its next part of a file, in segments.
    pub(super) fn send_fragments(&mut self, channel: &mut Channel, outbox: &mut Outbox) -> Result<Sent, CloseReason> {
        let segment_bytes = self.engine.hub.policy.send_path.segment_bytes();
        let mut segments = Vec::new();
        let more = outbox.gather_segments(segment_bytes, KERNEL_MAX_SEGMENTS, &mut segments);
        self.shared().counters.count_send(segments.len());
        let sent = channel.send_vectored(&segments, more).map_err(CloseReason::Broken)?;
        outbox.sent_bytes(sent.bytes(), &mut self.outputs);
        Ok(sent)
    }

    /// Queues a copy of an answer that has more segments than a send may have: into memory that is not in the caches,
    /// as a driver copies what its card does not take (`m_defrag` of FreeBSD, `skb_linearize` of Linux).
    pub(super) fn queue_flattened(&mut self, connection: &mut Connection, output: Output) {
        let mut flat = self.outputs.take_cold(output.bytes.len());
        // Segment by segment, as a driver does, and never by an instruction that repeats itself for each byte.
        let segment_bytes = self.engine.hub.policy.send_path.segment_bytes();
        output.bytes.as_slice().chunks(segment_bytes).for_each(|segment| flat.bytes.put(segment));
        let counters = &self.shared().counters;
        counters.flattened.add(1);
        counters.bytes_copied.add(output.bytes.len() as u64);
        connection.outbox.push_flat(flat);
        self.outputs.give(output);
    }
}
