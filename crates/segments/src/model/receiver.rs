//! A receiver in virtual time: reorders data, delays acknowledgments, and announces its window as its application
//! reads.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::sender::{Flags, MAX_SACK_BLOCKS, Segment, SegmentOptions, TIMESTAMP_BYTES};
use crate::stream;

/// The maximum number of ranges out of order; more are dropped, and retransmitted.
const MAX_RANGES: usize = 4096;
/// With delayed acknowledgments, this many segments are acknowledged at once (RFC 9293 §3.8.6.3).
const DELAYED_SEGMENTS: usize = 2;

/// The properties of a receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiverConfig {
    /// The maximum number of unread bytes.
    pub buffer_bytes: u64,
    /// The shift of its windows.
    pub window_scale: u8,
    /// The MSS, in bytes.
    pub mss: u16,
    /// When it acknowledges.
    pub acks: AckPolicy,
    /// When window updates are sent.
    pub updates: WindowUpdates,
    /// Whether it takes timestamps.
    pub timestamps: bool,
    /// Whether it reports out-of-order data.
    pub sack: bool,
}

/// When a receiver acknowledges data in order. Anything else is acknowledged at once (RFC 5681 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every second segment, and a lone one after this delay (RFC 9293 §3.8.6.3).
    Delayed(Duration),
    /// Each packet.
    EachPacket,
    /// Large receive offload: the packets of one interrupt are one, and acknowledged together. A lone one is delayed.
    Merged(Duration),
}

/// When a receiver sends a window update after a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowUpdates {
    /// FreeBSD: at least two segments became free, and also a quarter of the buffer, or no more than an eighth of it is
    /// free now.
    QuarterOrTight,
    /// Linux: the window has doubled.
    Doubled,
    /// The earliest that is allowed: a segment or half of the buffer became free (RFC 9293 §3.8.6.2.2).
    Segment,
}

/// The receiving side of a connection. Offsets count from the SYN, as in the sender.
pub(super) struct Receiver {
    config: ReceiverConfig,
    initial: u32,
    next: u64,
    ranges: Vec<Range<u64>>,
    unread: u64,
    /// The sizes of the unread packets, in order.
    packets: VecDeque<u64>,
    told_edge: u64,
    unacknowledged_segments: usize,
    pub delayed_until: Option<Duration>,
    recent_stamp: u32,
    fin: Option<u64>,
    /// Bytes that differ from the stream.
    pub wrong_bytes: u64,
    pub acks: u64,
}

impl Receiver {
    pub fn new(config: ReceiverConfig) -> Receiver {
        Receiver {
            config,
            initial: 0,
            next: 0,
            ranges: Vec::new(),
            unread: 0,
            packets: VecDeque::new(),
            told_edge: 0,
            unacknowledged_segments: 0,
            delayed_until: None,
            recent_stamp: 0,
            fin: None,
            wrong_bytes: 0,
            acks: 0,
        }
    }

