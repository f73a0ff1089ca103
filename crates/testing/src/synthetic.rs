//! Runs whose truth is known: an experiment with three factors, on a server that does what the test says.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use fastrand::Rng;
use measure::record::{
    BeforeAfter, Better, CurveKind, Design, Disturbance, DocumentRatio, Factor, FigureKind, Levels, Machine,
    Measurement, PassPlace, Percentile, Run, TableKind,
};

/// The contenders of the experiment: the first one is the baseline, the last one is the first one once more.
pub const REPLIES: [&str; 4] = ["copy", "gather", "zero-copy", "copy again"];

/// What a server does in truth.
#[derive(Clone)]
pub struct Server {
    /// The throughput of each contender divided by that of the first.
    pub ratios: [f64; 4],
    /// The deviation of a pass's throughput, as a share of it.
    pub noise: f64,
    /// The deviation of what all passes of a round have in common.
    pub round_noise: f64,
    /// The deviation of what all passes of a contender in a round have in common: its servers start for each round.
    pub start_noise: f64,
    /// By which share the throughput rises from the first pass to the last one.
    pub drift: f64,
    /// Which share of operations takes ten times as long.
    pub slow: f64,
    /// By which share the throughput differs between the two states that each pass starts in.
    pub states: f64,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            ratios: [1.0; 4],
            noise: 0.02,
            round_noise: 0.03,
            start_noise: 0.0,
            drift: 0.0,
            slow: 0.0,
            states: 0.0,
        }
    }
}

/// The head of the run.
pub fn run(seed: u64, rounds: u32) -> Run {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let factor = |name: &str, levels: &[&str]| Factor::new(name, names(levels));
    let figure = |name: &str, unit: &str, better| FigureKind { name: name.to_owned(), unit: unit.to_owned(), better };
    let design = Design {
        name: "synthetic".to_owned(),
        question: "What does copying replies cost?".to_owned(),
        source: Some("Document 000, March 2014".to_owned()),
        factors: vec![factor("load", &["read", "write"]), factor("block", &["4k", "128k"]), factor("reply", &REPLIES)],
        contenders: "reply".to_owned(),
        control: Some(REPLIES[3].to_owned()),
        figures: vec![
            figure("throughput", "MB/s", Better::Higher),
            figure("latency", "µs", Better::Lower),
            figure("calls", "", Better::Neither),
        ],
        tables: vec![table("reply", "copy"), table("block", "4k")],
        goals: Vec::new(),
        curves: vec![CurveKind {
            title: "Latency against throughput".to_owned(),
            factor: "block".to_owned(),
            x: "throughput".to_owned(),
            y: "latency".to_owned(),
        }],
        differences: vec!["The document's server had a ramdisk.".to_owned()],
        skipped: vec!["Random reads: not in this example.".to_owned()],
    };
    Run {
        design,
        machine: Machine {
            processor: "synthetic".to_owned(),
            processors: 2,
            memory_bytes: 4 << 30,
            ..Machine::default()
        },
        settings: BTreeMap::from([("duration".to_owned(), "1 s".to_owned())]),
        rounds,
        precision: None,
        disturbed_from: Some(0.3),
        seed,
        version: "0.1.0".to_owned(),
        began_ms: 1_395_748_000_000,
    }
}

/// A table of throughput: what the document says of reads is true of a server with ratios 1, 1.15, 1.3.
fn table(factor: &str, baseline: &str) -> TableKind {
    let of = |load: &str, reply: &str| levels(&[("load", load), ("reply", reply)]);
    let ratio = |load: &str, reply: &str, ratio| DocumentRatio::of_ratio(of(load, reply), ratio);
    let gather = DocumentRatio::of_figures(of("read", "gather"), BeforeAfter { before: 2000.0, after: 2300.0 });
    let document = match factor {
        "reply" => {
            vec![gather, ratio("read", "zero-copy", 1.0), ratio("write", "zero-copy", 0.9)]
        }
        _ => Vec::new(),
    };
    TableKind { document, ..TableKind::new(&format!("Throughput by {factor}"), "throughput", factor, baseline) }
}

pub fn levels(all: &[(&str, &str)]) -> Levels {
    all.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
}

/// The passes that the engine would make.
pub fn passes(run: &Run, server: &Server) -> Vec<Measurement> {
    let mut random = Rng::with_seed(run.seed);
    let loads = [("read", "4k"), ("read", "128k"), ("write", "4k"), ("write", "128k")];
    let mut passes = Vec::new();
    let all = run.rounds * (loads.len() * 6) as u32;
    for round in 1..=run.rounds {
        let common = 1.0 + server.round_noise * normal(&mut random);
        let starts =
            REPLIES.map(|_| if server.start_noise > 0.0 { server.start_noise * normal(&mut random) } else { 0.0 });
        for load in measure::shuffled(run.seed, round.into(), loads.len()) {
            for turn in measure::paired(run.seed, u64::from(round) << 8 | load as u64, REPLIES.len()) {
                let place = PassPlace { round, position: passes.len() as u32, pair: REPLIES[turn.pair].to_owned() };
                let course = f64::from(place.position) / f64::from(all);
                let speed =
                    common * (1.0 + starts[turn.contender]) * speed(server, &mut random, turn.contender, course);
                passes.push(pass(loads[load], REPLIES[turn.contender], place, speed, server.slow));
            }
        }
    }
    passes
}

fn speed(server: &Server, random: &mut Rng, contender: usize, course: f64) -> f64 {
    let state = if random.bool() { server.states } else { 0.0 };
    server.ratios[contender] * (1.0 + server.noise * normal(random)) * (1.0 + server.drift * course) * (1.0 + state)
}

fn pass((load, block): (&str, &str), reply: &str, place: PassPlace, speed: f64, slow: f64) -> Measurement {
    let base_us = if block == "4k" { 20.0 } else { 400.0 } / speed;
    let bytes_us = if block == "4k" { 400.0 } else { 2000.0 };
    let percents = [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9, 99.99];
    let latency = percents.map(|percent| {
        let is_slow = percent > 100.0 * (1.0 - slow);
        let us = base_us * (1.0 + (1.0 / (1.0 - percent / 100.0)).ln() / 10.0) * if is_slow { 10.0 } else { 1.0 };
        Percentile { percent, us }
    });
    Measurement {
        levels: levels(&[("load", load), ("block", block), ("reply", reply)]),
        began_ms: 1_395_748_000_000 + u64::from(place.position) * 1000,
        place,
        seconds: 1.0,
        figures: BTreeMap::from([
            ("throughput".to_owned(), bytes_us * speed),
            ("latency".to_owned(), base_us),
            ("calls".to_owned(), 1000.0),
        ]),
        failure: None,
        latency: latency.to_vec(),
        disturbance: Disturbance::default(),
        periods: Vec::new(),
        is_repeated: false,
    }
}

/// A figure of the standard normal distribution (Box and Muller).
fn normal(random: &mut Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}
