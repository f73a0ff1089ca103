//! The two programs that make loads, and what they find.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::machine;
use super::options::Options;
use super::servers::{Server, wharf_program};
use super::site::{FILE_BYTES, FILE_NAME, Site};
use super::workloads::{Others, Workload};
use crate::{Failure, Outcome, command};

/// What one run of a load found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub operations_per_second: f64,
    pub megabytes_per_second: f64,
    pub median_us: f64,
    pub p99_us: f64,
    pub server_us_per_operation: f64,
    pub server_resident_mib: f64,
    pub server_peak_mib: f64,
    /// What others took of the processors meanwhile: 1 is one whole processor.
    pub foreign_processors: f64,
}

impl Sample {
    pub fn to_json(self) -> Value {
        json!({
            "ops_per_s": self.operations_per_second,
            "mb_per_s": self.megabytes_per_second,
            "p50_us": self.median_us,
            "p99_us": self.p99_us,
            "server_us_per_op": self.server_us_per_operation,
            "server_rss_mib": self.server_resident_mib,
            "server_peak_mib": self.server_peak_mib,
            "foreign_processors": self.foreign_processors,
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} ops/s, {:.0} MB/s, p99 {:.0} µs, server {:.2} µs/op and {:.0} MiB, foreign {:.2}",
            self.operations_per_second,
            self.megabytes_per_second,
            self.p99_us,
            self.server_us_per_operation,
            self.server_resident_mib,
            self.foreign_processors
        )
    }
}

/// What makes a load.
pub struct Generator {
    program: String,
    kind: Kind,
    seconds: u32,
    wait: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    WharfBench,
    Nfsload,
}

impl Generator {
    /// `wharf bench`, and the other one where it is named.
    pub fn all(root: &Path, options: &Options) -> Vec<Generator> {
        let Options { seconds, wait, .. } = *options;
        let own = Generator { program: wharf_program(root), kind: Kind::WharfBench, seconds, wait };
        let other = options.nfsload.as_ref().map(|path| {
            let program = path.to_string_lossy().into_owned();
            Generator { program, kind: Kind::Nfsload, seconds, wait }
        });
        std::iter::once(own).chain(other).collect()
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::WharfBench => "wharf bench",
            Kind::Nfsload => "nfsload",
        }
    }

    /// Whether it can make this load.
    pub fn can(&self, workload: &Workload) -> bool {
        self.kind == Kind::WharfBench || workload.others == Others::ServerAndGenerator
    }

    /// Puts the load on a server.
    pub fn run(&self, site: &Site, server: &Server, workload: &Workload) -> Outcome<Sample> {
        let target = Target { site, server, workload, seconds: self.seconds };
        let command = match self.kind {
            Kind::WharfBench => target.wharf_bench(&self.program),
            Kind::Nfsload => target.nfsload(&self.program),
        };
        machine::wait_for_quiet(server.pid(), self.wait);
        let began = Instant::now();
        let busy = machine::busy_time(server.pid());
        let output = command::output(command)?;
        let foreign = (machine::busy_time(server.pid()) - busy).foreign_s / began.elapsed().as_secs_f64();
        // Ticks are rounded, so that the difference of two sums may be a little below nothing.
        let foreign = foreign.max(0.0);
        let text = String::from_utf8_lossy(&output);
        let sample = match self.kind {
            Kind::WharfBench => parse_fio(&serde_json::from_str(&text)?),
            Kind::Nfsload => parse_nfsload(&text),
        };
        let sample = sample.ok_or_else(|| Failure::Peer(format!("{} said: {text}", self.program)))?;
        let (resident, peak) = machine::memory_mib(server.pid());
        Ok(Sample { server_resident_mib: resident, server_peak_mib: peak, foreign_processors: foreign, ..sample })
    }
}

struct Target<'a> {
    site: &'a Site,
    server: &'a Server,
    workload: &'a Workload,
    seconds: u32,
}

