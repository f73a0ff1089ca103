//! `wharf tcp model --scan`: the settings of the receiver that are nearest to FreeBSD's trace.

use std::io::Write;

use report::{Column, Table};
use segments::Rule;
use segments::model::scan::{self, Fit, Progress};
use segments::model::{DOCUMENT_PACKETS, Limit};
use serde::Serialize;

use super::Flags;
use super::knobs::as_flags;
use crate::failure::Failure;
use crate::output::Output;
use crate::tcp::watch::{Interrupted, Watched};

/// A fit in `--json`. The deviations are in percent.
#[derive(Debug, Serialize)]
struct FitRecord {
    flags: String,
    data_packets: [u64; 2],
    single_mss: [u64; 2],
    wire_packets: [u64; 2],
    bits_per_second: [f64; 2],
    deviation_percent: [f64; 4],
    distance_percent: f64,
}

impl FitRecord {
    fn new(fit: &Fit) -> FitRecord {
        FitRecord {
            flags: as_flags(&fit.situation),
            data_packets: fit.tallies.map(|tally| tally.packets()),
            single_mss: fit.tallies.map(|tally| tally.single),
            wire_packets: fit.tallies.map(|tally| tally.wire_packets),
            bits_per_second: fit.bytes_per_second.map(|speed| speed * 8.0),
            deviation_percent: fit.deviations().map(|part| part * 100.0),
            distance_percent: fit.distance() * 100.0,
        }
    }
}

/// Runs the scan.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let mut interrupted = Interrupted::listen()?;
    let (grid, base) = (flags.knobs.grid(), flags.situation(Limit::Receiver, Rule::Before, None));
    let progress = Progress::default();
    let wanted = usize::from(flags.best);
    let watched = Watched {
        name: "scan",
        bytes: &progress.done_bytes,
        stop: &progress.stop,
        total: Some(scan::total_bytes(&grid, &base, wanted)),
        duration: None,
    };
    let fits = interrupted.watch(&watched, || scan::scan(&grid, &base, wanted, &progress)).unwrap_or_default();
    interrupted.end()?;
    let mut output = Output::new();
    if flags.json {
        output.json(&fits.iter().map(FitRecord::new).collect::<Vec<_>>())?;
    } else {
        write!(output, "{}", table(&fits).to_text())?;
        writeln!(output, "{} settings ran; each of these is within its distance of all four figures", grid.len())?;
    }
    Ok(output.finish()?)
}

fn table(fits: &[Fit]) -> Table {
    let numbers = ["distance", "packets before", "single-MSS", "packets after", "single-MSS", "Mbit/s"];
    let mut table = Table::new(numbers.map(Column::number).into_iter().chain([Column::text("flags")]));
    let [packets, single, packets_after, single_after] = DOCUMENT_PACKETS.map(|count| count.to_string());
    let document = "FreeBSD's trace of 100 MiB".to_owned();
    table.push([String::new(), packets, single, packets_after, single_after, "2690".to_owned(), document]);
    for fit in fits {
        let [before, after] = fit.tallies;
        let counts = [before.packets(), before.single, after.packets(), after.single];
        let deviations = fit.deviations();
        let shown = |place: usize| format!("{} ({:+.1}%)", counts[place], deviations[place] * 100.0);
        table.push([
            format!("{:.1}%", fit.distance() * 100.0),
            shown(0),
            shown(1),
            shown(2),
            shown(3),
            format!("{:.0}", fit.bytes_per_second[0] * 8e-6),
            as_flags(&fit.situation),
        ]);
    }
    table
}
