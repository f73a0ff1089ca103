//! Simulates a sender, a path and a receiver in virtual time: what the sender sends under a rule, and why.
//!
//! The sender is [`Sender`] itself; path and receiver are modelled. The same situation and seed give the same packets.
//! The effect of a rule depends on the bottleneck:
//!
//! - **the sender**: its processor, the send buffer or the congestion window. The backlog is large, or windows open by
//!   many segments at once.
//! - **the path**: acknowledgments of two segments open the window by two segments.
//! - **the receiver**: its application reads more slowly than data arrives. The window is almost closed, and opens by
//!   the size of each read, which is not a multiple of segments.

mod reader;
mod receiver;
pub mod scan;
mod situations;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;

use reader::Handler;
pub use reader::{Frees, Interrupts, ReadCosts, Reader};
use receiver::Receiver;
pub use receiver::{AckPolicy, ReceiverConfig, WindowUpdates};
pub use situations::{DOCUMENT_BUFFERS, DOCUMENT_BYTES, DOCUMENT_PACKETS, Host, Limit};

use crate::fault::Faults;
use crate::sender::{Config, Failure, Segment, Sender, Statistics, TcpState, Transmit};
use crate::stream;
use crate::trace::Tally;

/// The bytes of Ethernet, IPv4 and TCP of a packet besides data, with preamble, check sequence and gap.
const FRAME_BYTES: usize = 38 + 20 + 20 + 12;
/// A sending application wakes up when this much is free, as on FreeBSD.
const WAKE_BYTES: usize = 2048;
/// The maximum size of an application's read.
const MAX_READ_BYTES: u64 = 1 << 20;
/// The maximum virtual time of a run.
const MAX_TIME: Duration = Duration::from_secs(3600);

/// What is modelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Situation {
    /// The sender.
    pub sender: Config,
    /// The receiver.
    pub receiver: ReceiverConfig,
    /// The path.
    pub path: Path,
    /// The costs of the sender's work in processor time.
    pub costs: Costs,
    /// The rate of the sending application in bytes per second; unlimited without it.
    pub write_bytes_per_second: Option<f64>,
    /// The size of a write, above 0.
    pub write_bytes: usize,
    /// The receiving application.
    pub reader: Reader,
    /// The interrupts of the sender's host, for acknowledgments.
    pub sender_interrupts: Interrupts,
    /// The interrupts of the receiver's host, for data.
    pub receiver_interrupts: Interrupts,
    /// The number of bytes to send.
    pub total_bytes: u64,
    /// What chance follows from.
    pub seed: u64,
}

/// The path between the two ends, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Bits per second, including the overhead of Ethernet.
    pub bits_per_second: f64,
    /// Time for one way.
    pub delay: Duration,
    /// Whether super-segments arrive whole, as over a TAP device, or segmented, as over a wire.
    pub arrives_whole: bool,
    /// Faults in both directions.
    pub faults: Faults,
}

/// Processor time of the sending end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Per send, of any size.
    pub send: Duration,
    /// For each KiB of data.
    pub kib: Duration,
    /// For each acknowledgment.
    pub ack: Duration,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResult {
    /// Data packets, as captured at the sender.
    pub tally: Tally,
    /// What the sender did.
    pub statistics: Statistics,
    /// The time from the SYN to the last acknowledgment.
    pub elapsed: Duration,
    /// Processor time of the sender.
    pub sender_time: Duration,
    /// Acknowledgments, including window updates.
    pub acks: u64,
    /// Bytes received in order.
    pub received_bytes: u64,
    /// Received bytes with wrong values; anything but 0 is a bug in the sender.
    pub wrong_bytes: u64,
    /// Why the connection ended early.
    pub failure: Option<Failure>,
}

