//! `wharf bench` as a user meets it: watched on a terminal, interrupted, and read by what reads fio's JSON.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod support;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;
use support::{Scratch, Server, terminal, wait_until, wharf, wharf_ok};

/// The names that fio's JSON has in one place and Wharf's has not, since it measures nothing of them.
const NOT_MEASURED: [&str; 13] = [
    "eta",
    "trim",
    "iodepth_level",
    "iodepth_submit",
    "iodepth_complete",
    "latency_ns",
    "latency_us",
    "latency_ms",
    "latency_depth",
    "latency_target",
    "latency_percentile",
    "latency_window",
    "filename",
];

/// The names of all fields of an object, and of those in it, with a dot between them.
fn names(value: &Value, above: &str) -> BTreeSet<String> {
    let Some(fields) = value.as_object() else { return BTreeSet::new() };
    let below = |(name, value): (&String, &Value)| {
        let name = format!("{above}{name}");
        names(value, &format!("{name}.")).into_iter().chain([name])
    };
    fields.iter().flat_map(below).collect()
}

fn is_measured(name: &str) -> bool {
    !NOT_MEASURED.iter().any(|left_out| name.split('.').any(|part| part == *left_out))
}

#[test]
fn json_has_every_name_that_fio_has_for_what_is_measured() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let options = ["--rw=randrw", "--size=4M", "--bs=4k", "--iodepth=4", "--runtime=1"];
    let file = format!("--filename={}", scratch.path("fio").display());
    let rest = ["--name=job", "--ioengine=sync", "--time_based", "--output-format=json", &file];
    let Ok(output) = Command::new("fio").args(options).args(rest).output() else {
        println!("skipped: there is no fio; install fio");
        return;
    };
    // It says before what it thinks of the options.
    let fios = String::from_utf8_lossy(&output.stdout);
    let fios: Value = serde_json::from_str(&fios[fios.find('{').unwrap()..]).unwrap();
    let ours: Value = serde_json::from_str(&wharf_ok(
        &[
            &["bench", "--rw", "randrw", "--size", "4M", "--bs", "4k", "--iodepth", "4", "--runtime", "1s"][..],
            &["--json", &server.url("/mem")],
        ]
        .concat(),
    ))
    .unwrap();
    let (fios, ours) = (&fios["jobs"][0], &ours["jobs"][0]);
    let all = names(ours, "");
    let missing: Vec<_> = names(fios, "").difference(&all).filter(|name| is_measured(name)).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    for direction in ["read", "write"] {
        let found = &ours[direction];
        let number = |name: &str| found[name].as_f64().unwrap();
        let mean = |name: &str| found[name]["mean"].as_f64().unwrap();
        assert!(number("iops_min") <= number("iops_mean") && number("iops_mean") <= number("iops_max"), "{found}");
        // The least and the greatest are whole KiB.
        assert!(number("bw_min") <= number("bw_mean") && number("bw_mean") < number("bw_max") + 1.0, "{found}");
        assert!(number("iops_samples") >= 1.0 && mean("slat_ns") > 0.0, "{found}");
        let parts = mean("slat_ns") + mean("clat_ns");
        assert!((mean("lat_ns") - parts).abs() < 2.0, "{parts}: {found}");
        assert_eq!(found["slat_ns"]["N"], found["total_ios"]);
    }
    assert!(ours["elapsed"].as_u64().unwrap() >= 1);
    for (name, value) in [("rw", "randrw"), ("bs", "4096"), ("size", "4194304"), ("iodepth", "4"), ("runtime", "1")] {
        assert_eq!(ours["job options"][name], value);
    }
}

#[test]
fn interrupted_benchmark_tells_what_it_measured_and_shows_it_on_a_terminal_meanwhile() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    let arguments = ["bench", "--rw", "randread,randwrite", "--size", "1M", "--runtime", "60s", &url];
    let (status, shown) = terminal(&arguments, |child, shown| {
        wait_until(|| shown().contains("randread: ") && shown().contains("IOPS"));
        rustix::process::kill_process(child, rustix::process::Signal::INT).unwrap();
    });
    assert_eq!(status.signal(), Some(2), "{shown}");
    assert!(shown.contains("read: IOPS=") && shown.contains("% ") && shown.contains(" left"), "{shown}");
    assert!(shown.contains("interrupted") && !shown.contains("write: IOPS="), "{shown}");
    assert_eq!(wharf_ok(&["ls", &url]), "");
}

#[test]
fn interrupted_benchmark_writes_json_of_what_it_measured() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    let arguments = ["bench", "--rw", "randread,randwrite", "--size", "1M", "--runtime", "60s", "--json", &url];
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    let child = command.args(arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
    // The file is filled before the measurement begins.
    wait_until(|| String::from_utf8_lossy(&wharf(&["ls", "-l", &url]).stdout).contains(" 1048576 "));
    std::thread::sleep(std::time::Duration::from_secs(1));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let jobs = run["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["jobname"]), (1, &"randread".into()));
    assert!(jobs[0]["read"]["total_ios"].as_u64().unwrap() > 0 && jobs[0]["job_runtime"].as_u64().unwrap() < 60_000);
    assert_eq!(wharf_ok(&["ls", &url]), "");
}

#[test]
fn benchmark_whose_server_is_killed_while_it_writes_fails_and_says_what_may_be_lost() {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.path("state"));
    let [export, state] = [&export, &state].map(|path| path.to_str().unwrap());
    let start = |address: &str| {
        Server::with_addresses(1, &["--listen", address, "--no-root-squash", "--state-dir", state, export])
    };
    for version in ["3", "4.1"] {
        let first = start("127.0.0.1:0");
        let address = first.address().to_string();
        let url = format!("{}?version={version}", first.url(export));
        let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
        command.args(["bench", "--rw", "write", "--bs", "4k", "--size", "1M", "--runtime", "4s", "--json", &url]);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        wait_until(|| String::from_utf8_lossy(&wharf(&["ls", "-l", &url]).stdout).contains(" 1048576 "));
        std::thread::sleep(std::time::Duration::from_secs(1));
        first.signal(rustix::process::Signal::KILL);
        drop(first);
        let _second = start(&address);
        let output = child.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains("verifier changed") && complaint.contains("writes may be lost"), "{complaint}");
        let run: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(run["jobs"][0]["error"].as_u64().unwrap() > 0 && run["jobs"][0]["sync"]["errors"] == 1, "{run}");
    }
}
