//! The field names of fio's JSON, so that what reads fio's files reads these.
//!
//! What fio has and Wharf does not measure is left out. Added to fio's fields are `wharf version` in the place of `fio
//! version`, `errors` of each direction, `periods` of each job, `bw_bytes_with_commit` of unstable writes,
//! `cpu_ns_per_op`, `server_cpu`, `interrupted` and `replay`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use measure::record::{Direction, DirectionSummary, JobSummary, ProcedureSummary, Rates, ReplaySummary};
use measure::{CpuUse, Histogram, Period, Spread};
use serde::{Serialize, Serializer};

use crate::{Run, percentiles};

impl Run {
    /// Shows the run as a JSON object over several lines.
    ///
    /// # Errors
    /// None that a run could cause; they are those of [`serde_json`].
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        crate::to_json(&RunFields::from(self))
    }
}

#[derive(Serialize)]
struct RunFields<'a> {
    #[serde(rename = "wharf version")]
    version: &'a str,
    timestamp: u64,
    timestamp_ms: u64,
    jobs: Vec<JobFields<'a>>,
}

#[derive(Serialize)]
struct JobFields<'a> {
    jobname: &'a str,
    groupid: usize,
    error: u64,
    /// In seconds, of which one that has begun counts as whole.
    elapsed: u64,
    #[serde(rename = "job options")]
    options: BTreeMap<&'static str, &'a str>,
    #[serde(flatten)]
    directions: BTreeMap<&'static str, DirectionFields>,
    job_runtime: u64,
    /// Only where it is true.
    #[serde(skip_serializing_if = "is_false")]
    interrupted: bool,
    /// Rates and latencies over time.
    periods: &'a [Period],
    #[serde(flatten)]
    cpu: CpuFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_cpu: Option<CpuFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayFields<'a>>,
}

/// What the replay of a capture found.
#[derive(Serialize)]
struct ReplayFields<'a> {
    /// In milliseconds, as `job_runtime` is.
    captured: u64,
    late_ns: LatencyFields,
    procedures: BTreeMap<&'static str, ProcedureFields>,
    /// What ended otherwise than in the capture, and how often.
    otherwise: BTreeMap<&'a str, u64>,
    remarks: &'a [String],
}

#[derive(Serialize)]
struct ProcedureFields {
    total_ios: u64,
    otherwise: u64,
    errors: u64,
    lat_ns: LatencyFields,
}

/// The latencies of syncs have percentiles; fio has nothing else of them.
#[derive(Serialize)]
#[serde(untagged)]
enum DirectionFields {
    Sync { total_ios: u64, errors: u64, lat_ns: LatencyFields },
    Other(Box<TransferFields>),
}

#[derive(Serialize)]
struct TransferFields {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bw_bytes_with_commit: Option<u64>,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    errors: u64,
    slat_ns: LatencyFields,
    clat_ns: LatencyFields,
    lat_ns: LatencyFields,
    /// In KiB per second, as `bw` is.
    bw_min: u64,
    bw_max: u64,
    /// The share of all jobs' bandwidth, in percent: jobs run one after the other.
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

#[derive(Serialize)]
struct LatencyFields {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<PercentileFields>,
}

/// An object whose keys are the percentiles with six decimals, as fio's are, in their order as numbers.
struct PercentileFields(Vec<(f64, u64)>);

impl Serialize for PercentileFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(percent, ns)| (format!("{percent:.6}"), ns)))
    }
}

#[derive(Serialize)]
struct CpuFields {
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ns_per_op: Option<f64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl<'a> From<&'a Run> for RunFields<'a> {
    fn from(run: &'a Run) -> Self {
        let since = since_epoch(run.at);
        RunFields {
            version: &run.version,
            timestamp: since.as_secs(),
            timestamp_ms: milliseconds(since),
            jobs: run.jobs.iter().enumerate().map(|(group, job)| JobFields::new(job, group)).collect(),
        }
    }
}

impl<'a> JobFields<'a> {
    fn new(job: &'a JobSummary, groupid: usize) -> Self {
        let fields = |direction: &DirectionSummary| (direction.direction.name(), DirectionFields::from(direction));
        JobFields {
            jobname: &job.name,
            groupid,
            error: job.errors(),
            elapsed: job.elapsed.as_millis().div_ceil(1000) as u64,
            options: job.options.iter().map(|(name, value)| (*name, value.as_str())).collect(),
            directions: job.directions.iter().map(fields).collect(),
            job_runtime: milliseconds(job.runtime),
            interrupted: job.is_interrupted,
            periods: &job.periods,
            cpu: CpuFields::new(&job.client_cpu, job),
            server_cpu: job.server_cpu.as_ref().map(|cpu| CpuFields::new(cpu, job)),
            replay: job.replay.as_ref().map(ReplayFields::from),
        }
    }
}

