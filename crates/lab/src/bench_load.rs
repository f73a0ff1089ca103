//! A load of `wharf bench` as a pass of an experiment.

use std::fs;

use client::{Options, Url};
use measure::Histogram;
use measure::record::{Better, Direction, FigureKind, JobSummary};

use crate::bench::{self, Existing, Job};
use crate::engine::{Figures, PassError};
use crate::processors::{self, Processor};

pub(crate) const OPERATIONS: &str = "operations";
pub(crate) const BANDWIDTH: &str = "bandwidth";
pub(crate) const P50: &str = "p50";
pub(crate) const P99: &str = "p99";
pub(crate) const SERVER_COST: &str = "server cost";
pub(crate) const SERVER_COST_OF_BYTES: &str = "server cost of bytes";
pub(crate) const MEMORY: &str = "server memory";

/// The figures that [`measure`] finds.
pub(crate) fn figure_kinds() -> Vec<FigureKind> {
    use Better::{Higher, Lower};
    let kind = |(name, unit, better): (&str, &str, Better)| FigureKind::new(name, unit, better);
    [
        (OPERATIONS, "1/s", Higher),
        (BANDWIDTH, "MB/s", Higher),
        (P50, "µs", Lower),
        ("mean latency", "µs", Lower),
        (P99, "µs", Lower),
        (SERVER_COST, "µs/operation", Lower),
        (SERVER_COST_OF_BYTES, "s/GB", Lower),
        (MEMORY, "MiB", Lower),
        ("client cost", "µs/operation", Lower),
    ]
    .map(kind)
    .to_vec()
}

/// A job as experiments do it: on files that they made, and without a privileged port, so that thousands of mounts do
/// not use all of them up.
pub(crate) fn job(url: Url) -> Job {
    let options = Options { use_privileged_port: false, ..Options::default() };
    Job { options, existing: Existing::Overwrite, ..Job::new(url) }
}

/// Does a job on the last processor.
pub(crate) fn measure(job: &Job) -> Result<Figures, PassError> {
    measure_on(Processor::Last, job)
}

/// Does a job on a processor. Operations of all directions count together, but for COMMITs, whose time counts in the
/// bandwidth of writes.
pub(crate) fn measure_on(processor: Processor, job: &Job) -> Result<Figures, PassError> {
    if let Some(pid) = job.server_pid {
        // The most that is resident counts from now on (proc(5)); where that is refused, from the start of the server.
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
    let outcome = processors::on(processor, || bench::run(job))?;
    if let Some(error) = outcome.first_error {
        return Err(error.into());
    }
    let mut figures = figures(&outcome.summary)?;
    if let Some(memory) = outcome.server_memory {
        figures.set(MEMORY, memory.peak_resident_bytes as f64 / f64::from(1 << 20));
    }
    Ok(figures)
}

/// The figures of a job.
pub(crate) fn figures(summary: &JobSummary) -> Result<Figures, PassError> {
    let (mut latency_ns, mut figures) = (Histogram::new(), Figures::default());
    let (mut operations, mut bytes_per_second) = (0.0, 0.0);
    for found in summary.directions.iter().filter(|found| found.direction != Direction::Sync) {
        latency_ns.merge(&found.latency_ns);
        operations += found.work.operations_per_second(found.runtime);
        bytes_per_second += found.work.bytes_per_second(found.runtime_with_commit.unwrap_or(found.runtime));
    }
    if latency_ns.is_empty() {
        return Err(NothingDone.into());
    }
    figures.set(OPERATIONS, operations);
    figures.set(P50, latency_ns.quantile(0.5) as f64 / 1e3);
    figures.set("mean latency", latency_ns.mean() / 1e3);
    figures.set(P99, latency_ns.quantile(0.99) as f64 / 1e3);
    let work = summary.work_in_runtime;
    if bytes_per_second > 0.0 {
        figures.set(BANDWIDTH, bytes_per_second / 1e6);
    }
    if let Some(cost) = summary.client_cpu.ns_per_operation(work.operations) {
        figures.set("client cost", cost / 1e3);
    }
    if let Some(cpu) = summary.server_cpu {
        if let Some(cost) = cpu.ns_per_operation(work.operations) {
            figures.set(SERVER_COST, cost / 1e3);
        }
        if work.bytes > 0 {
            figures.set(SERVER_COST_OF_BYTES, cpu.total.as_secs_f64() / (work.bytes as f64 / 1e9));
        }
    }
    figures.set_latency(&latency_ns);
    figures.periods.clone_from(&summary.periods);
    Ok(figures)
}

/// The time was over before anything was done.
#[derive(Debug, thiserror::Error)]
#[error("no operation ended in time")]
struct NothingDone;
