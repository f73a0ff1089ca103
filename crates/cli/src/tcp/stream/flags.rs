use std::time::Duration;

use clap::{Args, ValueEnum};
use measure::Level;
use segments::model::DOCUMENT_BUFFERS;
use segments::sender::{Algorithm, Config};
use segments::user::Options;
use segments::{Card, Faults, Rule};

use super::series::Repeats;
use crate::tcp::model::RuleName;

/// Send a TCP stream from a sender in user space to this machine's kernel, and count its packets.
///
/// The sender is Wharf's own, over a TAP device in a network namespace that ends with the run; it hands super-segments
/// of up to 64 KiB to the kernel, cut by a rule. The received bytes are compared with the sent ones. This needs the
/// superuser's rights, or unshare -rn.
#[derive(Debug, Args)]
pub struct Flags {
    /// The rule: before or after the change of 2016, or as stacks do today; all three, one after the other, unless
    /// given.
    #[arg(long, value_name = "RULE")]
    rule: Vec<RuleName>,
    /// How much is sent at most. [default: 100M, or without end with --time]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    bytes: Option<u64>,
    /// For how long data is sent at most.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,
    /// Let no super-segments leave.
    #[arg(long)]
    no_offload: bool,
    /// The sender's buffer.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, default_value = "1M")]
    send_buffer: usize,
    /// The receiver's buffer (SO_RCVBUF). [default: as the kernel likes]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    receive_buffer: Option<usize>,
    /// Send with each of the eight pairs of socket buffers of the document's netperf tests.
    #[arg(long, conflicts_with_all = ["send_buffer", "receive_buffer"])]
    buffers: bool,
    /// How often each stream is repeated: at least and at most. [default: 1,1; with -I: 3,10]
    #[arg(short = 'i', long, value_name = "MIN,MAX", value_parser = parse_iterations)]
    iterations: Option<(usize, usize)>,
    /// Repeat until speed and processor time are known this well: 95,10 is to 5 % in either direction, at a level of
    /// 95 %.
    #[arg(short = 'I', long, value_name = "LEVEL,WIDTH", value_parser = parse_confidence)]
    confidence: Option<(Level, f64)>,
    /// How fast the receiver reads, in bytes per second. [default: as fast as it can]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    read_rate: Option<u64>,
    /// How much the receiver reads at once.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, default_value = "64K")]
    read_size: usize,
    /// Congestion control.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: Congestion,
    /// The most bytes of an IP packet.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..))]
    mtu: u16,
    /// How many of a hundred frames are lost, in either direction; a super-segment is one frame.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    loss: f64,
    /// How many of a hundred come twice.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    duplication: f64,
    /// How many of a hundred come up to 5 ms late.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    reordering: f64,
    /// What chance follows from.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// As JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// [`Algorithm`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// What is sent when nobody says.
const DEFAULT_BYTES: u64 = 100 << 20;
/// How often streams are repeated with -I, and how well figures are to be known with -i, when nobody says.
const DEFAULT_ITERATIONS: (usize, usize) = (3, 10);
const DEFAULT_WIDTH: f64 = 0.05;
/// How late a frame comes that is reordered.
const MAX_DELAY: Duration = Duration::from_millis(5);
/// How long the receiver may be silent.
const GIVE_UP: Duration = Duration::from_secs(20);
/// The most memory for a buffer.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

impl Flags {
    pub(super) fn rules(&self) -> Vec<Rule> {
        if self.rule.is_empty() { Rule::ALL.to_vec() } else { self.rule.iter().map(|name| Rule::from(*name)).collect() }
    }

    /// The document's pairs if they are wanted, and none otherwise.
    pub(super) fn buffer_pairs(&self) -> Vec<Option<(usize, u64)>> {
        if self.buffers { DOCUMENT_BUFFERS.map(Some).to_vec() } else { vec![None] }
    }

    pub(super) fn repeats(&self) -> Repeats {
        let default = if self.confidence.is_some() { DEFAULT_ITERATIONS } else { (1, 1) };
        let (min, max) = self.iterations.unwrap_or(default);
        let (level, width) = self.confidence.unwrap_or((Level::P95, DEFAULT_WIDTH));
        Repeats { min, max, level, width }
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
                send_buffer_bytes: buffers.map_or(self.send_buffer, |(send, _)| send),
                give_up: GIVE_UP,
                ..Config::default()
            },
            mtu: self.mtu,
            receive_buffer_bytes: buffers.map(|(_, receive)| receive as usize).or(self.receive_buffer),
            read_bytes_per_second: self.read_rate.map(|rate| rate as f64),
            read_bytes: self.read_size,
            total_bytes: self.bytes.unwrap_or(endless),
            duration: self.time,
            faults: Faults {
                loss: self.loss / 100.0,
                duplication: self.duplication / 100.0,
                reordering: self.reordering / 100.0,
                max_delay: MAX_DELAY,
            },
            seed: self.seed,
        }
    }
}

/// Two numbers; netperf has the larger one first, and either order will do.
fn parse_iterations(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "two numbers from 1 to 1000 are needed, such as 3,10".to_owned();
    let (first, second) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().ok().filter(|count| (1..=1000).contains(count)).ok_or_else(wrong);
    let (first, second): (usize, usize) = (number(first)?, number(second)?);
    Ok((first.min(second), first.max(second)))
}

fn parse_confidence(text: &str) -> Result<(Level, f64), String> {
    let wrong = || "a level and a width in percent are needed, such as 95,10".to_owned();
    let (level, width) = text.split_once(',').ok_or_else(wrong)?;
    let percent = |text: &str| text.parse::<f64>().map(|percent| percent / 100.0).map_err(|_| wrong());
    let level = Level::new(percent(level)?).map_err(|_| wrong())?;
    let width = percent(width)?;
    if width > 0.0 && width.is_finite() { Ok((level, width)) } else { Err(wrong()) }
}

fn parse_memory(text: &str) -> Result<usize, String> {
    let bytes = config::parse_size(text).map_err(|error| error.to_string())?;
    let is_possible = (1..=MAX_BUFFER_BYTES).contains(&bytes);
    if is_possible { Ok(bytes as usize) } else { Err("a buffer has from 1 byte to 1 GiB".to_owned()) }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "a share is from 0 to 100 percent".to_owned())
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = config::parse_timeout(text).map_err(|error| error.to_string())?;
    time.ok_or_else(|| "a stream has to end".to_owned())
}
