//! Processes received segments (RFC 9293 §3.10.7).

use std::time::Duration;

use super::{DEFAULT_MSS, Failure, Flags, MIN_MSS, Peer, Segment, Sender, TIMESTAMP_BYTES, TcpState};

/// The maximum window scale (RFC 7323 §2.3).
const MAX_WINDOW_SCALE: u8 = 14;

impl Sender {
    /// Processes a segment of this connection.
    pub fn on_segment(&mut self, segment: &Segment, data: &[u8], now: Duration) {
        match self.state {
            TcpState::Closed => {}
            TcpState::SynSent => self.on_handshake(segment, now),
            _ => self.on_synchronized(segment, data, now),
        }
    }

    /// RFC 9293 §3.10.7.3.
    fn on_handshake(&mut self, segment: &Segment, now: Duration) {
        let flags = segment.flags;
        let acknowledges = flags.ack && self.offset(segment.acknowledgment) == Some(1) && self.max > 0;
        if flags.ack && !acknowledges {
            if !flags.rst {
                let flags = Flags { rst: true, ..Flags::default() };
                self.reset_now = Some(Segment { sequence: segment.acknowledgment, flags, ..Segment::default() });
            }
            return;
        }
        if flags.rst {
            if acknowledges {
                self.end(Some(Failure::Refused));
            }
            return;
        }
        if flags.syn {
            self.learn_peer(segment);
            self.ack_now = true;
            if acknowledges {
                self.establish(segment, now);
            } else {
                // Simultaneous open: the SYN is retransmitted with an acknowledgment.
                self.state = TcpState::SynReceived;
                self.nxt = 0;
            }
        }
    }

    fn learn_peer(&mut self, segment: &Segment) {
        let options = &segment.options;
        let config = &self.config;
        let timestamps = config.timestamps && options.timestamp.is_some();
        let mss = options.mss.unwrap_or(DEFAULT_MSS).min(config.mss).max(MIN_MSS);
        self.receive.begin(segment.sequence);
        self.receive.recent_stamp = options.timestamp.map_or(0, |(clock, _)| clock);
        self.peer = Peer {
            mss: usize::from(mss) - if timestamps { TIMESTAMP_BYTES } else { 0 },
            window_scale: options.window_scale.filter(|_| config.window_scaling).unwrap_or(0).min(MAX_WINDOW_SCALE),
            timestamps,
            sack: config.sack && options.sack_permitted,
            ..Peer::default()
        };
        self.congestion = super::Congestion::new(config.algorithm, self.peer.mss, config.initial_window_segments);
    }

    fn establish(&mut self, segment: &Segment, now: Duration) {
        self.state = TcpState::Established;
        let was_syn_lost = self.statistics.timeouts > 0;
        self.rto.begin_data(was_syn_lost);
        if was_syn_lost {
            // RFC 5681 §3.1: after a lost SYN the window is one segment.
            self.congestion.set_window(self.peer.mss as u64);
        }
        self.acknowledge(1, segment, now);
        self.learn_window(segment, 1);
    }

    fn on_synchronized(&mut self, segment: &Segment, data: &[u8], now: Duration) {
        if self.peer.timestamps && segment.options.timestamp.is_none() && !segment.flags.rst {
            // RFC 7323 §3.2: without a timestamp it could be an old one.
            return;
        }
        if !self.is_acceptable(segment, data) {
            self.ack_now |= !segment.flags.rst;
            if segment.flags.fin && self.state == TcpState::TimeWait {
                self.forget_later(now);
            }
            return;
        }
        if segment.flags.rst {
            // An inexact sequence number may be an attack (RFC 5961 §3.2).
            if segment.sequence == self.receive.next {
                self.end(Some(Failure::Reset))
            } else {
                self.ack_now = true
            }
            return;
        }
        if segment.flags.syn {
            self.ack_now = true;
            return;
        }
        self.keep_stamp(segment);
        if segment.flags.ack && self.on_acknowledgment(segment, data, now) {
            self.on_data(segment, data, now);
        }
    }

    /// Whether it is in the window and not old (RFC 9293 §3.10.7.4, RFC 7323 §5.3).
    fn is_acceptable(&self, segment: &Segment, data: &[u8]) -> bool {
        let flags = segment.flags;
        let length = data.len() as u32 + u32::from(flags.syn) + u32::from(flags.fin);
        let is_old = match segment.options.timestamp {
            Some((clock, _)) if self.peer.timestamps => (clock.wrapping_sub(self.receive.recent_stamp) as i32) < 0,
            _ => false,
        };
        (flags.rst || !is_old) && self.receive.accepts(segment.sequence, length)
    }

    fn keep_stamp(&mut self, segment: &Segment) {
        let is_next = (segment.sequence.wrapping_sub(self.receive.acknowledged) as i32) <= 0;
        if let (Some((clock, _)), true) = (segment.options.timestamp, is_next) {
            self.receive.recent_stamp = clock;
        }
    }

