//! The two programs that make loads, and what they say that they found.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::loads::{Contents, Load, Operation};
use super::machine;
use super::options::Options;
use super::sample::Sample;
use super::servers::Server;
use super::site::{
    EMPTY_DIRECTORY, LARGE_DIRECTORY, NAMES, OWN_FILE_BYTES, READ_FILE, READ_FILE_BYTES, Site, WRITE_FILE_BYTES,
};
use crate::{Failure, Outcome, command};

/// What makes a load.
pub struct Generator {
    program: PathBuf,
    kind: Kind,
    seconds: f64,
    wait: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    WharfBench,
    Nfsload,
}

impl Generator {
    /// The one in C where it is named, and `wharf bench` unless it is not wanted.
    pub fn all(root: &Path, options: &Options) -> Vec<Generator> {
        let generator = |program, kind| Generator { program, kind, seconds: options.seconds, wait: options.wait };
        let other = options.nfsload.iter().map(|program| generator(program.clone(), Kind::Nfsload));
        let own = (!options.only_nfsload).then(|| generator(command::wharf_program(root), Kind::WharfBench));
        other.chain(own).collect()
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::WharfBench => "wharf bench",
            Kind::Nfsload => "nfsload",
        }
    }

    /// Whether it is not ours.
    pub fn is_independent(&self) -> bool {
        self.kind == Kind::Nfsload
    }

    /// Whether it can make this load.
    pub fn can(&self, load: &Load) -> bool {
        self.kind == Kind::WharfBench || nfsload_operation(load).is_some()
    }

    /// Puts the load on a server.
    pub fn run(&self, site: &Site, server: &Server, load: &Load) -> Outcome<Sample> {
        let target = Target { site, server, load, seconds: self.seconds };
        let command = match self.kind {
            Kind::WharfBench => target.wharf_bench(&self.program),
            Kind::Nfsload => target.nfsload(&self.program),
        };
        machine::wait_for_quiet(server.pid(), self.wait);
        machine::forget_peak(server.pid());
        let began = Instant::now();
        let busy = machine::busy_time(server.pid());
        let output = command::output(command)?;
        let foreign = (machine::busy_time(server.pid()) - busy).foreign_s / began.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&output);
        let sample = match self.kind {
            Kind::WharfBench => parse_fio(&serde_json::from_str(&text)?),
            Kind::Nfsload => parse_nfsload(&text),
        };
        let mut sample = sample.ok_or_else(|| Failure::Peer(format!("{} said: {text}", self.program.display())))?;
        if load.operation == Operation::ReadDirPlus && self.kind == Kind::WharfBench {
            // Its operation is a whole listing.
            sample.entries_per_second = sample.operations_per_second * f64::from(NAMES);
        }
        let (server_resident_mib, server_peak_mib) = machine::memory_mib(server.pid());
        // Ticks are rounded, so that the difference of two sums may be a little below nothing.
        Ok(Sample { server_resident_mib, server_peak_mib, foreign_processors: foreign.max(0.0), ..sample })
    }
}

/// What `wharf bench` calls it.
fn bench_workload(operation: Operation) -> &'static str {
    match operation {
        Operation::ReadRandom => "randread",
        Operation::ReadSequential | Operation::ReadOwnFile => "read",
        Operation::WriteUnstable | Operation::WriteFileSync => "write",
        Operation::GetAttr => "getattr",
        Operation::Access => "access",
        Operation::Lookup => "lookup",
        Operation::CreateRemove => "createremove",
        Operation::ReadDirPlus => "readdirplus",
        Operation::OpenClose => "open",
        Operation::LockUnlock => "lock",
        Operation::ReadPlus(Contents::Data) => "readplus-data",
        Operation::ReadPlus(Contents::Hole) => "readplus-hole",
        Operation::ReadPlus(Contents::Mixed) => "readplus-mixed",
    }
}

/// What `nfsload` calls it, where it can do it.
fn nfsload_operation(load: &Load) -> Option<&'static str> {
    if load.version == "4.2" {
        return None;
    }
    Some(match load.operation {
        Operation::GetAttr => "getattr",
        Operation::Access => "access",
        Operation::Lookup => "lookup",
        Operation::ReadSequential => "readseq",
        Operation::ReadRandom => "readrand",
        Operation::ReadOwnFile => "mixread",
        Operation::WriteUnstable => "write",
        Operation::WriteFileSync => "writesync",
        Operation::CreateRemove if load.version == "3" => "createremove",
        Operation::ReadDirPlus if load.version == "3" => "readdirplus",
        _ => return None,
    })
}

