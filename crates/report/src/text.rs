//! The words of fio's terminal output.

use std::fmt::{self, Write};

use measure::record::{Direction, DirectionSummary, JobSummary};
use measure::{CpuUse, Histogram};

use crate::units::{self, LatencyUnit};
use crate::{Run, curve, percentiles, replay};

/// How many percentiles fit in a line of a terminal.
const PERCENTILES_PER_LINE: usize = 4;

impl Run {
    /// Shows the run as fio would: one block for each job, and a line for each direction of each job at the end.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        for (group, job) in self.jobs.iter().enumerate() {
            write_job(out, job, group)?;
        }
        for (group, job) in self.jobs.iter().enumerate() {
            writeln!(out, "\nRun status group {group} (all jobs):")?;
            job.directions.iter().try_for_each(|direction| write_status(out, direction))?;
        }
        if let Some(table) = curve::table(&self.jobs) {
            write!(out, "\n{}", table.to_text())?;
        }
        Ok(())
    }
}

fn write_job(out: &mut String, job: &JobSummary, group: usize) -> fmt::Result {
    let JobSummary { name, workload, block_sizes, depth, connections, .. } = job;
    writeln!(
        out,
        "{name}: (g={group}): rw={workload}, bs={block_sizes}, ioengine={}, iodepth={depth}, \
         connections={connections}, target={}",
        job.option("ioengine").unwrap_or("wharf"),
        job.target
    )?;
    let interrupted = if job.is_interrupted { ", interrupted" } else { "" };
    writeln!(out, "{name}: (groupid={group}, jobs=1): err={:2}{interrupted}", job.errors())?;
    job.directions.iter().try_for_each(|direction| write_direction(out, direction))?;
    write_cpu(out, job, "cpu", &job.client_cpu)?;
    if let Some(server_cpu) = &job.server_cpu {
        write_cpu(out, job, "server cpu", server_cpu)?;
    }
    job.replay.as_ref().map_or(Ok(()), |found| replay::write(out, found, job.runtime))
}

fn write_cpu(out: &mut String, job: &JobSummary, whose: &str, cpu: &CpuUse) -> fmt::Result {
    let (user, system) = (cpu.user_percent(job.runtime), cpu.system_percent(job.runtime));
    write!(out, "  {whose:<13}: usr={user:.2}%, sys={system:.2}%, ctx={}", cpu.context_switches)?;
    write!(out, ", majf={}, minf={}", cpu.major_faults, cpu.minor_faults)?;
    match cpu.ns_per_operation(job.work_in_runtime.operations) {
        Some(ns) => writeln!(out, ", {:.2}us/op", ns / 1000.0),
        None => writeln!(out),
    }
}

fn write_direction(out: &mut String, direction: &DirectionSummary) -> fmt::Result {
    let iops = units::count(direction.work.operations_per_second(direction.runtime));
    let bandwidth = units::bandwidth(direction.work.bytes_per_second(direction.runtime));
    let total = units::binary_bytes(direction.work.bytes as f64);
    let name = direction.direction.name();
    let milliseconds = direction.runtime.as_millis();
    match direction.direction {
        Direction::Metadata | Direction::Sync => writeln!(out, "  {name}: IOPS={iops} ({milliseconds}msec)")?,
        Direction::Read | Direction::Write => {
            writeln!(out, "  {name}: IOPS={iops}, BW={bandwidth}({total}/{milliseconds}msec)")?
        }
    }
    if let Some(time) = direction.runtime_with_commit {
        let bandwidth = units::bandwidth(direction.work.bytes_per_second(time));
        writeln!(out, "     with COMMIT: BW={bandwidth}({total}/{}msec)", time.as_millis())?;
    }
    if !direction.latency_ns.is_empty() {
        write_latency(out, &direction.latency_ns)?;
        write_percentiles(out, &direction.latency_ns)?;
    }
    let operations = direction.work.operations;
    writeln!(out, "     issued: total={operations}, short={}, errors={}", direction.short, direction.errors)
}

fn write_status(out: &mut String, direction: &DirectionSummary) -> fmt::Result {
    let name = direction.direction.name().to_uppercase();
    if matches!(direction.direction, Direction::Metadata | Direction::Sync) {
        let iops = units::count(direction.work.operations_per_second(direction.runtime));
        let operations = direction.work.operations;
        return writeln!(out, "{name:>8}: iops={iops}, total={operations}, run={}msec", direction.runtime.as_millis());
    }
    let bandwidth = units::bandwidth(direction.work.bytes_per_second(direction.runtime));
    let (binary, decimal) =
        (units::binary_bytes(direction.work.bytes as f64), units::decimal_bytes(direction.work.bytes as f64));
    writeln!(out, "{name:>8}: bw={bandwidth}, io={binary} ({decimal}), run={}msec", direction.runtime.as_millis())
}

