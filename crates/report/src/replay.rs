//! What the replay of a capture found, for terminals.

use std::fmt::{self, Write};
use std::time::Duration;

use measure::Histogram;
use measure::record::ReplaySummary;

use crate::table::{Column, Table};
use crate::units;

/// Shows the procedures, how late calls began, and what was otherwise than in the capture.
pub(crate) fn write(out: &mut String, found: &ReplaySummary, runtime: Duration) -> fmt::Result {
    let heads = ["calls", "otherwise", "errors", "mean", "p50", "p99", "max"].map(Column::number);
    let mut table = Table::new([Column::text("procedure")].into_iter().chain(heads));
    for procedure in &found.procedures {
        let counts = [procedure.calls, procedure.otherwise, procedure.errors].map(|count| count.to_string());
        let times = times(&procedure.latency_ns, [0.5, 0.99, 1.0]);
        table.push([procedure.name.to_owned()].into_iter().chain(counts).chain(times));
    }
    table.to_text().lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    let [mean, p50, p99, max] = times(&found.late_ns, [0.5, 0.99, 1.0]);
    writeln!(out, "  calls began late by: mean={mean}, p50={p50}, p99={p99}, max={max}")?;
    let (captured, replayed) = (units::duration(found.captured), units::duration(runtime));
    writeln!(out, "  duration: {captured} in the capture, {replayed} in the replay")?;
    found.otherwise.iter().try_for_each(|(what, count)| writeln!(out, "  otherwise, {count} calls: {what}"))?;
    found.remarks.iter().try_for_each(|remark| writeln!(out, "  note: {remark}"))
}

/// The mean and quantiles, of which the last is the maximum.
fn times(ns: &Histogram, quantiles: [f64; 3]) -> [String; 4] {
    if ns.is_empty() {
        return [(); 4].map(|()| "-".to_owned());
    }
    let [first, second, third] = quantiles.map(|quantile| ns.quantile(quantile));
    [ns.mean() as u64, first, second, third].map(|ns| units::duration(Duration::from_nanos(ns)))
}

#[cfg(test)]
mod tests {
    use measure::record::ProcedureSummary;

    use super::*;
    use crate::job::examples;

    fn found() -> ReplaySummary {
        let mut read = ProcedureSummary { calls: 2, otherwise: 1, ..ProcedureSummary::new("READ") };
        [100_000, 300_000].into_iter().for_each(|ns| read.latency_ns.record(ns));
        let mut late_ns = Histogram::new();
        late_ns.record(5000);
        ReplaySummary {
            captured: Duration::from_secs(2),
            procedures: vec![read, ProcedureSummary { errors: 3, ..ProcedureSummary::new("NULL") }],
            late_ns,
            otherwise: vec![("READ: success in the capture, disk full here".to_owned(), 1)],
            remarks: vec!["4 calls are NFSv4".to_owned()],
        }
    }

    #[test]
    fn procedures_lateness_and_differences_follow_the_directions() {
        let mut run = examples::run();
        run.jobs[0].replay = Some(found());
        let text = run.to_text();
        let part: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("  procedure")).take(7).collect();
        let expected = [
            "  procedure  calls  otherwise  errors     mean      p50      p99      max",
            "  READ           2          1       0  200.0us  100.0us  300.0us  300.0us",
            "  NULL           0          0       3        -        -        -        -",
            "  calls began late by: mean=5.000us, p50=5.000us, p99=5.000us, max=5.000us",
            "  duration: 2.000s in the capture, 10.00s in the replay",
            "  otherwise, 1 calls: READ: success in the capture, disk full here",
            "  note: 4 calls are NFSv4",
        ];
        assert_eq!(part, expected, "{text}");
    }

    #[test]
    fn replay_has_its_place_in_json() {
        let mut run = examples::run();
        run.jobs[0].replay = Some(found());
        let json: serde_json::Value = serde_json::from_str(&run.to_json().unwrap()).unwrap();
        let replay = &json["jobs"][0]["replay"];
        assert_eq!((&replay["captured"], &replay["late_ns"]["max"]), (&2000.into(), &5000.into()));
        let read = &replay["procedures"]["READ"];
        assert_eq!((&read["total_ios"], &read["otherwise"], &read["lat_ns"]["N"]), (&2.into(), &1.into(), &2.into()));
        assert_eq!(replay["otherwise"]["READ: success in the capture, disk full here"], 1);
        assert_eq!(replay["remarks"][0], "4 calls are NFSv4");
    }
}