impl<'a> From<&'a ReplaySummary> for ReplayFields<'a> {
    fn from(found: &'a ReplaySummary) -> Self {
        ReplayFields {
            captured: milliseconds(found.captured),
            late_ns: LatencyFields::with_percentiles(&found.late_ns),
            procedures: found.procedures.iter().map(|found| (found.name, ProcedureFields::from(found))).collect(),
            otherwise: found.otherwise.iter().map(|(what, count)| (what.as_str(), *count)).collect(),
            remarks: &found.remarks,
        }
    }
}

impl From<&ProcedureSummary> for ProcedureFields {
    fn from(found: &ProcedureSummary) -> Self {
        ProcedureFields {
            total_ios: found.calls,
            otherwise: found.otherwise,
            errors: found.errors,
            lat_ns: LatencyFields::with_percentiles(&found.latency_ns),
        }
    }
}

impl From<&DirectionSummary> for DirectionFields {
    fn from(direction: &DirectionSummary) -> Self {
        match direction.direction {
            Direction::Sync => DirectionFields::Sync {
                total_ios: direction.work.operations,
                errors: direction.errors,
                lat_ns: LatencyFields::with_percentiles(&direction.latency_ns),
            },
            _ => DirectionFields::Other(Box::new(TransferFields::from(direction))),
        }
    }
}

impl From<&DirectionSummary> for TransferFields {
    fn from(direction: &DirectionSummary) -> Self {
        let bytes_per_second = direction.work.bytes_per_second(direction.runtime) as u64;
        let Rates { bytes_per_second: bytes, operations_per_second: operations } = &direction.rates;
        TransferFields {
            io_bytes: direction.work.bytes,
            io_kbytes: direction.work.bytes / 1024,
            bw_bytes: bytes_per_second,
            bw: bytes_per_second / 1024,
            bw_bytes_with_commit: direction
                .runtime_with_commit
                .map(|time| direction.work.bytes_per_second(time) as u64),
            iops: direction.work.operations_per_second(direction.runtime),
            runtime: milliseconds(direction.runtime),
            total_ios: direction.work.operations,
            short_ios: direction.short,
            drop_ios: 0,
            errors: direction.errors,
            slat_ns: LatencyFields::from(&direction.submission_ns),
            clat_ns: LatencyFields::with_percentiles(&direction.completion_ns),
            lat_ns: LatencyFields::from(direction.latency_ns.spread()),
            bw_min: bytes.min() / 1024,
            bw_max: bytes.max() / 1024,
            bw_agg: 100.0,
            bw_mean: bytes.mean() / 1024.0,
            bw_dev: bytes.stdev() / 1024.0,
            bw_samples: bytes.count(),
            iops_min: operations.min(),
            iops_max: operations.max(),
            iops_mean: operations.mean(),
            iops_stddev: operations.stdev(),
            iops_samples: operations.count(),
        }
    }
}

impl From<&Spread> for LatencyFields {
    fn from(ns: &Spread) -> Self {
        LatencyFields {
            min: ns.min(),
            max: ns.max(),
            mean: ns.mean(),
            stddev: ns.stdev(),
            count: ns.count(),
            percentile: None,
        }
    }
}

impl LatencyFields {
    fn with_percentiles(ns: &Histogram) -> Self {
        let percentile = Some(PercentileFields(percentiles::of(ns).collect()));
        LatencyFields { percentile, ..LatencyFields::from(ns.spread()) }
    }
}

impl CpuFields {
    fn new(cpu: &CpuUse, job: &JobSummary) -> Self {
        CpuFields {
            usr_cpu: cpu.user_percent(job.runtime),
            sys_cpu: cpu.system_percent(job.runtime),
            ctx: cpu.context_switches,
            majf: cpu.major_faults,
            minf: cpu.minor_faults,
            cpu_ns_per_op: cpu.ns_per_operation(job.work_in_runtime.operations),
        }
    }
}