    /// Returns whether to process the rest of the segment.
    fn on_acknowledgment(&mut self, segment: &Segment, data: &[u8], now: Duration) -> bool {
        let ack = self.offset(segment.acknowledgment);
        // RFC 9293 §3.10.7.4, RFC 5961 §5.2.
        let Some(ack) = ack.filter(|ack| *ack <= self.max && ack + self.peer.max_window >= self.una) else {
            self.ack_now = true;
            return false;
        };
        if self.state == TcpState::SynReceived {
            if ack == 0 {
                return false;
            }
            self.state = TcpState::Established;
        }
        let told_more = self.learn_blocks(segment, ack);
        let scaled = self.scaled_window(segment);
        let is_plain = data.is_empty() && !segment.flags.fin;
        let repeats = is_plain && ack == self.una && scaled == self.peer.window && self.nxt > self.una;
        self.learn_window(segment, ack);
        if ack > self.una {
            self.acknowledge(ack, segment, now);
        } else if if self.peer.sack { told_more } else { repeats } {
            self.on_duplicate(now);
        }
        if self.timers.persist.is_some() {
            // The receiver is alive, though its window is closed (RFC 9293 §3.8.6.1).
            self.timers.unanswered_since = None;
        }
        true
    }

    /// Records blocks of out-of-order data. Returns whether any is new.
    fn learn_blocks(&mut self, segment: &Segment, ack: u64) -> bool {
        if !self.peer.sack {
            return false;
        }
        let mut is_news = false;
        for (start, end) in segment.options.sack.into_iter().flatten() {
            let (Some(start), Some(end)) = (self.offset(start), self.offset(end)) else { continue };
            // Blocks below the acknowledgment report duplicates (RFC 2883).
            if start >= ack && start >= self.una && end <= self.max && start < end {
                is_news |= self.scoreboard.insert(start..end);
            }
        }
        is_news
    }

    fn scaled_window(&self, segment: &Segment) -> u64 {
        u64::from(segment.window) << if segment.flags.syn { 0 } else { self.peer.window_scale }
    }

    fn learn_window(&mut self, segment: &Segment, ack: u64) {
        let newer = segment.sequence.wrapping_sub(self.peer.window_sequence) as i32;
        let is_first = self.peer.max_window == 0;
        if is_first || newer > 0 || (newer == 0 && ack >= self.peer.window_ack) {
            self.peer.window = self.scaled_window(segment);
            self.peer.max_window = self.peer.max_window.max(self.peer.window);
            self.peer.window_sequence = segment.sequence;
            self.peer.window_ack = ack;
        }
    }

    /// New data is acknowledged.
    fn acknowledge(&mut self, ack: u64, segment: &Segment, now: Duration) {
        let bytes = ack - self.una;
        let flight = self.max - self.una;
        self.measure(ack, segment, now);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.buffer.drop_to(ack);
        self.scoreboard.acknowledge(ack);
        self.duplicates = 0;
        self.timers.unanswered_since = None;
        if !self.advance_recovery(bytes, now) && 2 * flight >= self.congestion.window() {
            // A window that is less than half used says nothing about the path (RFC 7661 §4.2).
            let round_trip = self.rto.smoothed().unwrap_or_default();
            self.congestion.on_ack(bytes, now, round_trip);
        }
        self.timers.retransmit = None;
        if self.nxt > self.una {
            self.arm_retransmission(now);
        }
        if self.max == self.una {
            self.timers.persist = None;
        }
        if self.fin_offset().is_some_and(|fin| ack > fin) {
            self.on_fin_acknowledged(now);
        }
    }

    /// Measures a round trip from a byte that was sent once (RFC 6298 §3), or from the echoed timestamp (RFC 7323
    /// §4.1).
    fn measure(&mut self, ack: u64, segment: &Segment, now: Duration) {
        if let Some((_, sent_at)) = self.timed.filter(|(offset, _)| ack > *offset) {
            self.rto.sample(now.saturating_sub(sent_at));
            self.timed = None;
        } else if let (None, true, Some((_, echo))) = (self.timed, self.peer.timestamps, segment.options.timestamp) {
            let elapsed_ms = self.clock(now).wrapping_sub(echo);
            if (elapsed_ms as i32) >= 0 {
                self.rto.sample(Duration::from_millis(elapsed_ms.into()));
            }
        }
    }

    fn on_fin_acknowledged(&mut self, now: Duration) {
        match self.state {
            TcpState::FinWait1 => {
                self.state = TcpState::FinWait2;
                self.forget_later(now);
            }
            TcpState::Closing => {
                self.state = TcpState::TimeWait;
                self.forget_later(now);
            }
            TcpState::LastAck => self.end(None),
            _ => {}
        }
    }

    fn on_data(&mut self, segment: &Segment, data: &[u8], now: Duration) {
        if !data.is_empty() {
            if !self.receive.is_ended {
                self.receive.push(segment.sequence, data);
            }
            self.ack_now = true;
        }
        if segment.flags.fin {
            self.ack_now = true;
            let fin = segment.sequence.wrapping_add(data.len() as u32);
            if !self.receive.is_ended && fin == self.receive.next {
                self.receive.is_ended = true;
                self.receive.next = fin.wrapping_add(1);
                self.on_peer_closed(now);
            }
        }
    }

    fn on_peer_closed(&mut self, now: Duration) {
        self.state = match self.state {
            TcpState::Established => TcpState::CloseWait,
            TcpState::FinWait1 => TcpState::Closing,
            TcpState::FinWait2 => TcpState::TimeWait,
            state => state,
        };
        if self.state == TcpState::TimeWait {
            self.forget_later(now);
        }
    }
}