impl ModelResult {
    /// Bytes per second from end to end.
    pub fn bytes_per_second(&self) -> f64 {
        self.received_bytes as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Processor time of the sender per KiB, in microseconds (netperf's service demand).
    pub fn service_demand_us(&self) -> f64 {
        self.sender_time.as_secs_f64() * 1e6 / (self.received_bytes as f64 / 1024.0).max(f64::MIN_POSITIVE)
    }
}

/// Simulates a situation to its end.
pub fn run(situation: &Situation) -> ModelResult {
    Run::new(situation).finish()
}

/// An event in virtual time.
#[derive(Debug)]
enum Event {
    /// A packet reaches the receiver.
    Packet(Segment, Vec<u8>),
    /// An acknowledgment reaches the sender.
    Ack(Segment),
    /// The sender's processor is free, or its timer expires.
    Sender,
    /// A delayed acknowledgment is due.
    Delay,
    /// The receiving application reads.
    Read(u64),
}

/// Events are ordered by time, and by number at the same time.
#[derive(Debug)]
struct Scheduled {
    at: Duration,
    number: u64,
    event: Event,
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}

struct Run<'a> {
    situation: &'a Situation,
    random: fastrand::Rng,
    now: Duration,
    queue: BinaryHeap<Reverse<Scheduled>>,
    last_number: u64,
    sender: Sender,
    receiver: Receiver,
    written: u64,
    busy_until: Duration,
    /// When the sender will wake up.
    planned: Option<Duration>,
    wire_free_at: Duration,
    ack_handler: Handler,
    packet_handler: Handler,
    is_reading: bool,
    /// The bytes that the current read has copied.
    copied_bytes: u64,
    tally: Tally,
    sender_time: Duration,
}

impl<'a> Run<'a> {
    fn new(situation: &'a Situation) -> Run<'a> {
        let mut random = fastrand::Rng::with_seed(situation.seed);
        let mut run = Run {
            situation,
            sender: Sender::new(situation.sender.clone(), random.u32(..)),
            receiver: Receiver::new(situation.receiver),
            random,
            now: Duration::ZERO,
            queue: BinaryHeap::new(),
            last_number: 0,
            written: 0,
            busy_until: Duration::ZERO,
            planned: None,
            wire_free_at: Duration::ZERO,
            ack_handler: Handler::default(),
            packet_handler: Handler::default(),
            is_reading: false,
            copied_bytes: 0,
            tally: Tally::default(),
            sender_time: Duration::ZERO,
        };
        run.plan(Duration::ZERO);
        run
    }

    fn finish(mut self) -> ModelResult {
        while let Some(Reverse(Scheduled { at, event, .. })) = self.queue.pop() {
            let is_over = self.sender.state() == TcpState::Closed || self.has_arrived();
            if is_over || at > MAX_TIME {
                break;
            }
            self.now = at;
            self.handle(event);
        }
        ModelResult {
            tally: self.tally,
            statistics: self.sender.statistics(),
            elapsed: self.now,
            sender_time: self.sender_time,
            acks: self.receiver.acks,
            received_bytes: self.receiver.received(),
            wrong_bytes: self.receiver.wrong_bytes,
            failure: self.sender.failure(),
        }
    }

    /// Whether the receiver has everything and the sender knows it.
    fn has_arrived(&self) -> bool {
        self.sender.state() == TcpState::FinWait2 && self.receiver.has_ended()
    }

    fn push(&mut self, at: Duration, event: Event) {
        self.last_number += 1;
        self.queue.push(Reverse(Scheduled { at, number: self.last_number, event }));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Packet(segment, data) => {
                let ack = self.receiver.on_packet(&segment, &data, self.now);
                self.send_ack(ack);
                if let Some(at) = self.receiver.delayed_until {
                    self.push(at, Event::Delay);
                }
                self.start_read();
            }
            Event::Delay => {
                let is_due = self.receiver.delayed_until.is_some_and(|at| at <= self.now);
                let ack = is_due.then(|| self.receiver.on_delay()).flatten();
                self.send_ack(ack);
            }
            Event::Read(bytes) => {
                self.is_reading = false;
                self.receiver.free(bytes);
                self.copied_bytes += bytes;
                if self.copied_bytes >= self.max_read() || self.receiver.unread() == 0 || !self.frees_each_packet() {
                    self.copied_bytes = 0;
                    let ack = self.receiver.after_read();
                    self.send_ack(ack);
                }
                self.start_read();
            }
            Event::Ack(segment) => {
                self.spend(self.situation.costs.ack);
                self.sender.on_segment(&segment, &[], self.now);
                self.pump();
            }
            Event::Sender => {
                self.planned = self.planned.filter(|at| *at > self.now);
                self.sender.on_timeout(self.now);
                self.pump();
            }
        }
    }

    /// Lets the sender work until its processor is busy or there is no more work.
    fn pump(&mut self) {
        loop {
            if self.busy_until > self.now {
                return self.plan(self.busy_until);
            }
            let has_written = self.write();
            match self.sender.poll_transmit(self.now) {
                Some(transmit) => self.send(&transmit),
                None if !has_written => break,
                None => {}
            }
        }
        if let Some(at) = self.sender.next_timeout() {
            self.plan(at);
        }
    }

    /// Wakes the sender at a time, unless it wakes earlier.
    fn plan(&mut self, at: Duration) {
        if self.planned.is_none_or(|planned| at < planned) {
            self.planned = Some(at);
            self.push(at, Event::Sender);
        }
    }

