use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lab::bench::Order;
use lab::reply_path::{self, Experiment, Load, Sample, Way};
use measure::{Comparison, Level, Margin};
use report::{Column, Table};
use serde_json::{Value, json};

use super::figures::{median, short};
use super::folder::Folder;
use crate::failure::{BenchError, Failure};
use crate::output::Output;

/// Compare ways to build and send the replies to READ.
///
/// A server for each way is started in a process of its own; they serve one file in memory and take turns in answering the same
/// loads. What is printed is the median of each, and its ratio to what a server does that is told nothing; an interval of 95 %
/// stands in brackets. Verdicts are corrected for the number of ratios.
#[derive(Debug, Args)]
pub struct Flags {
    /// The sizes of READs.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = super::parse_block, default_value = "4K,64K,128K")]
    bs: Vec<u32>,
    /// The orders of READs: read, randread.
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',', value_parser = parse_order, default_value = "read,randread")]
    rw: Vec<Order>,
    /// How often every load goes to every server.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// What the order of servers and loads follows from.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How long each time.
    #[arg(long, value_name = "TIME", value_parser = config::parse_time, default_value = "500ms")]
    runtime: Duration,
    /// How many connections there are.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    connections: u32,
    /// How many READs are under way at once on each connection.
    #[arg(long, value_name = "COUNT", default_value_t = 16)]
    iodepth: u32,
    /// How long the file is.
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, default_value = "256M")]
    size: u64,
    /// Where the file is made: a directory in memory.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    dir: PathBuf,
    /// Where to write every sample, as JSON.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
}

/// Does the experiment.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let folder = Folder::new(&flags.dir, "reply-path")?;
    let experiment = flags.experiment(&folder)?;
    let samples =
        reply_path::run(&experiment, |sample| eprintln!("{}", line(sample))).map_err(BenchError::ReplyPath)?;
    if let Some(path) = &flags.samples {
        let text = report::to_json(&all(flags.seed, &samples)).map_err(BenchError::Json)?;
        fs::write(path, text + "\n").map_err(|source| Failure::Local { path: path.clone(), source })?;
    }
    let mut output = Output::new();
    write!(output, "{}", tables(&experiment, &samples))?;
    Ok(output.finish()?)
}

impl Flags {
    fn experiment(&self, folder: &Folder) -> Result<Experiment, Failure> {
        let loads = self
            .bs
            .iter()
            .flat_map(|&block_bytes| self.rw.iter().map(move |&order| Load { order, block_bytes }))
            .collect();
        Ok(Experiment {
            program: env::current_exe()
                .map_err(|source| Failure::System { action: "find this program's file", source })?,
            folder: folder.path(),
            ways: Way::all(),
            loads,
            rounds: self.rounds,
            seed: self.seed,
            runtime: self.runtime,
            connections: self.connections,
            depth: self.iodepth,
            file_bytes: self.size,
        })
    }
}

/// One figure of a sample.
type Figure = fn(&Sample) -> f64;

/// The figures of a sample that are shown, and what is over them.
const FIGURES: [(&str, Figure); 5] = [
    ("ops/s", |sample| sample.operations_per_second),
    ("MB/s", |sample| sample.bytes_per_second / 1e6),
    ("p50 µs", |sample| sample.median_us),
    ("p99 µs", |sample| sample.p99_us),
    ("server s/GB", |sample| sample.server_s_per_gb),
];

/// The figures that are compared.
const COMPARED: [Figure; 2] = [FIGURES[1].1, FIGURES[4].1];

