//! The experiment of the third source: what rules for cutting a TCP stream into sends do to packets, speed and cost.
//!
//! The same sender runs in virtual time, limited in three ways, with the receiver nearest to the source's trace, over a
//! TAP device to this machine's kernel, over a wire of the source's speed, beside the kernel's own sender, and over
//! that wire to a host that gets a part of a processor.

mod document;
mod factors;
mod limited;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::record::{Better, Bound, Design, DocumentRatio, Factor, FigureKind, Goal, Levels, PassPlace, TableKind};
use segments::Rule;
use segments::kernel::{self, Test};
use segments::link::{self, LinkOptions};
use segments::model::{self, DOCUMENT_BUFFERS, Host, Limit, Situation};
use segments::sender::Config;
use segments::trace::Tally;
use segments::user::{self, Control, Places, TransferResult};

use self::document::TRACED_SEND_BYTES;
use self::factors::{AFTER, AGAIN, BEFORE, BUFFERS, DIRECTION, KERNEL, PATH, RULE, TO_R1, TO_S1, TODAY, buffer_name};
use self::limited::LimitedHost;
use super::kind::{Conditions, Kind, Scale, named};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};

pub(super) const KIND: Kind =
    Kind { name: NAME, summary: "what rules for cutting a TCP stream do to its packets (source 002)", make };

const NAME: &str = "segments";

const TAP: &str = "TAP device";
const WIRE: &str = "wire of 10 Gbit/s";
/// The same wire, to a host that gets a part of a processor.
const LIMITED: &str = "limited receiver";
const NEAREST: &str = "model: nearest";
/// What limits the model's speed, by the level's name.
const LIMITS: [(&str, Limit); 4] = [
    ("model: sender", Limit::Sender),
    ("model: window", Limit::Window),
    ("model: reader", Limit::Receiver),
    (NEAREST, Limit::Receiver),
];

/// Paths that have only the buffers of the trace with --quick.
const BRIEF: [&str; 4] = [LIMITS[0].0, LIMITS[1].0, WIRE, LIMITED];

const SPEED: &str = "speed";
const SENDER_COST: &str = "sender cost";
const RECEIVER_COST: &str = "receiver cost";
/// netperf's local and remote utilisation, of the two threads instead of two hosts.
const SENDER_CPU: &str = "sender CPU";
const RECEIVER_CPU: &str = "receiver CPU";
const PACKETS: &str = "data packets";
const WIRE_PACKETS: &str = "packets on the wire";
const SINGLE: &str = "single-MSS";
const OTHERS: &str = "not single-MSS";

/// The part of its share that a limited receiver takes at the least when it is the limit.
const BINDING: f64 = 0.95;

/// Most bytes of an IP packet on Ethernet.
const MTU: u16 = 1500;
const READ_BYTES: usize = 64 << 10;
/// What the kernel's sender gets in each write: as much as the model's.
const WRITE_BYTES: usize = 128 << 10;
const LINK: LinkOptions = LinkOptions { bits_per_second: 10_000_000_000, mtu: MTU };
const TUN: &str = "/dev/net/tun";

struct Segments {
    scale: Scale,
    has_tap: bool,
    program: PathBuf,
    /// Why no receiver can be limited here, if it cannot.
    unlimited: Option<String>,
    /// Whether one takes part.
    is_limited: bool,
    limited: Option<LimitedHost>,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let has_tap = Path::new(TUN).exists() && link::is_permitted();
    let unlimited = if has_tap { LimitedHost::missing(LINK) } else { Some(format!("it needs root and {TUN}")) };
    let (scale, program) = (conditions.scale, conditions.program.clone());
    let is_limited = unlimited.is_none();
    Ok(Box::new(Segments { scale, has_tap, program, unlimited, is_limited, limited: None }))
}

fn total_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 8 << 20,
        Scale::Usual => 32 << 20,
        Scale::Full => 100 << 20,
    }
}

