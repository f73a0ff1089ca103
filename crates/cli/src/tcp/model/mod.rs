//! `wharf tcp model`: simulates the rules for cutting a stream into sends.

mod knobs;
mod record;
mod scan;

use std::io::Write;

use clap::{Args, ValueEnum};
use report::{Column, Table};
use segments::Rule;
use segments::model::{DOCUMENT_BUFFERS, Host, Limit, ModelResult, Situation, run as run_model};

use crate::failure::Failure;
use crate::output::Output;
use crate::tcp::rule_name::RuleName;
use knobs::Knobs;
use record::RunRecord;

/// Simulate a TCP stream under rules for cutting it into sends, and count its packets.
///
/// Sender and receiver are like those of FreeBSD in 2016, 10 Gbit/s apart, in virtual time. The same seed gives the
/// same packets. Nothing is sent; no privileges are needed. See docs/segments.md.
#[derive(Debug, Args)]
pub struct Flags {
    /// What limits the throughput. [default: all three, one after the other]
    #[arg(long, value_name = "WHAT")]
    limit: Vec<LimitName>,
    /// Cutting rule: before or after FreeBSD's change of 2016, or as TCP stacks do today. [default: all three]
    #[arg(long, value_name = "RULE")]
    rule: Vec<RuleName>,
    /// Bytes to send.
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, default_value = "100M")]
    bytes: u64,
    /// Run with the eight pairs of socket buffer sizes of FreeBSD's netperf tests of 2016.
    #[arg(long)]
    buffers: bool,
    #[command(flatten)]
    knobs: Knobs,
    /// Run many settings of the receiver instead, and show those whose packets are nearest to FreeBSD's trace of 2016.
    #[arg(long, conflicts_with_all = ["limit", "rule", "buffers"])]
    scan: bool,
    /// Number of settings that a scan shows.
    #[arg(long, value_name = "NUMBER", requires = "scan", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    best: u16,
    /// Seed of the random choices.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// [`Limit`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LimitName {
    /// Processor time of the sender.
    Sender,
    /// Receive window.
    Window,
    /// Receiving application.
    Receiver,
}

impl From<LimitName> for Limit {
    fn from(name: LimitName) -> Limit {
        match name {
            LimitName::Sender => Limit::Sender,
            LimitName::Window => Limit::Window,
            LimitName::Receiver => Limit::Receiver,
        }
    }
}

/// One run of the simulation.
struct Done {
    limit: Limit,
    rule: Rule,
    buffers: (usize, u64),
    outcome: ModelResult,
}

/// Runs all combinations.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if flags.scan {
        return scan::run(flags);
    }
    let done: Vec<Done> = flags.situations().into_iter().map(|(limit, situation)| one(limit, &situation)).collect();
    let mut output = Output::new();
    if flags.json {
        output.json(&done.iter().map(RunRecord::new).collect::<Vec<_>>())?;
    } else {
        write!(output, "{}", table(&done).to_text())?;
    }
    Ok(output.finish()?)
}

fn one(limit: Limit, situation: &Situation) -> Done {
    let buffers = (situation.sender.send_buffer_bytes, situation.receiver.buffer_bytes);
    Done { limit, rule: situation.sender.rule, buffers, outcome: run_model(situation) }
}

impl Flags {
    fn situations(&self) -> Vec<(Limit, Situation)> {
        let limits: Vec<Limit> = self.limit.iter().map(|name| Limit::from(*name)).collect();
        let rules: Vec<Rule> = self.rule.iter().map(|name| Rule::from(*name)).collect();
        let limits = if limits.is_empty() { Limit::ALL.to_vec() } else { limits };
        let rules = if rules.is_empty() { Rule::ALL.to_vec() } else { rules };
        let mut situations = Vec::new();
        for limit in limits {
            let pairs = if self.buffers { DOCUMENT_BUFFERS.map(Some).to_vec() } else { vec![None] };
            for pair in pairs {
                situations.extend(rules.iter().map(|rule| (limit, self.situation(limit, *rule, pair))));
            }
        }
        situations
    }

    fn situation(&self, limit: Limit, rule: Rule, buffers: Option<(usize, u64)>) -> Situation {
        let situation = Situation { total_bytes: self.bytes, ..Situation::document(limit, rule, self.seed) };
        let mut situation = match buffers {
            Some((send, receive)) => situation.with_buffers(send, receive, Host::R1),
            None => situation,
        };
        self.knobs.apply(limit, &mut situation);
        situation
    }
}

fn table(done: &[Done]) -> Table {
    let texts = ["limit", "rule"].map(Column::text);
    let numbers =
        ["send buffer", "receive buffer", "data packets", "single-MSS", "fractional", "on the wire", "Mbit/s"];
    let numbers = numbers.into_iter().chain(["sender µs/KiB"]).map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for Done { limit, rule, buffers, outcome } in done {
        let tally = &outcome.tally;
        let shared = |count| format!("{count} ({:.1}%)", tally.share(count).unwrap_or_default() * 100.0);
        table.push([
            limit.name().to_owned(),
            rule.name().to_owned(),
            buffers.0.to_string(),
            buffers.1.to_string(),
            tally.packets().to_string(),
            shared(tally.single),
            shared(tally.partial()),
            tally.wire_packets.to_string(),
            format!("{:.0}", outcome.bytes_per_second() * 8e-6),
            format!("{:.3}", outcome.service_demand_us()),
        ]);
    }
    table
}
