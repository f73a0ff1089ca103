use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use segments::kernel::MAX_CONNECTIONS;
use segments::model::DOCUMENT_BUFFERS;
use segments::sender::{Algorithm, Config};
use segments::user::Options;
use segments::{Card, Faults, Rule};

use crate::tcp::rule_name::RuleName;
use crate::tcp::series::RepeatFlags;

/// Send a TCP stream to another host, or from a sender in user space to this machine's kernel.
///
/// With HOST, both ends are kernel sockets, as with iperf and netperf; `wharf tcp listen` must run there. Shows
/// throughput, processor time at both ends, and retransmitted segments.
///
/// Without HOST, Wharf's own sender sends over a TAP device in a temporary network namespace. It hands super-segments
/// of up to 64 KiB to the kernel, cut by a rule, and counts its packets; the data received is verified. Requires root
/// or unshare -rn. See docs/segments.md.
#[derive(Debug, Args)]
pub struct Flags {
    /// Host that runs wharf tcp listen. [default port: 5210]
    #[arg(value_name = "HOST[:PORT]")]
    pub(super) host: Option<String>,
    #[command(flatten)]
    pub(super) between: HostFlags,
    /// Cutting rule: before or after FreeBSD's change of 2016, or as TCP stacks do today. [default: all three, one
    /// after the other]
    #[arg(long, value_name = "RULE", conflicts_with = "host")]
    rule: Vec<RuleName>,
    /// Maximum bytes to send. [default: 100M; unlimited with --time or HOST]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    pub(super) bytes: Option<u64>,
    /// Maximum time to send. [default: 10s with HOST and without --bytes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) time: Option<Duration>,
    /// Send single packets only, no super-segments.
    #[arg(long, conflicts_with = "host")]
    no_offload: bool,
    /// Send buffer (with HOST: SO_SNDBUF). [default: 1M; with HOST: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub(super) send_buffer: Option<usize>,
    /// Receive buffer (SO_RCVBUF). [default: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub(super) receive_buffer: Option<usize>,
    /// Run with the eight pairs of socket buffer sizes of FreeBSD's netperf tests of 2016.
    #[arg(long, conflicts_with_all = ["send_buffer", "receive_buffer"])]
    pub(super) buffers: bool,
    /// Maximum read rate of the receiver, in bytes per second. [default: unlimited]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, conflicts_with = "host")]
    read_rate: Option<u64>,
    /// Bytes per read of the receiver.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, default_value = "64K")]
    pub(super) read_size: usize,
    /// Capture the packets to this file with tcpdump, for wharf tcp trace. Only for a single stream with one --rule.
    #[arg(long, value_name = "FILE", requires = "rule", conflicts_with_all = ["host", "buffers", "iterations", "confidence"])]
    capture: Option<PathBuf>,
    /// Congestion control algorithm.
    #[arg(long, value_name = "NAME", default_value = "cubic", conflicts_with = "host")]
    congestion: Congestion,
    /// MTU: maximum bytes of an IP packet.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..),
          conflicts_with = "host")]
    mtu: u16,
    /// Percentage of frames lost in either direction; a super-segment is one frame.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent, conflicts_with = "host")]
    loss: f64,
    /// Percentage of frames duplicated.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent, conflicts_with = "host")]
    duplication: f64,
    /// Percentage of frames delayed by up to 5 ms.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent, conflicts_with = "host")]
    reordering: f64,
    #[command(flatten)]
    pub(super) repeat: RepeatFlags,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Flags for tests between two hosts.
#[derive(Debug, Args)]
pub(super) struct HostFlags {
    /// The remote end sends.
    #[arg(short = 'R', long, requires = "host", conflicts_with = "both")]
    pub reverse: bool,
    /// Both ends send, each over its own connections.
    #[arg(long, requires = "host")]
    pub both: bool,
    /// Number of parallel connections in each direction.
    #[arg(short = 'P', long, value_name = "NUMBER", requires = "host", default_value_t = 1, value_parser = connections())]
    pub connections: usize,
    /// Bytes per write, up to 1 MiB.
    #[arg(short = 'l', long, value_name = "SIZE", value_parser = parse_memory, requires = "host", default_value = "128K")]
    pub message: usize,
}

/// [`Algorithm`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// The default amount of data.
const DEFAULT_BYTES: u64 = 100 << 20;
const DEFAULT_SEND_BUFFER: usize = 1 << 20;
/// The longest delay of a reordered frame.
const MAX_DELAY: Duration = Duration::from_millis(5);
/// How long the receiver may be silent.
const GIVE_UP: Duration = Duration::from_secs(20);
/// The largest buffer.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

impl Flags {
    pub(super) fn rules(&self) -> Vec<Rule> {
        if self.rule.is_empty() { Rule::ALL.to_vec() } else { self.rule.iter().map(|name| Rule::from(*name)).collect() }
    }

    /// Whether several captures would go to one file.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.capture.is_some() && self.rule.len() > 1
    }

    /// Returns the pairs of buffers to run with, or no pair.
    pub(super) fn buffer_pairs(&self) -> Vec<Option<(usize, u64)>> {
        if self.buffers { DOCUMENT_BUFFERS.map(Some).to_vec() } else { vec![None] }
    }

    pub(super) fn options(&self, rule: Rule, buffers: Option<(usize, u64)>) -> Options {
        let algorithm = match self.congestion {
            Congestion::Reno => Algorithm::Reno,
            Congestion::Cubic => Algorithm::Cubic,
        };
        let card = if self.no_offload { Card::PLAIN } else { Card::FULL };
        let endless = if self.time.is_some() { u64::MAX } else { DEFAULT_BYTES };
        Options {
            sender: Config {
                rule,
                card,
                algorithm,
                send_buffer_bytes: buffers.map_or(self.send_buffer.unwrap_or(DEFAULT_SEND_BUFFER), |(send, _)| send),
                give_up: GIVE_UP,
                ..Config::default()
            },
            mtu: self.mtu,
            receive_buffer_bytes: buffers.map(|(_, receive)| receive as usize).or(self.receive_buffer),
            read_bytes_per_second: self.read_rate.map(|rate| rate as f64),
            read_bytes: self.read_size,
            total_bytes: self.bytes.unwrap_or(endless),
            duration: self.time,
            wire_bits_per_second: None,
            capture: self.capture.clone(),
            faults: Faults {
                loss: self.loss / 100.0,
                duplication: self.duplication / 100.0,
                reordering: self.reordering / 100.0,
                max_delay: MAX_DELAY,
            },
            places: None,
            seed: self.repeat.seed,
        }
    }
}

/// Reads a number of connections.
pub fn connections() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_CONNECTIONS as u64)
}

pub fn parse_memory(text: &str) -> Result<usize, String> {
    let bytes = config::parse_size(text).map_err(|error| error.to_string())?;
    let is_possible = (1..=MAX_BUFFER_BYTES).contains(&bytes);
    if is_possible { Ok(bytes as usize) } else { Err("a size from 1 byte to 1 GiB is required".to_owned()) }
}

pub fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "a percentage from 0 to 100 is required".to_owned())
}

pub fn parse_time(text: &str) -> Result<Duration, String> {
    let time = config::parse_timeout(text).map_err(|error| error.to_string())?;
    time.ok_or_else(|| "a time that ends is required, such as 10s".to_owned())
}