fn since_epoch(at: SystemTime) -> Duration {
    at.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::job::examples;

    fn parsed(run: &Run) -> Value {
        serde_json::from_str(&run.to_json().unwrap()).unwrap()
    }

    #[test]
    fn figures_are_where_a_reader_of_fios_json_looks_for_them() {
        let json = parsed(&examples::run());
        let job = &json["jobs"][0];
        let read = &job["read"];
        assert_eq!((&json["timestamp"], &json["timestamp_ms"]), (&1_700_000_000.into(), &1_700_000_000_123_u64.into()));
        assert_eq!((&job["jobname"], &job["error"], &job["job_runtime"]), (&"small".into(), &0.into(), &10_000.into()));
        assert_eq!((&job["job options"]["bs"], &job["job options"]["iodepth"]), (&"4096".into(), &"64".into()));
        assert_eq!((&read["io_bytes"], &read["io_kbytes"]), (&409_600_000.into(), &400_000.into()));
        assert_eq!((&read["bw_bytes"], &read["bw"]), (&40_960_000.into(), &40_000.into()));
        assert_eq!(
            (&read["iops"], &read["runtime"], &read["total_ios"]),
            (&10_000.0.into(), &10_000.into(), &100_000.into())
        );
        assert_eq!((&read["lat_ns"]["min"], &read["lat_ns"]["N"]), (&51_000.into(), &100_000.into()));
        assert_eq!(read["lat_ns"]["mean"], 100_500.0);
        let median = read["clat_ns"]["percentile"]["50.000000"].as_f64().unwrap();
        assert!((median - 99_000.0).abs() < 400.0, "{median}");
        assert_eq!((&read["slat_ns"]["mean"], &read["clat_ns"]["min"]), (&1000.0.into(), &50_000.into()));
        assert_eq!((&job["elapsed"], &read["drop_ios"], &read["bw_agg"]), (&11.into(), &0.into(), &100.0.into()));
        assert_eq!((&read["bw_min"], &read["bw_max"]), (&32_000.into(), &48_000.into()));
        assert_eq!((&read["bw_mean"], &read["bw_samples"]), (&40_000.0.into(), &2.into()));
        assert_eq!((&read["iops_min"], &read["iops_max"]), (&8_000.into(), &12_000.into()));
        assert_eq!((&read["iops_mean"], &read["iops_samples"]), (&10_000.0.into(), &2.into()));
        let stddev = read["iops_stddev"].as_f64().unwrap();
        assert!((stddev - 2828.43).abs() < 0.01 && (read["bw_dev"].as_f64().unwrap() - stddev * 4.0).abs() < 0.1);
        assert_eq!(read["clat_ns"]["percentile"].as_object().unwrap().len(), 17);
        assert_eq!((&job["usr_cpu"], &job["ctx"], &job["minf"]), (&5.0.into(), &4321.into(), &57.into()));
        assert!(job.get("write").is_none() && job.get("server_cpu").is_none());
    }

    #[test]
    fn percentiles_come_in_their_order() {
        let text = examples::run().to_json().unwrap();
        let places: Vec<usize> =
            percentiles::PERCENTILES.iter().map(|percent| text.find(&format!("\"{percent:.6}\"")).unwrap()).collect();
        assert!(places.is_sorted());
    }

    #[test]
    fn every_direction_and_the_server_have_their_place() {
        let mut run = examples::run();
        let job = &mut run.jobs[0];
        job.directions.push(DirectionSummary {
            errors: 2,
            runtime_with_commit: Some(Duration::from_secs(20)),
            ..examples::direction(Direction::Write, 1..=10)
        });
        job.server_cpu = Some(CpuUse { user: Duration::from_millis(100), ..CpuUse::default() });
        let json = parsed(&run);
        let job = &json["jobs"][0];
        assert_eq!(
            (&job["write"]["total_ios"], &job["write"]["errors"], &job["error"]),
            (&10.into(), &2.into(), &2.into())
        );
        assert_eq!((&job["write"]["bw_bytes"], &job["write"]["bw_bytes_with_commit"]), (&4096.into(), &2048.into()));
        assert!(job["read"].get("bw_bytes_with_commit").is_none());
        assert_eq!(job["server_cpu"]["usr_cpu"], 1.0);
    }

    #[test]
    fn name_with_quotes_and_control_characters_comes_back() {
        let mut run = examples::run();
        run.jobs[0].name = "a \"b\"\n\u{1}".to_owned();
        assert_eq!(parsed(&run)["jobs"][0]["jobname"], "a \"b\"\n\u{1}");
    }
}