/// What a limited host receives.
fn limited_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 16 << 20,
        Scale::Usual => 48 << 20,
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
        models.chain(self.devices()).map(str::to_owned).collect()
    }

    /// The paths that are not computed.
    fn devices(&self) -> impl Iterator<Item = &'static str> {
        let devices = if self.has_tap { &[TAP, WIRE][..] } else { &[] };
        devices.iter().copied().chain(self.unlimited.is_none().then_some(LIMITED))
    }

    fn tables(&self) -> Vec<TableKind> {
        let pairs: Vec<String> = buffers(self.scale).map(|buffers| buffer_name(buffers.send_bytes)).collect();
        let with = |table: TableKind, document: Vec<DocumentRatio>| TableKind {
            document: document.into_iter().filter(|ratio| pairs.contains(&ratio.levels[BUFFERS])).collect(),
            ..table
        };
        let by_rule = |title: &str, figure: &str| TableKind::new(title, figure, RULE, BEFORE);
        let traced = buffer_name(TRACED_SEND_BYTES);
        let by_buffer = |title: &str, figure: &str| TableKind::new(title, figure, BUFFERS, &traced);
        let on = |path: &str, table| TableKind { only: Levels::from([(PATH.to_owned(), path.to_owned())]), ..table };
        let mut tables = vec![
            with(by_rule("Share of other packets than single-MSS ones", OTHERS), vec![document::others()]),
            with(by_rule("Data packets as the sender hands them over", PACKETS), vec![document::packets()]),
            by_rule("Speed", SPEED),
            by_rule("Processor time of the sender", SENDER_COST),
            with(by_buffer("Speed by send buffer", SPEED), document::speed()),
            TableKind::new("Speed by direction", SPEED, DIRECTION, TO_R1),
        ];
        tables.extend(self.devices().map(|path| {
            let title = format!("Processor time of the receiver, {path}");
            on(path, by_rule(&title, RECEIVER_COST))
        }));
        // The source has the time of whole hosts; only a limited one has a time for what the kernel does for it.
        let whole = if self.unlimited.is_none() { LIMITED } else { TAP };
        tables.extend(self.devices().filter(|path| *path != WIRE).map(|path| {
            let title = format!("Processor time of the receiver by send buffer, {path}");
            let document = if path == whole { document::receiver_cost() } else { Vec::new() };
            on(path, with(by_buffer(&title, RECEIVER_COST), document))
        }));
        tables
    }

    /// A limited receiver takes nearly all that it may: it is the limit.
    fn goals(&self) -> Vec<Goal> {
        let goal = |(direction, rule): (&str, &str)| {
            let buffers = buffer_name(TRACED_SEND_BYTES);
            let levels = [(PATH, LIMITED), (BUFFERS, &buffers), (DIRECTION, direction), (RULE, rule)];
            Goal {
                levels: levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into(),
                figure: RECEIVER_CPU.to_owned(),
                baseline: None,
                bound: Bound::AtLeast(limited::SHARE.percent() * BINDING),
            }
        };
        let all = [(TO_R1, BEFORE), (TO_R1, AFTER), (TO_S1, BEFORE), (TO_S1, AFTER)];
        all.into_iter().filter(|_| self.is_limited).map(goal).collect()
    }

    fn model(&self, situation: Situation, buffers: Buffers, receiver: Host) -> Result<Figures, PassError> {
        let situation = Situation { total_bytes: total_bytes(self.scale), ..situation };
        let situation = situation.with_buffers(buffers.send_bytes, buffers.receive_bytes, receiver);
        let outcome = model::run(&situation);
        if let Some(failure) = &outcome.failure {
            return Err(PassError(format!("the model's connection ended early: {failure}")));
        }
        let mut figures = counts(&outcome.tally);
        figures.set(SPEED, outcome.bytes_per_second() * 8e-6);
        figures.set(SENDER_COST, outcome.service_demand_us());
        figures.set(SENDER_CPU, percent_of(outcome.sender_time, outcome.elapsed));
        Ok(figures)
    }

    /// The sender in user space, over a device, a wire, or a wire to a limited host.
    fn send(&self, rule: Rule, buffers: Buffers, way: Way, seed: u64) -> Result<Figures, PassError> {
        let options = user::Options {
            sender: Config { rule, send_buffer_bytes: buffers.send_bytes, ..Config::default() },
            mtu: MTU,
            receive_buffer_bytes: Some(usize::try_from(buffers.receive_bytes)?),
            read_bytes: READ_BYTES,
            total_bytes: if way.path == LIMITED { limited_bytes(self.scale) } else { total_bytes(self.scale) },
            wire_bits_per_second: (way.path == WIRE).then_some(LINK.bits_per_second),
            places: Some(if way.receiver == Host::S1 { Places::Swapped } else { Places::Straight }),
            seed,
            ..user::Options::default()
        };
        let (outcome, thread_time) = match &self.limited {
            Some(host) if way.path == LIMITED => host.receive(&options)?,
            _ => (user::run(&options, &Control::default())?, Duration::ZERO),
        };
        if outcome.wrong_bytes > 0 {
            return Err(PassError(format!("{} received bytes were wrong", outcome.wrong_bytes)));
        }
        if outcome.received_bytes != options.total_bytes {
            let (received, sent) = (outcome.received_bytes, options.total_bytes);
            return Err(PassError(format!("{received} of {sent} bytes were received")));
        }
        let mut figures = counts(&outcome.tally);
        let TransferResult { received_bytes, elapsed, sender_time, receiver_time, .. } = outcome;
        let receiver_time = receiver_time + thread_time;
        Transfer { received_bytes, elapsed, sender_time, receiver_time }.add_to(&mut figures);
        Ok(figures)
    }

    /// The kernel's sender over the same wire. Its packets are counted on the wire alone.
    fn send_by_kernel(&self, buffers: Buffers) -> Result<Figures, PassError> {
        let direction = kernel::Direction::Out;
        let test = Test {
            kind: kernel::Kind::Stream { direction, message_bytes: WRITE_BYTES, read_bytes: READ_BYTES },
            connections: 1,
            total: Some(total_bytes(self.scale)),
            duration: None,
            send_buffer_bytes: Some(buffers.send_bytes),
            receive_buffer_bytes: Some(usize::try_from(buffers.receive_bytes)?),
        };
        let (outcome, frames) = link::run(LINK, true, &test, &kernel::Control::default())?;
        let kernel::End { received_bytes, elapsed, process_time: receiver_time, .. } = outcome.remote;
        let sender_time = outcome.local.process_time;
        let mut figures = Figures::default();
        figures.set(WIRE_PACKETS, frames as f64);
        Transfer { received_bytes, elapsed, sender_time, receiver_time }.add_to(&mut figures);
        Ok(figures)
    }
}

