use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lab::read_ahead::{self, Experiment, Load, Sample, Way};
use measure::{Comparison, Level, Margin};
use report::{Column, Table};
use serde_json::{Value, json};

use super::figures::{median, short};
use super::folder::Folder;
use crate::failure::{BenchError, Failure};
use crate::output::Output;

/// Compare ways to read ahead of sequential readers.
///
/// A server for each way is started in a process of its own; they serve one file on disk, which is taken out of memory each time before
/// it is read: by one reader alone, by several at once, and with many requests under way, in order and in any order. What is printed is
/// the median of each; an interval of 95 % stands in brackets.
#[derive(Debug, Args)]
pub struct Flags {
    /// The size of READs.
    #[arg(long, value_name = "SIZE", value_parser = super::parse_block, default_value = "64K")]
    bs: u32,
    /// How often every load goes to every server.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// What the order of servers and loads follows from.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How long the file is.
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, default_value = "256M")]
    size: u64,
    /// Where the file is made: a directory on a disk.
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    dir: PathBuf,
    /// Where to write every sample, as JSON.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
}

/// Does the experiment.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let folder = Folder::new(&flags.dir, "read-ahead")?;
    let experiment = Experiment {
        program: env::current_exe().map_err(|source| Failure::System { action: "find this program's file", source })?,
        folder: folder.path(),
        ways: Way::ALL.to_vec(),
        loads: Load::all(flags.bs).to_vec(),
        rounds: flags.rounds,
        seed: flags.seed,
        file_bytes: flags.size,
    };
    let samples =
        read_ahead::run(&experiment, |sample| eprintln!("{}", line(sample))).map_err(BenchError::ReadAhead)?;
    if let Some(path) = &flags.samples {
        let text = report::to_json(&all(flags.seed, &samples)).map_err(BenchError::Json)?;
        fs::write(path, text + "\n").map_err(|source| Failure::Local { path: path.clone(), source })?;
    }
    let mut output = Output::new();
    write!(output, "{}", table(&experiment, &samples).to_markdown())?;
    Ok(output.finish()?)
}

/// A row for each load and way. A load is held against the first one, a reader alone, with the same way, and a way against the first one
/// under the same load.
fn table(experiment: &Experiment, samples: &[Sample]) -> Table {
    let of = |load: Load, way: Way, figure: fn(&Sample) -> f64| -> Vec<f64> {
        samples.iter().filter(|sample| (sample.load, sample.way) == (load, way)).map(figure).collect()
    };
    let numbers = ["MB/s", "server s/GB", "MB/s ÷ one reader", "MB/s ÷ by stream"].map(Column::number);
    let mut table = Table::new([Column::text("load"), Column::text("read-ahead")].into_iter().chain(numbers));
    let rows: Vec<(Load, Way)> =
        experiment.loads.iter().flat_map(|&load| experiment.ways.iter().map(move |&way| (load, way))).collect();
    // What a row is compared with; nothing for itself.
    let against = |&(load, way): &(Load, Way)| [(experiment.loads[0], way), (load, experiment.ways[0])];
    let pairs = rows.iter().flat_map(|row| against(row).map(|other| (*row, other)));
    let compare = |((load, way), (base_load, base_way)): ((Load, Way), (Load, Way))| {
        Comparison::paired(&of(base_load, base_way, rate_mb), &of(load, way, rate_mb), Level::P95)
    };
    let family: Vec<_> = pairs.filter(|(row, other)| row != other).map(compare).collect();
    let mut ratios = report::ratios(&family, Margin::TWO_PERCENT).into_iter();
    for row in &rows {
        let (load, way) = *row;
        let figures = [rate_mb, |sample: &Sample| sample.server_s_per_gb].map(|figure| median(of(load, way, figure)));
        let cells = against(row).map(|other| if other == *row { None } else { ratios.next() }.unwrap_or_default());
        table.push([load.to_string(), way.to_string()].into_iter().chain(figures).chain(cells));
    }
    table
}

fn rate_mb(sample: &Sample) -> f64 {
    sample.bytes_per_second / 1e6
}

fn line(sample: &Sample) -> String {
    let (rate, cost) = (short(rate_mb(sample)), short(sample.server_s_per_gb));
    format!("round {}, {}, {}: {rate} MB/s, {cost} server s/GB", sample.place.round, sample.load, sample.way)
}

fn all(seed: u64, samples: &[Sample]) -> Value {
    let each = samples.iter().map(|sample| {
        json!({
            "load": sample.load.to_string(),
            "way": sample.way.to_string(),
            "round": sample.place.round,
            "position": sample.place.position,
            "pair": sample.place.pair,
            "bytes_per_s": sample.bytes_per_second,
            "server_s_per_gb": sample.server_s_per_gb,
        })
    });
    json!({ "version": env!("CARGO_PKG_VERSION"), "seed": seed, "samples": each.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use lab::Place;

    use super::*;

    #[test]
    fn loads_are_held_against_one_reader_and_ways_against_the_first() {
        let (ways, loads) = (vec![Way::Streams, Way::Kernel], Load::all(65_536)[..2].to_vec());
        let sample = |load, way, round, rate| Sample {
            load,
            way,
            place: Place { round, position: 0, pair: 0 },
            bytes_per_second: rate * 1e6 + f64::from(round),
            server_s_per_gb: 1.0,
        };
        let samples: Vec<Sample> = (1..=6)
            .flat_map(|round| {
                [(0, 0, 100.0), (0, 1, 100.0), (1, 0, 200.0), (1, 1, 50.0)]
                    .map(|(load, way, rate)| sample(loads[load], ways[way], round, rate))
            })
            .collect();
        let (folder, program) = (PathBuf::new(), PathBuf::new());
        let experiment = Experiment { program, folder, ways, loads, rounds: 6, seed: 1, file_bytes: 1 };
        let text = table(&experiment, &samples).to_text();
        let last = text.lines().last().unwrap();
        assert!(last.contains("0.50 [") && last.contains("0.25 ["), "{text}");
    }
}