    /// The sending application writes as much as fits. Returns whether it wrote.
    fn write(&mut self) -> bool {
        let situation = self.situation;
        let left = situation.total_bytes - self.written;
        if left == 0 {
            self.sender.close();
            return false;
        }
        let ready = situation.write_bytes_per_second.map_or(u64::MAX, |rate| (self.now.as_secs_f64() * rate) as u64);
        let is_awake = self.sender.room() >= WAKE_BYTES.min(situation.sender.send_buffer_bytes);
        let count = left.min(situation.write_bytes as u64).min(ready.saturating_sub(self.written));
        let is_whole = count == left || count == situation.write_bytes as u64;
        if !is_awake || count == 0 || (!is_whole && situation.write_bytes_per_second.is_some()) {
            self.wake_writer();
            return false;
        }
        let mut bytes = vec![0; (count as usize).min(self.sender.room())];
        stream::fill(self.written, &mut bytes);
        self.written += self.sender.write(&bytes) as u64;
        true
    }

    /// Schedules the next write of a slow application.
    fn wake_writer(&mut self) {
        if let Some(rate) = self.situation.write_bytes_per_second {
            let target = (self.written + self.situation.write_bytes as u64).min(self.situation.total_bytes);
            let at = Duration::from_secs_f64(target as f64 / rate) + Duration::from_nanos(1);
            if at > self.now {
                self.plan(at);
            }
        }
    }

    fn spend(&mut self, time: Duration) {
        self.busy_until = self.busy_until.max(self.now) + time;
        self.sender_time += time;
    }

    /// The network card segments each send, and each packet crosses the wire on its own.
    fn send(&mut self, transmit: &Transmit) {
        let costs = self.situation.costs;
        self.spend(costs.send + costs.kib.mul_f64(transmit.bytes as f64 / 1024.0));
        let mss = self.sender.mss();
        self.tally.add(transmit.bytes, mss);
        let (front, back) = self.sender.payload(transmit);
        let data = [front, back].concat();
        if self.situation.path.arrives_whole {
            return self.send_packet(transmit.segment, &data);
        }
        let count = data.len().div_ceil(mss).max(1);
        for number in 0..count {
            let part = &data[number * mss..data.len().min((number + 1) * mss)];
            let mut segment = transmit.segment;
            segment.sequence = segment.sequence.wrapping_add((number * mss) as u32);
            self.send_packet(segment, part);
        }
    }

    fn send_packet(&mut self, segment: Segment, data: &[u8]) {
        let path = self.situation.path;
        let bits = (data.len() + FRAME_BYTES) as f64 * 8.0;
        let sent_at = self.wire_free_at.max(self.now) + Duration::from_secs_f64(bits / path.bits_per_second);
        self.wire_free_at = sent_at;
        for late in path.faults.fate(&mut self.random) {
            let interrupts = self.situation.receiver_interrupts;
            let at = self.packet_handler.handle(interrupts, sent_at + path.delay) + late;
            self.push(at, Event::Packet(segment, data.to_vec()));
        }
    }

    fn send_ack(&mut self, ack: Option<Segment>) {
        let path = self.situation.path;
        for late in ack.iter().flat_map(|_| path.faults.fate(&mut self.random)).collect::<Vec<_>>() {
            if let Some(segment) = ack {
                let interrupts = self.situation.sender_interrupts;
                let at = self.ack_handler.handle(interrupts, self.now + path.delay) + late;
                self.push(at, Event::Ack(segment));
            }
        }
    }

    /// The receiving application reads the available data, and is busy with it for some time.
    fn start_read(&mut self) {
        let unread = self.receiver.unread();
        if self.is_reading || unread == 0 {
            return;
        }
        let reader = self.situation.reader;
        let left = self.max_read() - self.copied_bytes;
        let step = if self.frees_each_packet() { self.receiver.first_packet_bytes() } else { unread };
        let bytes = step.min(left);
        let mean = reader.costs.of(bytes, self.copied_bytes == 0);
        let takes = mean.mul_f64(1.0 + reader.jitter * (2.0 * self.random.f64() - 1.0));
        self.is_reading = true;
        self.push(self.now + takes, Event::Read(bytes));
    }

    fn max_read(&self) -> u64 {
        self.situation.reader.read_bytes.clamp(1, MAX_READ_BYTES)
    }

    fn frees_each_packet(&self) -> bool {
        self.situation.reader.frees == Frees::EachPacket
    }
}
