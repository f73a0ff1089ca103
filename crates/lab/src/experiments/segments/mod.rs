//! The experiment of the third source: what rules for cutting a TCP stream into sends do to packets, speed and cost.
//!
//! The same sender runs in virtual time, limited in three ways, and over a TAP device to this machine's kernel.

mod document;
mod factors;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use measure::record::{Better, Design, DocumentRatio, Factor, FigureKind, Levels, PassPlace, TableKind};
use segments::Rule;
use segments::link;
use segments::model::{self, DOCUMENT_BUFFERS, Limit, Situation};
use segments::sender::Config;
use segments::trace::Tally;
use segments::user::{self, Control};

use self::factors::{AFTER, AGAIN, BEFORE, BUFFERS, PATH, RULE, TODAY, buffer_name};
use super::kind::{Conditions, Kind, Scale, named};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};

pub(super) const KIND: Kind =
    Kind { name: NAME, summary: "what rules for cutting a TCP stream do to its packets (source 002)", make };

const NAME: &str = "segments";

const TAP: &str = "TAP device";
/// What limits the model's speed, by the level's name.
const LIMITS: [(&str, Limit); 3] =
    [("model: sender", Limit::Sender), ("model: window", Limit::Window), ("model: reader", Limit::Receiver)];

const SPEED: &str = "speed";
const SENDER_COST: &str = "sender cost";
const RECEIVER_COST: &str = "receiver cost";
/// netperf's local and remote utilisation, of the two threads instead of two hosts.
const SENDER_CPU: &str = "sender CPU";
const RECEIVER_CPU: &str = "receiver CPU";
const PACKETS: &str = "data packets";

/// Most bytes of an IP packet on Ethernet.
const MTU: u16 = 1500;
const READ_BYTES: usize = 64 << 10;
const TUN: &str = "/dev/net/tun";

struct Segments {
    scale: Scale,
    has_tap: bool,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let has_tap = Path::new(TUN).exists() && link::is_permitted();
    Ok(Box::new(Segments { scale: conditions.scale, has_tap }))
}

fn total_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 8 << 20,
        Scale::Usual => 32 << 20,
        Scale::Full => 100 << 20,
    }
}

/// The socket buffers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Buffers {
    send_bytes: usize,
    receive_bytes: u64,
}

/// The send and receive buffers that take part, in bytes.
fn buffers(scale: Scale) -> impl Iterator<Item = Buffers> {
    let step = if scale == Scale::Quick { 3 } else { 1 };
    // From the largest but two, so that the pair of the trace is always there.
    let all = DOCUMENT_BUFFERS.map(|(send_bytes, receive_bytes)| Buffers { send_bytes, receive_bytes });
    all.into_iter().skip(2 % step).step_by(step)
}

fn rule(name: &str) -> Rule {
    match name {
        AFTER => Rule::After,
        TODAY => Rule::Today,
        _ => Rule::Before,
    }
}

impl Segments {
    fn paths(&self) -> Vec<String> {
        let models = LIMITS.iter().map(|(name, _)| *name);
        models.chain(self.has_tap.then_some(TAP)).map(str::to_owned).collect()
    }

    fn tables(&self) -> Vec<TableKind> {
        let pairs: Vec<String> = buffers(self.scale).map(|buffers| buffer_name(buffers.send_bytes)).collect();
        let table = |title: &str, figure: &str, only, document: Vec<DocumentRatio>| TableKind {
            only,
            document: document.into_iter().filter(|ratio| pairs.contains(&ratio.levels[BUFFERS])).collect(),
            ..TableKind::new(title, figure, RULE, BEFORE)
        };
        let tap = || Levels::from([(PATH.to_owned(), TAP.to_owned())]);
        let mut tables = vec![
            table("Speed", SPEED, Levels::new(), document::speed()),
            table("Processor time of the sender", SENDER_COST, Levels::new(), document::sender_cost()),
            table("Data packets as the sender hands them over", PACKETS, Levels::new(), document::packets()),
        ];
        if self.has_tap {
            tables.push(table("Processor time of the receiver", RECEIVER_COST, tap(), document::receiver_cost()));
        }
        tables
    }

    fn model(&self, limit: Limit, rule: Rule, buffers: Buffers, seed: u64) -> Result<Figures, PassError> {
        let situation = Situation { total_bytes: total_bytes(self.scale), ..Situation::document(limit, rule, seed) };
        let outcome = model::run(&situation.with_buffers(buffers.send_bytes, buffers.receive_bytes));
        if let Some(failure) = &outcome.failure {
            return Err(PassError(format!("the model's connection ended early: {failure}")));
        }
        let mut figures = counts(&outcome.tally);
        figures.set(SPEED, outcome.bytes_per_second() * 8e-6);
        figures.set(SENDER_COST, outcome.service_demand_us());
        figures.set(SENDER_CPU, percent_of(outcome.sender_time, outcome.elapsed));
        Ok(figures)
    }

    fn tap(&self, rule: Rule, buffers: Buffers, seed: u64) -> Result<Figures, PassError> {
        let options = user::Options {
            sender: Config { rule, send_buffer_bytes: buffers.send_bytes, ..Config::default() },
            mtu: MTU,
            receive_buffer_bytes: Some(usize::try_from(buffers.receive_bytes)?),
            read_bytes_per_second: None,
            read_bytes: READ_BYTES,
            total_bytes: total_bytes(self.scale),
            duration: None,
            wire_bits_per_second: None,
            capture: None,
            faults: segments::Faults::default(),
            seed,
        };
        let outcome = user::run(&options, &Control::default())?;
        if outcome.wrong_bytes > 0 {
            return Err(PassError(format!("{} received bytes were wrong", outcome.wrong_bytes)));
        }
        let mut figures = counts(&outcome.tally);
        figures.set(SPEED, outcome.bits_per_second() / 1e6);
        figures.set(SENDER_COST, outcome.sender_us_per_kib());
        figures.set(RECEIVER_COST, outcome.receiver_us_per_kib());
        figures.set(SENDER_CPU, percent_of(outcome.sender_time, outcome.elapsed));
        figures.set(RECEIVER_CPU, percent_of(outcome.receiver_time, outcome.elapsed));
        Ok(figures)
    }
}

