//! The settings of the modelled hosts on the command line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use segments::model::scan::Grid;
use segments::model::{AckPolicy, Frees, Limit, Situation, WindowUpdates};

use crate::tcp::stream::{parse_memory, parse_percent};

/// How long an acknowledgment is delayed, as on FreeBSD.
const ACK_DELAY: Duration = Duration::from_millis(100);

/// Settings of the modelled hosts. With --scan, only these values run.
#[derive(Debug, Default, Args)]
pub struct Knobs {
    /// When the receiver acknowledges. [default: delayed]
    #[arg(long, value_name = "WHEN", help_heading = "Hosts")]
    acks: Option<AckName>,
    /// When the receiver sends window updates. [default: freebsd]
    #[arg(long, value_name = "WHEN", help_heading = "Hosts")]
    updates: Option<UpdateName>,
    /// Shift of the receiver's windows. [default: 6; with --buffers the smallest one for the receive buffer]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(0..=14), help_heading = "Hosts")]
    window_scale: Option<u8>,
    /// Send buffer. [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, conflicts_with = "buffers", help_heading = "Hosts")]
    send_buffer: Option<usize>,
    /// Receive buffer. [default: 2M; where the window is the limit, 128K]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, conflicts_with = "buffers", help_heading = "Hosts")]
    receive_buffer: Option<usize>,
    /// Bytes per read, where the receiver is the limit. [default: 1448, the data of one packet]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, help_heading = "Hosts")]
    read_size: Option<usize>,
    /// When the room of read bytes is free, where the receiver is the limit. [default: read]
    #[arg(long, value_name = "WHEN", help_heading = "Hosts")]
    frees: Option<FreeName>,
    /// Maximum deviation of the time of a read from its mean, where the receiver is the limit. [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, help_heading = "Hosts")]
    jitter: Option<f64>,
    /// Processor time per read, in nanoseconds, where the receiver is the limit. [default: 0]
    #[arg(long, value_name = "NANOSECONDS", value_parser = nanoseconds(), help_heading = "Hosts")]
    read_cost: Option<u64>,
    /// Processor time of the receiving application per KiB, in nanoseconds, where the receiver is the limit. [default:
    /// from netperf's service demand in FreeBSD's tests of 2016, 2744 with 2M]
    #[arg(long, value_name = "NANOSECONDS", value_parser = nanoseconds(), help_heading = "Hosts")]
    kib_cost: Option<u64>,
    /// Processor time of the receiver's interrupts per packet, in nanoseconds. [default: where the receiver is the
    /// limit, from the same service demand, 2089 with 2M; otherwise 0]
    #[arg(long, value_name = "NANOSECONDS", value_parser = nanoseconds(), help_heading = "Hosts")]
    packet_cost: Option<u64>,
    /// Minimum time between two interrupts of a network card, in microseconds, at both hosts. [default: 0]
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(0..=10_000), help_heading = "Hosts")]
    interrupt_gap: Option<u64>,
}

/// [`AckPolicy`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AckName {
    /// Every second segment, and a lone one after 100 ms.
    Delayed,
    /// Each packet.
    Each,
    /// Large receive offload: all packets of an interrupt together, and a lone one after 100 ms.
    Merged,
}

/// [`WindowUpdates`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UpdateName {
    /// Two segments are free, and a quarter of the buffer or at most an eighth of it.
    Freebsd,
    /// The window has doubled.
    Linux,
    /// A segment is free, the earliest that RFC 9293 allows.
    Segment,
}

/// [`Frees`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FreeName {
    /// When the read ends.
    Read,
    /// When a packet is copied, as on FreeBSD.
    Packet,
}

impl Knobs {
    /// Changes a situation to these settings.
    pub fn apply(&self, limit: Limit, situation: &mut Situation) {
        let receiver = &mut situation.receiver;
        set(&mut receiver.acks, self.acks());
        set(&mut receiver.updates, self.updates());
        set(&mut receiver.window_scale, self.window_scale);
        set(&mut receiver.buffer_bytes, self.receive_buffer.map(|bytes| bytes as u64));
        set(&mut situation.sender.send_buffer_bytes, self.send_buffer);
        set(&mut situation.receiver_interrupts.packet, self.packet_cost.map(Duration::from_nanos));
        set(&mut situation.sender_interrupts.gap, self.interrupt_gap.map(Duration::from_micros));
        set(&mut situation.receiver_interrupts.gap, self.interrupt_gap.map(Duration::from_micros));
        if limit == Limit::Receiver {
            let reader = &mut situation.reader;
            set(&mut reader.read_bytes, self.read_size.map(|bytes| bytes as u64));
            set(&mut reader.frees, self.frees());
            set(&mut reader.jitter, self.jitter.map(|percent| percent / 100.0));
            set(&mut reader.costs.read, self.read_cost.map(Duration::from_nanos));
            set(&mut reader.costs.kib, self.kib_cost.map(Duration::from_nanos));
        }
    }

    /// All settings that a scan runs.
    pub fn grid(&self) -> Grid {
        let mut grid = Grid::default();
        only(&mut grid.acks, self.acks());
        only(&mut grid.updates, self.updates());
        only(&mut grid.window_scales, self.window_scale);
        only(&mut grid.read_bytes, self.read_size.map(|bytes| bytes as u64));
        only(&mut grid.frees, self.frees());
        only(&mut grid.jitters, self.jitter.map(|percent| percent / 100.0));
        only(&mut grid.interrupt_gaps, self.interrupt_gap.map(Duration::from_micros));
        grid
    }

    fn acks(&self) -> Option<AckPolicy> {
        self.acks.map(|name| match name {
            AckName::Delayed => AckPolicy::Delayed(ACK_DELAY),
            AckName::Each => AckPolicy::EachPacket,
            AckName::Merged => AckPolicy::Merged(ACK_DELAY),
        })
    }

    fn updates(&self) -> Option<WindowUpdates> {
        self.updates.map(|name| match name {
            UpdateName::Freebsd => WindowUpdates::QuarterOrTight,
            UpdateName::Linux => WindowUpdates::Doubled,
            UpdateName::Segment => WindowUpdates::Segment,
        })
    }

    fn frees(&self) -> Option<Frees> {
        self.frees.map(|name| match name {
            FreeName::Read => Frees::EachRead,
            FreeName::Packet => Frees::EachPacket,
        })
    }
}

/// The settings of a situation that a scan varies, as flags.
pub fn as_flags(situation: &Situation) -> String {
    let acks = match situation.receiver.acks {
        AckPolicy::Delayed(_) => "delayed",
        AckPolicy::EachPacket => "each",
        AckPolicy::Merged(_) => "merged",
    };
    let updates = match situation.receiver.updates {
        WindowUpdates::QuarterOrTight => "freebsd",
        WindowUpdates::Doubled => "linux",
        WindowUpdates::Segment => "segment",
    };
    let frees = match situation.reader.frees {
        Frees::EachRead => "read",
        Frees::EachPacket => "packet",
    };
    let (reader, gap) = (situation.reader, situation.receiver_interrupts.gap.as_micros());
    format!(
        "--acks {acks} --updates {updates} --window-scale {} --read-size {} --frees {frees} --jitter {:.0} \
         --interrupt-gap {gap}",
        situation.receiver.window_scale,
        reader.read_bytes,
        reader.jitter * 100.0,
    )
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn only<T>(values: &mut Vec<T>, value: Option<T>) {
    if let Some(value) = value {
        *values = vec![value];
    }
}

/// At most a second.
fn nanoseconds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(0..=1_000_000_000)
}
