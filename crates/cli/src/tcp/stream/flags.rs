use std::time::Duration;

use clap::{Args, ValueEnum};
use segments::sender::{Algorithm, Config};
use segments::user::Options;
use segments::{Card, Faults, Rule};

use crate::tcp::model::RuleName;

/// Send a TCP stream from a sender in user space to this machine's kernel, and count its packets.
///
/// The sender is Wharf's own, over a TAP device in a network namespace that ends with the run; it hands super-segments of up to 64 KiB to
/// the kernel, cut by a rule. The received bytes are compared with the sent ones. This needs the superuser's rights, or unshare -rn.
#[derive(Debug, Args)]
pub struct Flags {
    /// The rule: before or after the change of 2016, or as stacks do today; all three, one after the other, unless given.
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
    seed: u64,
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

    pub(super) fn options(&self, rule: Rule) -> Options {
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
                send_buffer_bytes: self.send_buffer,
                give_up: GIVE_UP,
                ..Config::default()
            },
            mtu: self.mtu,
            receive_buffer_bytes: self.receive_buffer,
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