/// A table for each load, with a row for each way. All ratios are judged together.
fn tables(experiment: &Experiment, samples: &[Sample]) -> String {
    let of = |load: Load, way: Way, figure: Figure| -> Vec<f64> {
        samples.iter().filter(|sample| (sample.load, sample.way) == (load, way)).map(figure).collect()
    };
    let others = || experiment.ways.iter().copied().filter(|way| *way != Way::Default);
    let beside = |load: Load, pair: usize, way: Way, figure: Figure| -> Vec<f64> {
        let is_it = |sample: &&Sample| (sample.load, sample.place.pair, sample.way) == (load, pair, way);
        samples.iter().filter(is_it).map(figure).collect()
    };
    let compare = |load, way| {
        let pair = experiment.ways.iter().position(|other| *other == way).unwrap_or_default();
        let of = |way, figure| beside(load, pair, way, figure);
        COMPARED.map(|figure| Comparison::paired(&of(Way::Default, figure), &of(way, figure), Level::P95))
    };
    let family: Vec<_> =
        experiment.loads.iter().flat_map(|&load| others().flat_map(move |way| compare(load, way))).collect();
    let mut ratios = report::ratios(&family, Margin::TWO_PERCENT).into_iter();
    let mut text = String::new();
    for &load in &experiment.loads {
        let titles = FIGURES.iter().map(|figure| Column::number(figure.0));
        let heads = ["MB/s ÷ default", "s/GB ÷ default"].map(Column::number);
        let mut table = Table::new([Column::text("way")].into_iter().chain(titles).chain(heads));
        for &way in &experiment.ways {
            let figures = FIGURES.iter().map(|figure| median(of(load, way, figure.1)));
            let wanted = if way == Way::Default { 0 } else { COMPARED.len() };
            let row = [way.to_string()].into_iter().chain(figures).chain(ratios.by_ref().take(wanted));
            table.push(row.chain(vec![String::new(); COMPARED.len() - wanted]));
        }
        text += &format!("{}\n\n{}\n", name(load), table.to_markdown());
    }
    text
}

fn name(load: Load) -> String {
    let order = match load.order {
        Order::Sequential => "sequential",
        Order::Random => "random",
    };
    format!("{order} reads of {} KiB", load.block_bytes >> 10)
}

fn line(sample: &Sample) -> String {
    let figures = FIGURES.map(|(title, figure)| format!("{} {title}", short(figure(sample))));
    format!("round {}, {}, {}: {}", sample.place.round, name(sample.load), sample.way, figures.join(", "))
}

fn all(seed: u64, samples: &[Sample]) -> Value {
    let each = samples.iter().map(|sample| {
        json!({
            "load": name(sample.load),
            "way": sample.way.to_string(),
            "round": sample.place.round,
            "position": sample.place.position,
            "pair": sample.place.pair,
            "ops_per_s": sample.operations_per_second,
            "bytes_per_s": sample.bytes_per_second,
            "p50_us": sample.median_us,
            "p99_us": sample.p99_us,
            "server_s_per_gb": sample.server_s_per_gb,
        })
    });
    json!({ "version": env!("CARGO_PKG_VERSION"), "seed": seed, "samples": each.collect::<Vec<_>>() })
}

fn parse_order(text: &str) -> Result<Order, String> {
    match text {
        "read" => Ok(Order::Sequential),
        "randread" => Ok(Order::Random),
        _ => Err("there are read and randread".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use lab::Place;

    use super::*;

    fn sample((way, pair): (Way, usize), round: u32, operations_per_second: f64) -> Sample {
        Sample {
            load: Load { order: Order::Random, block_bytes: 4096 },
            way,
            place: Place { round, position: 0, pair },
            operations_per_second,
            bytes_per_second: operations_per_second * 4096.0,
            median_us: 10.0,
            p99_us: 20.0,
            server_s_per_gb: 1.0,
        }
    }

    #[test]
    fn way_that_is_faster_in_every_round_is_shown_as_such() {
        let other = Way::all()[2];
        let rounds = (1..=6).flat_map(|round| {
            let speed = 1000.0 + f64::from(round);
            [
                sample((Way::Default, 1), round, speed),
                sample((other, 1), round, speed * 2.0),
                // Beside another one it is faster, which is nothing to this pair.
                sample((Way::Default, 2), round, speed * 3.0),
                sample((Way::Again, 2), round, speed * 3.0),
            ]
        });
        let load = Load { order: Order::Random, block_bytes: 4096 };
        let experiment = Experiment {
            program: PathBuf::new(),
            folder: PathBuf::new(),
            ways: vec![Way::Default, other, Way::Again],
            loads: vec![load],
            rounds: 6,
            seed: 1,
            runtime: Duration::ZERO,
            connections: 1,
            depth: 1,
            file_bytes: 1,
        };
        let text = tables(&experiment, &rounds.collect::<Vec<_>>());
        let row = text.lines().find(|line| line.starts_with("| sendfile ")).unwrap();
        assert!(row.contains("2.00 [2.00, 2.00] ±0.0 %, n 6, higher"), "{text}");
        assert!(row.contains("1.00 [1.00, 1.00] ±0.0 %, n 6, equal within ±2 %"), "{text}");
        let again = text.lines().find(|line| line.starts_with("| default again (A/A) ")).unwrap();
        assert!(again.matches("equal within ±2 %").count() == 2, "{text}");
    }
}