fn write_latency(out: &mut String, latency_ns: &Histogram) -> fmt::Result {
    let unit = LatencyUnit::for_range(latency_ns.min(), latency_ns.max());
    let scaled = |ns: f64| ns / unit.ns() as f64;
    writeln!(
        out,
        "     lat ({}): min={}, max={}, avg={:.2}, stdev={:.2}",
        unit.name(),
        units::count(scaled(latency_ns.min() as f64)),
        units::count(scaled(latency_ns.max() as f64)),
        scaled(latency_ns.mean()),
        scaled(latency_ns.stdev())
    )
}

fn write_percentiles(out: &mut String, latency_ns: &Histogram) -> fmt::Result {
    let values: Vec<(f64, u64)> = percentiles::of(latency_ns).collect();
    let (least, greatest) = (values[0].1, values[values.len() - 1].1);
    let unit = LatencyUnit::for_range(least, greatest);
    writeln!(out, "    lat percentiles ({}):", unit.name())?;
    for line in values.chunks(PERCENTILES_PER_LINE) {
        let cells: Vec<String> = line
            .iter()
            .map(|(percent, ns)| format!(" {percent:5.2}th=[{:5}]", (ns + unit.ns() / 2) / unit.ns()))
            .collect();
        let is_last = line.as_ptr_range().end == values.as_ptr_range().end;
        writeln!(out, "     |{}{}", cells.join(","), if is_last { "" } else { "," })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::examples;

    #[test]
    fn job_reads_as_fio_writes_it() {
        let expected = "\
small: (g=0): rw=randread, bs=4096B, ioengine=wharf, iodepth=64, connections=4, target=nfs://[::1]/export/file
small: (groupid=0, jobs=1): err= 0
  read: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(391MiB/10000msec)
     lat (usec): min=51, max=150, avg=100.50, stdev=28.87
    lat percentiles (usec):
     |  1.00th=[   51],  5.00th=[   55], 10.00th=[   60], 20.00th=[   70],
     | 30.00th=[   80], 40.00th=[   90], 50.00th=[  100], 60.00th=[  110],
     | 70.00th=[  120], 80.00th=[  130], 90.00th=[  140], 95.00th=[  145],
     | 99.00th=[  149], 99.50th=[  150], 99.90th=[  150], 99.95th=[  150],
     | 99.99th=[  150]
     issued: total=100000, short=0, errors=0
  cpu          : usr=5.00%, sys=12.50%, ctx=4321, majf=0, minf=57, 17.50us/op

Run status group 0 (all jobs):
    READ: bw=39.1MiB/s (41.0MB/s), io=391MiB (410MB), run=10000msec
";
        assert_eq!(examples::run().to_text(), expected);
    }

    #[test]
    fn interrupted_job_is_marked_in_text_and_json_and_no_other() {
        let mut run = examples::run();
        assert!(!run.to_text().contains("interrupted") && !run.to_json().unwrap().contains("interrupted"));
        run.jobs[0].is_interrupted = true;
        assert!(run.to_text().contains("small: (groupid=0, jobs=1): err= 0, interrupted\n"));
        assert!(run.to_json().unwrap().contains("\"interrupted\": true"));
    }

    #[test]
    fn direction_without_a_single_reply_is_shown_without_latencies() {
        let mut run = examples::run();
        run.jobs[0].directions = vec![DirectionSummary {
            errors: 3,
            runtime: Duration::ZERO,
            ..examples::direction(Direction::Write, std::iter::empty())
        }];
        let text = run.to_text();
        assert!(text.contains("err= 3\n  write: IOPS=0, BW=0B/s (0B/s)(0B/0msec)\n     issued: total=0"), "{text}");
        assert!(!text.contains("lat"), "{text}");
    }

    #[test]
    fn unstable_writes_are_shown_without_and_with_their_commit() {
        let mut run = examples::run();
        run.jobs[0].directions = vec![DirectionSummary {
            runtime_with_commit: Some(Duration::from_secs(20)),
            ..examples::direction(Direction::Write, (0..1000).map(|_| 10))
        }];
        let text = run.to_text();
        assert!(text.contains("BW=400KiB/s (410kB/s)(4000KiB/10000msec)"), "{text}");
        assert!(text.contains("     with COMMIT: BW=200KiB/s (205kB/s)(4000KiB/20000msec)"), "{text}");
    }

    #[test]
    fn operations_that_move_no_bytes_have_no_bandwidth() {
        let mut run = examples::run();
        run.jobs[0].directions = [Direction::Sync, Direction::Metadata]
            .map(|direction| examples::direction(direction, (0..1000).map(|_| 10)))
            .to_vec();
        let text = run.to_text();
        for line in ["  sync: IOPS=100 (10000msec)", "    SYNC: iops=100, total=1000, run=10000msec"] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
        assert!(!text.contains("BW=") && !text.contains("bw="), "{text}");
    }

    #[test]
    fn processor_time_of_the_server_has_its_own_line() {
        let mut run = examples::run();
        run.jobs[0].server_cpu =
            Some(CpuUse { total: Duration::from_millis(231), user: Duration::from_millis(230), ..CpuUse::default() });
        assert!(run.to_text().contains("  server cpu   : usr=2.30%, sys=0.00%, ctx=0, majf=0, minf=0, 2.31us/op\n"));
    }
}