/// How a stream in user space goes.
#[derive(Debug, Clone, Copy)]
struct Way {
    path: &'static str,
    receiver: Host,
}

/// What both ends of a stream have measured.
struct Transfer {
    received_bytes: u64,
    elapsed: Duration,
    sender_time: Duration,
    receiver_time: Duration,
}

impl Transfer {
    fn add_to(&self, figures: &mut Figures) {
        let us_per_kib = |time: Duration| time.as_secs_f64() * 1e6 / (self.received_bytes as f64 / 1024.0);
        figures.set(SPEED, self.received_bytes as f64 * 8e-6 / self.elapsed.as_secs_f64());
        figures.set(SENDER_COST, us_per_kib(self.sender_time));
        figures.set(RECEIVER_COST, us_per_kib(self.receiver_time));
        figures.set(SENDER_CPU, percent_of(self.sender_time, self.elapsed));
        figures.set(RECEIVER_CPU, percent_of(self.receiver_time, self.elapsed));
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
    figures.set(WIRE_PACKETS, tally.wire_packets as f64);
    figures.set(SINGLE, percent(tally.single));
    figures.set(OTHERS, percent(tally.packets() - tally.single));
    figures.set("fractional", percent(tally.partial()));
    figures
}

impl Experiment for Segments {
    fn design(&self) -> Design {
        let pairs = buffers(self.scale).map(|buffers| buffer_name(buffers.send_bytes)).collect();
        let no_tap = format!("The TAP device and the wire, with the kernel's sender: they need root and {TUN}.");
        let unlimited = self.unlimited.as_ref().map(|reason| format!("The limited receiver: {reason}."));
        let brief = format!("Other buffers than the trace's on {}: left out with --quick.", BRIEF.join(", "));
        Design {
            name: NAME.to_owned(),
            question: "What does the rule by which a TCP sender cuts its data do to packets, speed and cost?"
                .to_owned(),
            source: Some("FreeBSD, change of tcp_output's trimming for segmentation offload, April 2016".to_owned()),
            factors: vec![
                Factor::new(PATH, self.paths()).computing(LIMITS.map(|(name, _)| name.to_owned())),
                Factor::new(BUFFERS, pairs),
                Factor::new(DIRECTION, named([TO_R1, TO_S1])),
                Factor::new(RULE, named([BEFORE, AGAIN, AFTER, TODAY, KERNEL])),
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
                FigureKind::new(WIRE_PACKETS, "", Better::Lower),
                FigureKind::new(SINGLE, "%", Better::Lower),
                FigureKind::new(OTHERS, "%", Better::Higher),
                FigureKind::new("fractional", "%", Better::Neither),
            ],
            tables: self.tables(),
            curves: Vec::new(),
            goals: self.goals(),
            differences: named([
                "Each rule runs in both directions; the source ran before and after in opposite ones, so that its differences \
                 hold those of its hosts. The model's receivers have the processor times of the source's two hosts. Over \
                 the TAP device, the two ends change places between two processors of this machine.",
                "The receiver of the TAP device and of the wire is this machine's kernel. Only the wire has the source's 10 Gbit/s; \
                 its ends share two processors with a bridge and a token bucket, so it is seldom full.",
                "A limited receiver gets a tenth of a processor for the kernel's thread that receives its frames and for the \
                 process that reads, so that the speed is its share divided by what a byte costs it. The kernel merges \
                 frames and stops the process for the rest of each period; the source's hosts had whole processors. The \
                 process compares the beginning of what each read returns, and not all of it.",
                "'kernel' is the sender of this machine's kernel, with a rule of its own. How much it hands over at once is not \
                 counted, and its receiver does not compare the bytes with what was sent, which saves it processor time.",
                "The model's processor times of the sender are chosen; only its differences between rules mean anything. \
                 Those of its receiver are from netperf's rows in the source, and the speed follows from them.",
                "The source does not have its receiver's reads, acknowledgments and window updates. 'model: nearest' has \
                 those that a scan found nearest to the trace: a possible cause, and no proof.",
            ]),
            skipped: [(!self.has_tap).then_some(no_tap), unlimited, (self.scale == Scale::Quick).then_some(brief)]
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let mut settings = BTreeMap::from([
            ("bytes of a stream".to_owned(), mib(total_bytes(self.scale))),
            ("receive buffer".to_owned(), "twice the send buffer".to_owned()),
            ("MTU".to_owned(), MTU.to_string()),
        ]);
        if self.unlimited.is_none() {
            settings.insert("bytes of a stream, limited receiver".to_owned(), mib(limited_bytes(self.scale)));
            settings.insert("limited receiver".to_owned(), format!("{} % of a processor", limited::SHARE.percent()));
        }
        settings
    }

    /// The hosts differ where the receiver is the limit, and the processors of this machine. The kernel's sender is on
    /// the wire alone, whose ends are in one direction.
    fn has(&self, levels: &Levels) -> bool {
        let is_brief = BRIEF.contains(&levels[PATH].as_str());
        if self.scale == Scale::Quick && is_brief && levels[BUFFERS] != buffer_name(TRACED_SEND_BYTES) {
            return false;
        }
        if levels[PATH] == WIRE {
            return levels[DIRECTION] == TO_R1;
        }
        // What a segment costs the receiver is compared for the source's rules alone, to save time.
        if levels[RULE] == KERNEL || levels[PATH] == LIMITED && levels[RULE] == TODAY {
            return false;
        }
        let limit = LIMITS.iter().find(|(name, _)| *name == levels[PATH]).map(|(_, limit)| *limit);
        levels[DIRECTION] == TO_R1 || limit.is_none_or(|limit| limit == Limit::Receiver)
    }

    fn needs(&self) -> Needs {
        let mib = (total_bytes(self.scale) >> 20) as f64;
        Needs {
            pass_seconds: 0.05 + mib * 0.008,
            round_seconds: if self.is_limited { 0.2 } else { 0.0 },
            space_bytes: 0,
            root: Some("the TAP device, the wire and a receiver that gets a part of a processor"),
        }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares TCP senders, and no NFS server takes part")
    }

    fn refuses_builds(&self) -> Option<&'static str> {
        self.refuses_servers()
    }