struct Target<'a> {
    site: &'a Site,
    server: &'a Server,
    load: &'a Load,
    seconds: f64,
}

impl Target<'_> {
    fn wharf_bench(&self, program: &Path) -> Command {
        let (Server { port, mount_port, .. }, load) = (self.server, self.load);
        let (file, file_bytes) = self.bench_file();
        let (export, version) = (self.site.export.display(), load.version);
        let url = format!("nfs://127.0.0.1{export}/{file}?version={version}&nfsport={port}&mountport={mount_port}");
        let mut command = self.site.load_command(program);
        command.arg("bench").arg(url).args(["--rw", bench_workload(load.operation)]);
        for (name, value) in [
            ("--bs", load.block_bytes.max(SMALLEST_BLOCK).to_string()),
            ("--connections", load.connections.to_string()),
            ("--iodepth", load.depth.to_string()),
            ("--size", file_bytes.to_string()),
            ("--runtime", format!("{}ms", (self.seconds * 1e3).round())),
            ("--ramp-time", "250ms".to_owned()),
            ("--server-pid", self.server.pid().to_string()),
        ] {
            command.args([name, &value]);
        }
        if load.operation == Operation::WriteFileSync {
            command.arg("--sync");
        }
        if load.operation == Operation::ReadOwnFile {
            command.arg("--own-files");
        }
        command.arg("--json");
        command
    }

    /// The file, or nothing for a directory in which the load makes one, and how
    /// much of it is used.
    fn bench_file(&self) -> (&'static str, u64) {
        let one_block = self.load.block_bytes.max(SMALLEST_BLOCK).into();
        match self.load.operation {
            Operation::ReadPlus(Contents::Hole | Contents::Mixed) => ("", READ_FILE_BYTES),
            Operation::GetAttr | Operation::Access | Operation::Lookup => ("f000", one_block),
            Operation::CreateRemove => (EMPTY_DIRECTORY, one_block),
            Operation::ReadDirPlus => (LARGE_DIRECTORY, one_block),
            Operation::WriteUnstable | Operation::WriteFileSync => ("w0", WRITE_FILE_BYTES),
            // They are made and filled by the first load that uses them, through the server that it is put on.
            Operation::ReadOwnFile => ("own", OWN_FILE_BYTES),
            _ => (READ_FILE, READ_FILE_BYTES),
        }
    }

    fn nfsload(&self, program: &Path) -> Command {
        let load = self.load;
        let mut command = self.site.load_command(program);
        command.args(["-v", &load.version.replace('.', ""), "-L", "x"]);
        command.args(["-o", nfsload_operation(load).unwrap_or_default()]);
        command.arg("-e").arg(&self.site.export);
        if load.version.starts_with('4') {
            // Without MOUNT the path is walked from the server's root.
            command.arg("-D").arg(&self.site.export);
        }
        if matches!(load.operation, Operation::ReadSequential | Operation::ReadRandom) {
            command.args(["-S", &READ_FILE_BYTES.to_string()]);
        }
        for (name, value) in [
            ("-p", u32::from(self.server.port)),
            ("-m", self.server.mount_port.into()),
            ("-P", self.server.pid()),
            ("-s", load.block_bytes.max(SMALLEST_BLOCK)),
            ("-c", load.connections),
            ("-d", load.depth),
        ] {
            command.args([name, &value.to_string()]);
        }
        command.args(["-t", &self.seconds.to_string()]);
        command
    }
}

/// Both generators want a size even for what has none.
const SMALLEST_BLOCK: u32 = 8;

/// Reads JSON with fio's field names.
fn parse_fio(json: &Value) -> Option<Sample> {
    let job = &json["jobs"][0];
    let directions = ["read", "write", "metadata"].map(|direction| &job[direction]);
    let found = directions.into_iter().find(|found| found["iops"].as_f64().is_some_and(|rate| rate > 0.0))?;
    let percentile = |name: &str| Some(found["clat_ns"]["percentile"][name].as_f64()? / 1e3);
    Some(Sample {
        operations_per_second: found["iops"].as_f64()?,
        megabytes_per_second: found["bw_bytes"].as_f64()? / 1e6,
        median_us: percentile("50.000000")?,
        p99_us: percentile("99.000000")?,
        server_us_per_operation: job["server_cpu"]["cpu_ns_per_op"].as_f64()? / 1e3,
        ..Sample::default()
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
        entries_per_second: number("entries/s").unwrap_or_default(),
        median_us: number("p50us")?,
        p99_us: number("p99us")?,
        server_us_per_operation: number("srv_us/op")?,
        ..Sample::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
