//! Loss that duplicate acknowledgments tell of (RFC 6675 with SACK, RFC 6582 without).

use std::time::Duration;

use super::Sender;

/// How many duplicate acknowledgments mean that a segment is lost.
const DUP_THRESH: u64 = 3;

/// What is sent again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recovery {
    /// The recovery ends when this is acknowledged (RecoveryPoint).
    point: u64,
    /// Behind the highest byte that was sent again (HighRxt).
    pub high_rxt: u64,
    /// The first segment that is not acknowledged leaves whatever the window says.
    pub resend_first: bool,
    /// Whether the end was sent again to learn of its loss (RescueRxt).
    pub is_rescued: bool,
    /// Whether an acknowledgment of a part restarted the timer already (RFC 6582 §3.2).
    was_partial: bool,
}

impl Sender {
    /// An acknowledgment told nothing but that segments arrive out of order.
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
        // After a timeout everything is sent again anyway, and duplicates are answers to that (RFC 6582 §3.2, RFC 6675
        // §5.1).
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

    /// `bytes` up to `una` were acknowledged; says whether that belongs to a recovery.
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

    /// Bytes that congestion control lets go now.
    pub(super) fn congestion_room(&self) -> u64 {
        let mss = self.peer.mss as u64;
        let window = self.congestion.window();
        let under_way = match &self.recovery {
            Some(recovery) if self.peer.sack => self.scoreboard.pipe(self.una, self.max, recovery.high_rxt, mss),
            _ => self.nxt - self.una - self.scoreboard.bytes_below(self.nxt),
        };
        // The first duplicates mean that segments have left (RFC 3042); with SACK the blocks say so.
        let is_limited = self.recovery.is_none() && !self.peer.sack;
        let left = if is_limited { self.duplicates.min(DUP_THRESH - 1) * mss } else { 0 };
        (window + left).saturating_sub(under_way)
    }

    /// The range that is sent again now, if any: `NextSeg` of RFC 6675, rules 1, 3 and 4 in the order of `rule`.
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

/// Why something is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// It is the first that is not acknowledged.
    First,
    /// Enough has arrived above it (rule 1).
    Lost,
    /// Something has arrived above it (rule 3).
    Hole,
    /// It is the end, and its loss would not be noticed (rule 4).
    Rescue,
}