    fn leave_in(&mut self, levels: &BTreeMap<String, Vec<String>>) {
        self.is_limited &= levels.get(PATH).is_none_or(|paths| paths.iter().any(|path| path == LIMITED));
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        if self.is_limited {
            self.limited = None;
            self.limited = Some(LimitedHost::new(self.program.clone(), LINK)?);
        }
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let pair = buffers(self.scale).find(|pair| buffer_name(pair.send_bytes) == levels[BUFFERS]);
        let pair = pair.ok_or_else(|| PassError(format!("there is no send buffer of {}", levels[BUFFERS])))?;
        let rule = rule(&levels[RULE]);
        let receiver = if levels[DIRECTION] == TO_S1 { Host::S1 } else { Host::R1 };
        match LIMITS.iter().find(|(name, _)| *name == levels[PATH]) {
            Some((NEAREST, _)) => self.model(Situation::nearest_to_document(rule, seed), pair, receiver),
            Some((_, limit)) => self.model(Situation::document(*limit, rule, seed), pair, receiver),
            None if levels[RULE] == KERNEL => self.send_by_kernel(pair),
            None => {
                let path = self.devices().find(|path| *path == levels[PATH]);
                let path = path.ok_or_else(|| PassError(format!("there is no path {}", levels[PATH])))?;
                self.send(rule, pair, Way { path, receiver }, seed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACED: Buffers = Buffers { send_bytes: 1 << 20, receive_bytes: 2 << 20 };

    fn segments(scale: Scale, has_devices: bool) -> Segments {
        Segments {
            scale,
            has_tap: has_devices,
            program: PathBuf::new(),
            unlimited: (!has_devices).then(String::new),
            is_limited: has_devices,
            limited: None,
        }
    }

    #[test]
    fn the_pair_of_the_trace_takes_part_at_every_scale() {
        for scale in [Scale::Quick, Scale::Usual, Scale::Full] {
            assert!(buffers(scale).any(|pair| pair == TRACED), "{scale:?}");
        }
    }

    #[test]
    fn nearest_model_has_the_share_of_the_trace() {
        let experiment = segments(Scale::Quick, false);
        let found = |rule| {
            let situation = Situation::nearest_to_document(rule, 1);
            experiment.model(situation, TRACED, Host::R1).unwrap().values
        };
        let [before, after] = [Rule::Before, Rule::After].map(found);
        // A stream of 8 MiB fills the receive buffer for a quarter of its time.
        assert!(before[SINGLE] > 50.0 && after[SINGLE] < 1.0, "{before:?} {after:?}");
        assert!((before[SINGLE] + before[OTHERS] - 100.0).abs() < 1e-9, "{before:?}");
        assert!(before[PACKETS] > after[PACKETS]);
        // µs/KiB times KiB/s is the share of the processor.
        let kib_per_second = before[SPEED] * 1e6 / 8.0 / 1024.0;
        let expected = before[SENDER_COST] * kib_per_second * 1e-6 * 100.0;
        assert!((before[SENDER_CPU] / expected - 1.0).abs() < 1e-9, "{before:?}");
    }

    #[test]
    fn tables_compare_what_the_source_measured_in_one_direction() {
        let experiment = segments(Scale::Full, true);
        let compared: Vec<(String, usize)> =
            experiment.tables().into_iter().map(|table| (table.figure, table.document.len())).collect();
        let compared: Vec<(&str, usize)> = compared.iter().map(|(figure, count)| (figure.as_str(), *count)).collect();
        let none = |figure| (figure, 0);
        let expected = [(OTHERS, 1), (PACKETS, 1), none(SPEED), none(SENDER_COST), (SPEED, 14), none(SPEED)];
        let of_receiver =
            [none(RECEIVER_COST), none(RECEIVER_COST), none(RECEIVER_COST), none(RECEIVER_COST), (RECEIVER_COST, 14)];
        assert_eq!(compared, [&expected[..], &of_receiver].concat());
    }

    #[test]
    fn kernel_sends_over_the_wire_alone() {
        let experiment = segments(Scale::Usual, true);
        let has = |path: &str, direction: &str, rule: &str| {
            let levels = [(PATH, path), (DIRECTION, direction), (RULE, rule)];
            experiment.has(&levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into())
        };
        assert!(has(WIRE, TO_R1, KERNEL) && has(WIRE, TO_R1, BEFORE) && !has(WIRE, TO_S1, BEFORE));
        assert!(has(LIMITED, TO_S1, AFTER) && !has(LIMITED, TO_R1, TODAY) && !has(LIMITED, TO_R1, KERNEL));
        assert!(has(TAP, TO_S1, BEFORE) && !has(TAP, TO_R1, KERNEL) && !has(NEAREST, TO_R1, KERNEL));
    }

    #[test]
    fn share_of_a_limited_receiver_is_a_goal_where_one_takes_part() {
        let goals = segments(Scale::Quick, true).goals();
        assert_eq!((goals.len(), goals[0].bound), (4, Bound::AtLeast(9.5)));
        assert!(goals.iter().all(|goal| segments(Scale::Quick, true).has(&goal.levels)), "{goals:?}");
        assert_eq!(segments(Scale::Quick, false).goals(), []);
    }

    #[test]
    fn the_wire_carries_the_stream_of_the_kernel_and_of_the_rules() {
        if !link::is_permitted() || !Path::new(TUN).exists() {
            println!("skipped: a wire and a TAP device need root");
            return;
        }
        let experiment = segments(Scale::Quick, true);
        let way = Way { path: WIRE, receiver: Host::R1 };
        let of_rule = experiment.send(Rule::Before, TRACED, way, 1).unwrap().values;
        let of_kernel = experiment.send_by_kernel(TRACED).unwrap().values;
        let full = (total_bytes(Scale::Quick) / 1448) as f64;
        for figures in [&of_rule, &of_kernel] {
            assert!(figures[SPEED] > 0.0, "{figures:?}");
            assert!(figures[WIRE_PACKETS] >= full, "{figures:?}");
        }
        assert!(of_rule.contains_key(SINGLE) && !of_kernel.contains_key(SINGLE));
    }
}
