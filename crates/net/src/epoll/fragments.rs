//! Sends in segments of a chosen size, with the fallback of senders that take only so many: ways to send that are not
//! the default and exist to be measured ([`SendPath`](crate::SendPath)).

use std::io::IoSlice;

use buffer::Buffer;

use super::stream::LoopContext;
use crate::Service;
use crate::channel::{Channel, Sent};
use crate::close_reason::CloseReason;
use crate::outbox::Outbox;

/// How many segments the kernel takes in one send (`IOV_MAX`, sendmsg(2)).
const KERNEL_MAX_SEGMENTS: usize = 1024;

/// How many bytes are copied into one segment at most; what is behind them has its own send. A socket that takes only a
/// part of them has the rest copied again, so that this bounds what is copied in vain.
const FLAT_BYTES: usize = 256 << 10;

impl<S: Service + ?Sized> LoopContext<S> {
    /// Sends bytes of the outbox up to its next part of a file, in segments.
    pub(super) fn send_fragments(&mut self, channel: &mut Channel, outbox: &mut Outbox) -> Result<Sent, CloseReason> {
        let path = self.engine.hub.policy.send_path;
        let mut segments = Vec::new();
        let more = outbox.gather_segments(path.segment_bytes(), KERNEL_MAX_SEGMENTS, &mut segments);
        let limit = path.max_segments.map_or(KERNEL_MAX_SEGMENTS, |max| max.get());
        let sent = if segments.len() > limit {
            let is_all = flatten(&segments, &mut self.copied);
            self.shared().counters.count_send(1);
            self.shared().counters.sends_flattened.add(1);
            channel.send(self.copied.as_slice(), more || !is_all)
        } else {
            self.shared().counters.count_send(segments.len());
            channel.send_vectored(&segments, more)
        };
        let sent = sent.map_err(CloseReason::Broken)?;
        outbox.sent_bytes(sent.bytes(), &mut self.outputs);
        Ok(sent)
    }
}

/// Copies the first bytes of `segments` into `flat`; says whether there are no more of them.
fn flatten(segments: &[IoSlice<'_>], flat: &mut Buffer) -> bool {
    flat.clear();
    for segment in segments {
        let part = segment.len().min(FLAT_BYTES - flat.len());
        flat.put(&segment[..part]);
        if part < segment.len() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattened_segments_keep_their_order_and_their_limit() {
        let mut flat = Buffer::new();
        assert!(flatten(&[IoSlice::new(b"ab"), IoSlice::new(b"c")], &mut flat));
        assert_eq!(flat.as_slice(), b"abc");
        let large = vec![1; FLAT_BYTES - 1];
        assert!(!flatten(&[IoSlice::new(&large), IoSlice::new(b"ab")], &mut flat));
        assert_eq!((flat.len(), flat.as_slice().last()), (FLAT_BYTES, Some(&b'a')));
    }
}
