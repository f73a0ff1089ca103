use std::time::Duration;

use super::packet::Segment;

/// How soon more has to leave to have been there already. A probe for a lost tail is sent later: the kernel waits two
/// of its ticks at least.
const AT_ONCE: Duration = Duration::from_millis(1);

/// One direction of a connection, as far as it tells single-MSS packets that need not have been.
///
/// Congestion and receive window may allow no more than a segment; then the next data waits for an acknowledgment or a
/// larger window. The sender may handle one a little later than the capture has it, so that one that came since the
/// data packet before the segment counts, too.
#[derive(Debug, Clone, Default)]
pub(super) struct Sending {
    /// Behind the last new data.
    end: Option<u32>,
    /// When the last new data left, if that was one segment since whose predecessor the other end has said nothing.
    single_at: Option<Duration>,
    /// What the other end has said last: acknowledgment and window.
    said: Option<(u32, u16)>,
    /// Whether that was behind the last new data.
    has_news: bool,
}

impl Sending {
    /// Takes a data packet of this direction; says whether the one before was early.
    pub fn send(&mut self, segment: &Segment, mss: usize, at: Duration) -> bool {
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

    /// Takes a packet of the other direction.
    pub fn receive(&mut self, segment: &Segment) {
        let said = Some((segment.acknowledgment, segment.window));
        if self.said != said {
            (self.said, self.has_news, self.single_at) = (said, true, None);
        }
    }
}
