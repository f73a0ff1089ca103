//! Recovery after duplicate acknowledgments (RFC 6675 with SACK, RFC 6582 without).

use std::time::Duration;

use super::Sender;

/// This many duplicate acknowledgments mean that a segment is lost.
const DUP_THRESH: u64 = 3;

/// What is sent again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recovery {
    /// Recovery ends when this is acknowledged (RecoveryPoint).
    point: u64,
    /// The end of the highest retransmitted data (HighRxt).
    pub high_rxt: u64,
    /// The first unacknowledged segment is retransmitted, regardless of the window.
    pub resend_first: bool,
    /// Whether the tail was retransmitted to detect its loss (RescueRxt).
    pub is_rescued: bool,
    /// Whether a partial acknowledgment has restarted the timer (RFC 6582 §3.2).
    was_partial: bool,
}

impl Sender {
    /// Processes an acknowledgment that reports only out-of-order data.
    pub(super) fn on_duplicate(&mut self, now: Duration) {
        self.duplicates += 1;
        let mss = self.peer.mss as u64;
        if self.recovery.is_some() {
            if !self.peer.sack {
                self.congestion.set_window(self.congestion.window() + mss);
            }
            return;
        }
        let is_lost = self.duplicates >= DUP_THRESH || self.scoreboard.is_lost(self.una, mss);
        // After a timeout everything is retransmitted, and causes duplicates (RFC 6582 §3.2, RFC 6675 §5.1).
        if is_lost && self.una >= self.resent_below {
            self.enter_recovery(now);
        }
    }

    fn enter_recovery(&mut self, now: Duration) {
        let mss = self.peer.mss as u64;
        self.congestion.on_loss(self.max - self.una);
        if !self.peer.sack {
            self.congestion.set_window(self.congestion.threshold() + DUP_THRESH * mss);
        }
        self.recovery = Some(Recovery {
            point: self.max,
            high_rxt: self.una,
            resend_first: true,
            is_rescued: false,
            was_partial: false,
        });
        self.timed = None;
        self.statistics.fast_recoveries += 1;
        self.arm_retransmission(now);
    }

    /// `bytes` up to `una` were acknowledged. Returns whether that belongs to a recovery.
    pub(super) fn advance_recovery(&mut self, bytes: u64, now: Duration) -> bool {
        let Some(recovery) = &mut self.recovery else { return false };
        if self.una >= recovery.point {
            self.recovery = None;
            self.congestion.set_window(self.congestion.threshold());
            return true;
        }
        recovery.high_rxt = recovery.high_rxt.max(self.una);
        let was_partial = std::mem::replace(&mut recovery.was_partial, true);
        if !self.peer.sack {
            recovery.resend_first = true;
            let mss = self.peer.mss as u64;
            let grown = if bytes >= mss { mss } else { 0 };
            self.congestion.set_window(self.congestion.window().saturating_sub(bytes) + grown);
        }
        if !was_partial || self.peer.sack {
            self.arm_retransmission(now);
        }
        true
    }

    /// Bytes that congestion control allows now.
    pub(super) fn congestion_room(&self) -> u64 {
        let mss = self.peer.mss as u64;
        let window = self.congestion.window();
        let under_way = match &self.recovery {
            Some(recovery) if self.peer.sack => self.scoreboard.pipe(self.una, self.max, recovery.high_rxt, mss),
            _ => self.nxt - self.una - self.scoreboard.bytes_below(self.nxt),
        };
        // The first duplicates mean that segments have arrived (RFC 3042); with SACK the blocks report that.
        let is_limited = self.recovery.is_none() && !self.peer.sack;
        let left = if is_limited { self.duplicates.min(DUP_THRESH - 1) * mss } else { 0 };
        (window + left).saturating_sub(under_way)
    }

    /// The next range to retransmit, if any: `NextSeg` of RFC 6675, rules 1, 3 and 4 in the order of `rule`.
    pub(super) fn next_resend(&self, rule: Resend) -> Option<(u64, usize)> {
        let recovery = self.recovery.as_ref()?;
        let mss = self.peer.mss as u64;
        let segment = |from: u64, to: u64| (from < to).then(|| (from, (to - from).min(mss) as usize));
        let end = self.buffer.end().min(self.max);
        match rule {
            Resend::First => {
                let to = self.scoreboard.hole(self.una).map_or(end, |hole| hole.end.min(end));
                segment(self.una, to).filter(|_| recovery.resend_first)
            }
            Resend::Lost | Resend::Hole => {
                let hole = self.scoreboard.hole(recovery.high_rxt.max(self.una))?;
                let is_wanted = rule == Resend::Hole || self.scoreboard.is_lost(hole.start, mss);
                segment(hole.start, hole.end).filter(|_| is_wanted)
            }
            Resend::Rescue => {
                let highest = self.scoreboard.highest()?.max(recovery.high_rxt);
                let from = end.saturating_sub(mss).max(highest);
                segment(from, end).filter(|_| !recovery.is_rescued)
            }
        }
    }
}

/// The reason for a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// It is the first unacknowledged segment.
    First,
    /// Enough data above it has arrived (rule 1).
    Lost,
    /// Some data above it has arrived (rule 3).
    Hole,
    /// It is the tail, whose loss would not be detected (rule 4).
    Rescue,
}