/// The share of a processor that was used.
fn percent_of(used: Duration, elapsed: Duration) -> f64 {
    used.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0
}

fn counts(tally: &Tally) -> Figures {
    let percent = |count| tally.share(count).unwrap_or_default() * 100.0;
    let mut figures = Figures::default();
    figures.set(PACKETS, tally.packets() as f64);
    figures.set("packets on the wire", tally.wire_packets as f64);
    figures.set("single-MSS", percent(tally.single));
    figures.set("fractional", percent(tally.partial()));
    figures
}

impl Experiment for Segments {
    fn design(&self) -> Design {
        let pairs = buffers(self.scale).map(|buffers| buffer_name(buffers.send_bytes)).collect();
        let no_tap = format!("The TAP device: it needs root and {TUN}.");
        Design {
            name: NAME.to_owned(),
            question: "What does the rule by which a TCP sender cuts its data do to packets, speed and cost?"
                .to_owned(),
            source: Some("FreeBSD, change of tcp_output's trimming for segmentation offload, April 2016".to_owned()),
            factors: vec![
                Factor::new(PATH, self.paths()).computing(LIMITS.map(|(name, _)| name.to_owned())),
                Factor::new(BUFFERS, pairs),
                Factor::new(RULE, named([BEFORE, AGAIN, AFTER, TODAY])),
            ],
            contenders: RULE.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                FigureKind::new(SPEED, "Mbit/s", Better::Higher),
                FigureKind::new(SENDER_COST, "µs/KiB", Better::Lower),
                FigureKind::new(RECEIVER_COST, "µs/KiB", Better::Lower),
                FigureKind::new(SENDER_CPU, "%", Better::Lower),
                FigureKind::new(RECEIVER_CPU, "%", Better::Lower),
                FigureKind::new(PACKETS, "", Better::Lower),
                FigureKind::new("packets on the wire", "", Better::Lower),
                FigureKind::new("single-MSS", "%", Better::Lower),
                FigureKind::new("fractional", "%", Better::Neither),
            ],
            tables: self.tables(),
            curves: Vec::new(),
            goals: Vec::new(),
            differences: named([
                "Before and after run in the same direction; the source's ran in opposite ones, so that its differences hold \
                 those of its hosts.",
                "The TAP device has no wire of 10 Gbit/s behind it: the receiver is this machine's kernel.",
                "The model's processor times are chosen; only its differences between rules mean anything.",
                "76.3 % of single-MSS packets before the change are not reached: that depends on the receiver's reads and \
                 card, of which the source says nothing.",
            ]),
            skipped: if self.has_tap { Vec::new() } else { vec![no_tap] },
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("bytes of a stream".to_owned(), format!("{} MiB", total_bytes(self.scale) >> 20)),
            ("receive buffer".to_owned(), "twice the send buffer".to_owned()),
            ("MTU".to_owned(), MTU.to_string()),
        ])
    }

    fn needs(&self) -> Needs {
        let mib = (total_bytes(self.scale) >> 20) as f64;
        Needs { pass_seconds: 0.05 + mib * 0.008, round_seconds: 0.0, space_bytes: 0, root: Some("the TAP device") }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares TCP senders, and no NFS server takes part")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let pair = buffers(self.scale).find(|pair| buffer_name(pair.send_bytes) == levels[BUFFERS]);
        let pair = pair.ok_or_else(|| PassError(format!("there is no send buffer of {}", levels[BUFFERS])))?;
        let rule = rule(&levels[RULE]);
        match LIMITS.iter().find(|(name, _)| *name == levels[PATH]) {
            Some((_, limit)) => self.model(*limit, rule, pair, seed),
            None => self.tap(rule, pair, seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACED: Buffers = Buffers { send_bytes: 1 << 20, receive_bytes: 2 << 20 };

    #[test]
    fn the_pair_of_the_trace_takes_part_at_every_scale() {
        for scale in [Scale::Quick, Scale::Usual, Scale::Full] {
            assert!(buffers(scale).any(|pair| pair == TRACED), "{scale:?}");
        }
    }

    #[test]
    fn ratios_of_two_hosts_are_not_compared_and_those_of_the_trace_are() {
        let experiment = Segments { scale: Scale::Full, has_tap: true };
        for table in experiment.design().tables {
            let is_of_trace = table.figure == PACKETS;
            let all = || table.document.iter().map(|document| document.not_compared.is_none());
            assert!(all().count() > 0 && all().all(|is_compared| is_compared == is_of_trace), "{}", table.title);
        }
    }

    #[test]
    fn model_makes_more_packets_before_the_change_where_the_reader_is_the_limit() {
        let experiment = Segments { scale: Scale::Quick, has_tap: false };
        let found = |rule| experiment.model(Limit::Receiver, rule, TRACED, 1).unwrap().values;
        assert!(found(Rule::Before)[PACKETS] > found(Rule::After)[PACKETS]);
        // µs/KiB times KiB/s is the share of the processor.
        let (before, kib_per_second) = (found(Rule::Before), found(Rule::Before)[SPEED] * 1e6 / 8.0 / 1024.0);
        let expected = before[SENDER_COST] * kib_per_second * 1e-6 * 100.0;
        assert!((before[SENDER_CPU] / expected - 1.0).abs() < 1e-9, "{before:?}");
    }
}
