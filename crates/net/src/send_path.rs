//! How answers are sent, with options to compare ways of sending.

use std::num::NonZero;

use buffer::Output;

/// How a server hands its answers to the kernel. The default is the fastest way that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SendPath {
    /// The most bytes of one segment of a send; a segment is what one entry of the vector of `sendmsg` names. `None`
    /// hands bytes over as they lie. At least [`SendPath::MIN_FRAGMENT_BYTES`] are taken.
    pub fragment_bytes: Option<NonZero<usize>>,
    /// The most segments of one answer; an answer that has more is copied into one segment first. With a limit, each
    /// answer has a send of its own, whatever [`SendPath::batches`] says. `None` is as many as the kernel takes.
    pub max_segments: Option<NonZero<usize>>,
    /// Whether every answer is copied once more, into one piece, before it is sent.
    pub copies: bool,
    /// Whether the answers to all messages of one receive leave together; if no other connection waits, they
    /// leave about every 30 µs. Otherwise a turn of a connection answers one message, so that each answer has a
    /// send of its own as long as the peer takes them.
    pub batches: bool,
}

impl SendPath {
    /// The smallest segment that can be asked for, in bytes: one send of as many segments as the kernel takes holds 1
    /// MiB of them.
    pub const MIN_FRAGMENT_BYTES: usize = 1 << 10;

    /// Whether bytes go out as they lie.
    pub(crate) fn is_plain(&self) -> bool {
        self.fragment_bytes.is_none() && self.max_segments.is_none()
    }

    /// The most bytes of one segment.
    pub(crate) fn segment_bytes(&self) -> usize {
        self.fragment_bytes.map_or(usize::MAX, |bytes| bytes.get().max(Self::MIN_FRAGMENT_BYTES))
    }

    /// Whether an answer has more segments than a send may have. What it leaves in a file is in none of them.
    pub(crate) fn is_too_much(&self, answer: &Output) -> bool {
        let segments = || answer.bytes.len().div_ceil(self.segment_bytes());
        self.max_segments.is_some_and(|max| answer.files().is_empty() && segments() > max.get())
    }

    /// How many messages one turn of a connection answers at most.
    pub(crate) fn messages_per_turn(&self) -> u64 {
        if self.batches && self.max_segments.is_none() { u64::MAX } else { 1 }
    }
}

impl Default for SendPath {
    fn default() -> SendPath {
        SendPath { fragment_bytes: None, max_segments: None, copies: false, batches: true }
    }
}