impl Target<'_> {
    fn wharf_bench(&self, program: &str) -> Command {
        let Server { port, mount_port, .. } = self.server;
        let workload = self.workload;
        let (export, version) = (self.site.export.display(), workload.version);
        let file = if workload.makes_its_file() { "" } else { FILE_NAME };
        let url = format!("nfs://127.0.0.1{export}/{file}?version={version}&nfsport={port}&mountport={mount_port}");
        let mut command = self.site.load_command(program);
        command.arg("bench").arg(url).args(["--rw", workload.operation]);
        for (name, value) in [
            ("--bs", workload.block_bytes.to_string()),
            ("--connections", workload.connections.to_string()),
            ("--iodepth", workload.depth.to_string()),
            ("--size", FILE_BYTES.to_string()),
            ("--runtime", format!("{}s", self.seconds)),
            ("--ramp-time", "500ms".to_owned()),
            ("--server-pid", self.server.pid().to_string()),
        ] {
            command.args([name, &value]);
        }
        command.arg("--json");
        command
    }

    fn nfsload(&self, program: &str) -> Command {
        let workload = self.workload;
        let mut command = self.site.load_command(program);
        command.args(["-v", &workload.version.replace('.', ""), "-L", "x"]);
        command.args(["-o", if workload.is_random() { "readrand" } else { "readseq" }]);
        command.arg("-e").arg(&self.site.export);
        if workload.version.starts_with('4') {
            // Without MOUNT the path is walked from the server's root.
            command.arg("-D").arg(&self.site.export);
        }
        for (name, value) in [
            ("-p", u32::from(self.server.port)),
            ("-m", self.server.mount_port.into()),
            ("-P", self.server.pid()),
            ("-s", workload.block_bytes),
            ("-c", workload.connections),
            ("-d", workload.depth),
            ("-t", self.seconds),
        ] {
            command.args([name, &value.to_string()]);
        }
        command
    }
}

/// Reads JSON with fio's field names.
fn parse_fio(json: &Value) -> Option<Sample> {
    let job = &json["jobs"][0];
    let read = ["read", "metadata"].map(|direction| &job[direction]).into_iter().find(|found| found.is_object())?;
    let percentile = |name: &str| Some(read["clat_ns"]["percentile"][name].as_f64()? / 1e3);
    Some(Sample {
        operations_per_second: read["iops"].as_f64()?,
        megabytes_per_second: read["bw_bytes"].as_f64()? / 1e6,
        median_us: percentile("50.000000")?,
        p99_us: percentile("99.000000")?,
        server_us_per_operation: job["server_cpu"]["cpu_ns_per_op"].as_f64()? / 1e3,
        server_resident_mib: 0.0,
        server_peak_mib: 0.0,
        foreign_processors: 0.0,
    })
}

/// Reads a line of `name=value` fields.
fn parse_nfsload(text: &str) -> Option<Sample> {
    let fields = || text.split(['\t', '\n']).filter_map(|field| field.split_once('='));
    let number = |name: &str| fields().find(|field| field.0 == name)?.1.parse().ok();
    (number("err") == Some(0.0)).then_some(())?;
    Some(Sample {
        operations_per_second: number("ops/s")?,
        megabytes_per_second: number("MB/s")?,
        median_us: number("p50us")?,
        p99_us: number("p99us")?,
        server_us_per_operation: number("srv_us/op")?,
        server_resident_mib: 0.0,
        server_peak_mib: 0.0,
        foreign_processors: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_both_generators_mean_the_same() {
        let fio = json!({"jobs": [{
            "read": {"iops": 1000.0, "bw_bytes": 4_096_000,
                "clat_ns": {"percentile": {"50.000000": 20_000, "99.000000": 90_000}}},
            "server_cpu": {"cpu_ns_per_op": 2500.0},
        }]});
        let line = "x\tver=3\tops/s=1000\tMB/s=4.096\tp50us=20.0\tp99us=90.0\tsrv_us/op=2.50\terr=0\tfirst=0\n";
        assert_eq!(parse_fio(&fio), parse_nfsload(line));
        assert!(parse_nfsload(line).is_some());
    }

    #[test]
    fn load_with_errors_is_no_sample() {
        assert_eq!(parse_nfsload("x\tops/s=1000\tMB/s=4\tp50us=2\tp99us=9\tsrv_us/op=2\terr=3\n"), None);
        assert_eq!(parse_fio(&json!({"jobs": []})), None);
    }
}
