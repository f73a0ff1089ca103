use std::time::Duration;

use super::packet::Segment;

/// Data that follows within this time was available already. A tail loss probe comes later: the kernel waits at least
/// two ticks.
const AT_ONCE: Duration = Duration::from_millis(1);

/// One direction of a connection, to find single-MSS packets that were not necessary.
///
/// Congestion and receive window may allow only one segment; then the next data waits for an acknowledgment or a larger
/// window. The sender may process one a little later than the capture shows it. So one that arrived after the data
/// packet before the segment counts, too.
#[derive(Debug, Clone, Default)]
pub(super) struct Sending {
    /// The end of new data.
    end: Option<u32>,
    /// When the last new data was sent, if it was one segment and the other end had not reported anything since the one
    /// before.
    single_at: Option<Duration>,
    /// The last report of the other end: acknowledgment and window.
    said: Option<(u32, u16)>,
    /// Whether that came after the last new data.
    has_news: bool,
}

impl Sending {
    /// Processes a data packet of this direction; returns whether the previous one was early.
    pub fn send(&mut self, segment: &Segment<'_>, mss: usize, at: Duration) -> bool {
        let is_new = self.end.is_none_or(|end| segment.sequence.wrapping_sub(end) < 1 << 31);
        if !is_new {
            return false;
        }
        let was_early = self.single_at.is_some_and(|single_at| at.saturating_sub(single_at) < AT_ONCE);
        self.single_at = (segment.data_bytes == mss && !self.has_news && self.end.is_some()).then_some(at);
        self.end = Some(segment.sequence.wrapping_add(segment.data_bytes as u32));
        self.has_news = false;
        was_early
    }

    /// Processes a packet of the other direction.
    pub fn receive(&mut self, segment: &Segment<'_>) {
        let said = Some((segment.acknowledgment, segment.window));
        if self.said != said {
            (self.said, self.has_news, self.single_at) = (said, true, None);
        }
    }
}
