//! Latency against throughput: what jobs in an open loop achieved of the rates that they were offered.

use measure::Histogram;
use measure::record::{Direction, JobSummary};

use crate::table::{Column, Table};
use crate::units;

/// A row for each job that had a rate; nothing when fewer than two had one.
pub(crate) fn table(jobs: &[JobSummary]) -> Option<Table> {
    let open: Vec<(&JobSummary, f64)> = jobs.iter().filter_map(|job| Some((job, offered(job)?))).collect();
    if open.len() < 2 {
        return None;
    }
    let heads = ["offered/s", "achieved/s", "bandwidth", "p50", "p99", "p99.9"].map(Column::number);
    let mut table = Table::new([Column::text("open loop")].into_iter().chain(heads));
    for (job, offered) in open {
        let work = job.work_in_runtime;
        let latency_ns = latency(job);
        let quantile = |q| units::duration(std::time::Duration::from_nanos(latency_ns.quantile(q)));
        table.push([
            job.name.clone(),
            units::count(offered),
            units::count(work.operations_per_second(job.runtime)),
            units::bandwidth(work.bytes_per_second(job.runtime)),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
        ]);
    }
    Some(table)
}

/// The operations a second that were due.
fn offered(job: &JobSummary) -> Option<f64> {
    let (_, rate) = job.options.iter().find(|(name, _)| *name == "rate_iops")?;
    rate.parse().ok()
}

/// The latencies of all operations but syncs.
fn latency(job: &JobSummary) -> Histogram {
    let mut latency_ns = Histogram::new();
    let counted = job.directions.iter().filter(|found| found.direction != Direction::Sync);
    counted.for_each(|found| latency_ns.merge(&found.latency_ns));
    latency_ns
}

#[cfg(test)]
mod tests {
    use crate::job::examples;

    #[test]
    fn jobs_with_a_rate_are_rows_with_what_they_achieved() {
        let mut run = examples::run();
        assert!(!run.to_text().contains("open loop"));
        for (name, rate) in [("small 50 %", "5000"), ("small 100 %", "12000")] {
            let mut job = run.jobs[0].clone();
            job.name = name.to_owned();
            job.options.push(("rate_iops", rate.to_owned()));
            run.jobs.push(job);
        }
        let text = run.to_text();
        let row = text.lines().find(|line| line.starts_with("small 100 %  ")).unwrap();
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[..5], ["small 100 %", "12.0k", "10.0k", "39.1MiB/s (41.0MB/s)", "100.0us"], "{text}");
        assert!(!text.lines().any(|line| line.starts_with("small  ")));
    }
}