    /// Bytes received in order.
    pub fn received(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.has_ended()))
    }

    /// Whether everything including the FIN has arrived.
    pub fn has_ended(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// The unread bytes of the oldest packet.
    pub fn first_packet_bytes(&self) -> u64 {
        self.packets.front().copied().unwrap_or_default()
    }

    /// Receives a packet. Returns the acknowledgment, if it is due at once.
    pub fn on_packet(&mut self, segment: &Segment, data: &[u8], now: Duration) -> Option<Segment> {
        if segment.flags.syn {
            return Some(self.answer_syn(segment));
        }
        let start =
            self.next.checked_add_signed((segment.sequence.wrapping_sub(self.wire(self.next)) as i32).into())?;
        let end = start + data.len() as u64;
        if segment.flags.rst || !segment.flags.ack {
            return None;
        }
        if let Some((clock, _)) = segment.options.timestamp.filter(|_| start <= self.next) {
            self.recent_stamp = clock;
        }
        if segment.flags.fin {
            self.fin = Some(end);
        }
        if data.is_empty() && !segment.flags.fin {
            return None;
        }
        let was_in_order = start <= self.next && self.ranges.is_empty() && end > self.next;
        self.take(start, data);
        self.unacknowledged_segments += data.len().div_ceil(self.segment_bytes() as usize);
        if !was_in_order || self.has_ended() {
            return Some(self.ack());
        }
        let delay = match self.config.acks {
            AckPolicy::EachPacket => return Some(self.ack()),
            AckPolicy::Delayed(_) if self.unacknowledged_segments >= DELAYED_SEGMENTS => return Some(self.ack()),
            // The packets of the same interrupt come before this delay ends.
            AckPolicy::Merged(_) if self.unacknowledged_segments >= DELAYED_SEGMENTS => Duration::ZERO,
            AckPolicy::Delayed(delay) | AckPolicy::Merged(delay) => delay,
        };
        self.delayed_until = Some(now + delay);
        None
    }

    /// The application has copied some bytes, and their room is free.
    pub fn free(&mut self, bytes: u64) {
        self.unread -= bytes.min(self.unread);
        let mut left = bytes;
        while let Some(first) = self.packets.front_mut().filter(|_| left > 0) {
            let taken = left.min(*first);
            *first -= taken;
            left -= taken;
            if *first == 0 {
                self.packets.pop_front();
            }
        }
    }

    /// A read has ended. Returns the window update, if one is due.
    pub fn after_read(&mut self) -> Option<Segment> {
        let left = self.told_edge.saturating_sub(self.next);
        // A larger window cannot be announced.
        let max_window = u64::from(u16::MAX) << self.config.window_scale;
        let room = (self.config.buffer_bytes - self.unread).min(max_window);
        let gained = room.saturating_sub(left);
        let segment = self.segment_bytes();
        let is_worth_it = match self.config.updates {
            WindowUpdates::QuarterOrTight => {
                let is_tight = room <= self.config.buffer_bytes / 8;
                gained >= 2 * segment
                    && (gained >= self.config.buffer_bytes / 4 || is_tight || self.config.buffer_bytes <= 8 * segment)
            }
            WindowUpdates::Doubled => gained >= segment && room >= 2 * left,
            WindowUpdates::Segment => gained >= segment.min(self.config.buffer_bytes / 2).max(1),
        };
        is_worth_it.then(|| self.ack())
    }

    /// Returns the delayed acknowledgment.
    pub fn on_delay(&mut self) -> Option<Segment> {
        self.delayed_until.take()?;
        Some(self.ack())
    }

    /// The data of a full packet.
    fn segment_bytes(&self) -> u64 {
        let options = if self.config.timestamps { TIMESTAMP_BYTES } else { 0 };
        u64::from(self.config.mss) - options as u64
    }

    fn answer_syn(&mut self, segment: &Segment) -> Segment {
        let offered = &segment.options;
        self.initial = segment.sequence;
        self.next = 1;
        self.recent_stamp = offered.timestamp.map_or(0, |(clock, _)| clock);
        self.config.timestamps &= offered.timestamp.is_some();
        self.config.sack &= offered.sack_permitted;
        if offered.window_scale.is_none() {
            self.config.window_scale = 0;
        }
        let mut answer = self.ack();
        answer.flags.syn = true;
        answer.sequence = 0;
        answer.window = u16::try_from(self.config.buffer_bytes).unwrap_or(u16::MAX);
        answer.options.mss = Some(self.config.mss);
        answer.options.window_scale = offered.window_scale.map(|_| self.config.window_scale);
        answer.options.sack_permitted = self.config.sack;
        answer
    }

    /// Stores data in the window, and compares it with the stream.
    fn take(&mut self, start: u64, data: &[u8]) {
        let edge = self.next + self.config.buffer_bytes - self.unread;
        let end = (start + data.len() as u64).min(edge.max(self.told_edge));
        let from = start.max(self.next);
        if from < end && self.ranges.len() < MAX_RANGES {
            let kept = &data[(from - start) as usize..(end - start) as usize];
            self.wrong_bytes += stream::differences(from - 1, kept);
            self.insert(from..end);
        }
        let before = self.next;
        while let Some(first) = self.ranges.iter().position(|range| range.start <= self.next) {
            let range = self.ranges.remove(first);
            self.next = self.next.max(range.end);
        }
        self.unread += self.next - before;
        self.packets.extend(Some(self.next - before).filter(|bytes| *bytes > 0));
        if self.fin == Some(self.next) {
            self.next += 1;
        }
    }

    /// The latest range comes first, as RFC 2018 §4 requires for blocks.
    fn insert(&mut self, mut new: Range<u64>) {
        self.ranges.retain(|range| {
            let touches = range.start <= new.end && new.start <= range.end;
            if touches {
                new = range.start.min(new.start)..range.end.max(new.end);
            }
            !touches
        });
        self.ranges.insert(0, new);
    }

    fn ack(&mut self) -> Segment {
        self.acks += 1;
        self.unacknowledged_segments = 0;
        self.delayed_until = None;
        let room = self.config.buffer_bytes - self.unread.min(self.config.buffer_bytes);
        // A silly window is not announced (RFC 9293 §3.8.6.2.2).
        let is_silly = room < self.segment_bytes().min(self.config.buffer_bytes / 4);
        let room = if is_silly { 0 } else { room };
        // An announced window is never taken back.
        let window = room.max(self.told_edge.saturating_sub(self.next)) >> self.config.window_scale;
        let window = u16::try_from(window).unwrap_or(u16::MAX);
        self.told_edge = self.told_edge.max(self.next + (u64::from(window) << self.config.window_scale));
        let mut options = SegmentOptions::default();
        if self.config.timestamps {
            options.timestamp = Some((1, self.recent_stamp));
        }
        if self.config.sack {
            // Next to a timestamp there is room for three.
            for (place, range) in options.sack.iter_mut().take(MAX_SACK_BLOCKS - 1).zip(&self.ranges) {
                *place = Some((self.wire(range.start), self.wire(range.end)));
            }
        }
        Segment {
            sequence: 1,
            acknowledgment: self.wire(self.next),
            flags: Flags { ack: true, ..Flags::default() },
            window,
            options,
        }
    }

    fn wire(&self, offset: u64) -> u32 {
        self.initial.wrapping_add(offset as u32)
    }
}
