//! What is sent next.

use std::time::Duration;

use super::recovery::Resend;
use super::{Flags, Segment, Sender, TcpState};
use crate::Offer;

/// One segment or super-segment. [`Sender::payload`] has its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The header; for a super-segment, that of its first segment.
    pub segment: Segment,
    /// The offset of its data in the stream.
    pub offset: u64,
    /// Bytes of data.
    pub bytes: usize,
    /// The MSS, if the network card must segment it.
    pub offload_mss: Option<usize>,
}

impl Sender {
    /// Returns the next segment to send; `None` until something happens.
    pub fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        if let Some(segment) = self.reset_now.take() {
            return Some(Transmit { segment, offset: 0, bytes: 0, offload_mss: None });
        }
        match self.state {
            TcpState::Closed => None,
            TcpState::SynSent | TcpState::SynReceived => self.handshake(now),
            _ => self.resend(now).or_else(|| self.send_new(now)).or_else(|| self.fin(now)).or_else(|| self.ack(now)),
        }
    }

    /// The data of a segment that [`Sender::poll_transmit`] just returned, in two pieces.
    pub fn payload(&self, transmit: &Transmit) -> (&[u8], &[u8]) {
        self.buffer.get(transmit.offset, transmit.bytes)
    }

    fn handshake(&mut self, now: Duration) -> Option<Transmit> {
        if self.nxt > 0 {
            return self.ack_now.then(|| self.ack(now)).flatten();
        }
        let flags = Flags { syn: true, ack: self.state == TcpState::SynReceived, ..Flags::default() };
        self.timed = (self.max == 0).then_some((0, now));
        (self.nxt, self.max) = (1, 1);
        self.arm_retransmission(now);
        Some(self.segment(0, 0, flags, now))
    }

    /// Retransmits lost data, in the order of RFC 6675 §4: new data precedes data that may be lost.
    fn resend(&mut self, now: Duration) -> Option<Transmit> {
        self.recovery?;
        if let Some(found) = self.next_resend(Resend::First) {
            return Some(self.resend_segment(found, now));
        }
        if !self.peer.sack || self.congestion_room() < self.peer.mss as u64 {
            return None;
        }
        if let Some(found) = self.next_resend(Resend::Lost) {
            return Some(self.resend_segment(found, now));
        }
        if let Some(transmit) = self.send_new(now) {
            return Some(transmit);
        }
        if let Some(found) = self.next_resend(Resend::Hole) {
            return Some(self.resend_segment(found, now));
        }
        let rescue = self.next_resend(Resend::Rescue)?;
        let high_rxt = self.recovery?.high_rxt;
        let transmit = self.resend_segment(rescue, now);
        if let Some(recovery) = &mut self.recovery {
            // Holes below still require retransmission.
            (recovery.is_rescued, recovery.high_rxt) = (true, high_rxt);
        }
        Some(transmit)
    }

    fn resend_segment(&mut self, (offset, bytes): (u64, usize), now: Duration) -> Transmit {
        if let Some(recovery) = &mut self.recovery {
            recovery.resend_first = false;
            recovery.high_rxt = recovery.high_rxt.max(offset + bytes as u64);
        }
        self.timed = None;
        self.statistics.resends += 1;
        self.data(offset, bytes, now)
    }

    /// Sends new data, or data that a timeout has marked for retransmission.
    fn send_new(&mut self, now: Duration) -> Option<Transmit> {
        self.restart_after_idle(now);
        // After a timeout, skips data that the receiver has reported.
        let hole = self.scoreboard.hole(self.nxt).filter(|_| self.nxt < self.max);
        if let Some(hole) = &hole {
            self.nxt = hole.start;
        } else if self.nxt < self.max && self.recovery.is_none() {
            self.nxt = self.nxt.max(self.scoreboard.highest().unwrap_or(0)).min(self.max);
        }
        let queued = (self.buffer.end().saturating_sub(self.nxt)) as usize;
        let edge = self.una + self.peer.window;
        let room = edge.saturating_sub(self.nxt).min(self.congestion_room()) as usize;
        let hole_bytes = hole.map_or(usize::MAX, |hole| (hole.end - hole.start) as usize);
        let allowed = queued.min(room).min(hole_bytes);
        let is_forced = std::mem::take(&mut self.timers.is_forced) && queued > 0;
        if !is_forced && !self.is_worth_sending(allowed, queued) {
            self.probe_later(queued, now);
            return None;
        }
        let is_probe = is_forced && allowed < self.peer.mss && edge <= self.nxt;
        let offer =
            Offer { bytes: allowed.max(1), backlog_bytes: queued - allowed.max(1).min(queued), mss: self.peer.mss };
        let cut = self.config.rule.cut(offer, self.config.card);
        Some(self.send(cut.bytes, is_probe, now))
    }

    fn send(&mut self, bytes: usize, is_probe: bool, now: Duration) -> Transmit {
        let offset = self.nxt;
        let end = offset + bytes as u64;
        if offset < self.max {
            self.statistics.resends += 1;
            self.timed = None;
        } else if self.timed.is_none() && !is_probe {
            self.timed = Some((offset, now));
        }
        let is_last = self.fin_offset() == Some(end) && bytes <= self.peer.mss && !is_probe;
        self.max = self.max.max(end);
        if is_probe {
            // Data that exceeds the receiver's window is retransmitted.
            self.statistics.probes += 1;
            self.timers.persist = Some(now + self.rto.get());
            self.timers.unanswered_since.get_or_insert(now);
        } else {
            self.nxt = end;
            self.timers.persist = None;
            if self.timers.retransmit.is_none() {
                self.arm_retransmission(now);
            }
        }
        let mut transmit = self.data(offset, bytes, now);
        if is_last {
            transmit.segment.flags.fin = true;
            self.after_fin();
        }
        transmit
    }

    /// Silly-window avoidance (RFC 9293 §3.8.6.2.1) and Nagle's algorithm (§3.7.4).
    fn is_worth_sending(&self, allowed: usize, queued: usize) -> bool {
        let is_all = allowed == queued;
        let is_idle = self.max == self.una;
        let is_half_window = allowed as u64 >= (self.peer.max_window / 2).max(1);
        allowed > 0
            && (allowed >= self.peer.mss
                || (is_all && (is_idle || self.config.no_delay || self.is_closing))
                || is_half_window
                || self.nxt < self.max)
    }

    /// With nothing in flight, no acknowledgment will open the window.
    fn probe_later(&mut self, queued: usize, now: Duration) {
        if queued > 0 && self.nxt == self.una && self.timers.persist.is_none() {
            self.timers.persist = Some(now + self.rto.get());
        }
    }

    /// RFC 5681 §4.1.
    fn restart_after_idle(&mut self, now: Duration) {
        let is_idle = self.max == self.una && now.saturating_sub(self.last_sent_at) > self.rto.get();
        if is_idle && self.last_sent_at > Duration::ZERO {
            self.congestion.on_idle(self.config.initial_window_segments);
        }
    }

    fn fin(&mut self, now: Duration) -> Option<Transmit> {
        if self.fin_offset() != Some(self.nxt) {
            return None;
        }
        let offset = self.nxt;
        self.after_fin();
        if self.timers.retransmit.is_none() {
            self.arm_retransmission(now);
        }
        Some(self.segment(offset, 0, Flags { fin: true, ack: true, ..Flags::default() }, now))
    }

    fn after_fin(&mut self) {
        self.nxt += 1;
        self.max = self.max.max(self.nxt);
        self.state = match self.state {
            TcpState::Established => TcpState::FinWait1,
            TcpState::CloseWait => TcpState::LastAck,
            state => state,
        };
    }

    fn ack(&mut self, now: Duration) -> Option<Transmit> {
        let offset = self.max.max(self.nxt);
        self.ack_now.then(|| self.segment(offset, 0, Flags { ack: true, ..Flags::default() }, now))
    }

    fn data(&mut self, offset: u64, bytes: usize, now: Duration) -> Transmit {
        self.statistics.data_sends += 1;
        self.statistics.data_bytes += bytes as u64;
        self.last_sent_at = now;
        let psh = offset + bytes as u64 == self.buffer.end();
        self.segment(offset, bytes, Flags { ack: true, psh, ..Flags::default() }, now)
    }

    fn segment(&mut self, offset: u64, bytes: usize, flags: Flags, now: Duration) -> Transmit {
        let mut options = super::SegmentOptions::default();
        let is_answer = self.state == TcpState::SynReceived;
        if flags.syn {
            let config = &self.config;
            options.mss = Some(config.mss);
            options.window_scale = config.window_scaling.then_some(0);
            options.sack_permitted = if is_answer { self.peer.sack } else { config.sack };
        }
        let has_stamp = if flags.syn && !is_answer { self.config.timestamps } else { self.peer.timestamps };
        if has_stamp {
            options.timestamp = Some((self.clock(now), if flags.ack { self.receive.recent_stamp } else { 0 }));
        }
        let mut segment = Segment { sequence: self.wire(offset), flags, options, ..Segment::default() };
        segment.window = if flags.ack { self.receive.tell() } else { self.receive.window() };
        if flags.ack {
            segment.acknowledgment = self.receive.next;
            self.ack_now = false;
        }
        Transmit { segment, offset, bytes, offload_mss: Some(self.peer.mss).filter(|mss| bytes > *mss) }
    }

    /// The timestamp clock, in milliseconds (RFC 7323 §5.4).
    pub(super) fn clock(&self, now: Duration) -> u32 {
        self.initial.rotate_left(16).wrapping_add(now.as_millis() as u32)
    }
}
