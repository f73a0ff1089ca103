//! `wharf tcp stream` and `wharf tcp model` as users run them.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod support;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

fn wharf(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.arg("tcp").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The runs that a command shows as JSON.
fn runs(output: &Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{output:?}");
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    runs.as_array().unwrap().clone()
}

/// Whether a TAP device can be made; says why not.
fn can_stream() -> bool {
    let output = wharf(&["stream", "--bytes", "1"]).output().unwrap();
    if !output.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    output.status.success()
}

#[test]
fn stream_reaches_the_kernel_under_each_rule() {
    if !can_stream() {
        return;
    }
    let output = wharf(&["stream", "--bytes", "4M", "--json"]).output().unwrap();
    let runs = runs(&output);
    assert_eq!(runs.iter().map(|run| run["rule"].as_str().unwrap()).collect::<Vec<_>>(), ["before", "after", "today"]);
    for series in &runs {
        let run = &series["runs"][0];
        assert_eq!((run["received_bytes"].as_u64(), run["mss_bytes"].as_u64()), (Some(4 << 20), Some(1448)));
        assert!(run["supers"].as_u64().unwrap() > 20, "{run}");
    }
}

#[test]
fn streams_are_repeated_until_they_are_known_well_enough_or_often_enough() {
    if !can_stream() {
        return;
    }
    let arguments = ["stream", "--bytes", "256K", "--rule", "after", "-I", "95,0.0001", "-i", "4,2", "--json"];
    let runs = runs(&wharf(&arguments).output().unwrap());
    assert_eq!(runs[0]["runs"].as_array().unwrap().len(), 4);
    assert!(runs[0]["bits_per_second"]["half_interval_share"].as_f64().unwrap() > 0.0);
    let output = wharf(&["stream", "--bytes", "64K", "--rule", "after", "-i", "2,2", "--buffers"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.lines().count() >= 9 && shown.contains("8388608") && shown.contains("±"), "{shown}");
}

#[test]
fn interrupted_stream_shows_what_was_sent() {
    if !can_stream() {
        return;
    }
    let child = wharf(&["stream", "--time", "60s", "--read-rate", "1M", "--rule", "after"]).spawn().unwrap();
    thread::sleep(Duration::from_millis(1500));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.signal(), Some(2), "{said}");
    assert!(shown.contains("after  ") && shown.contains("iB"), "{shown}");
    assert!(said.contains("interrupted; the figures are of what was sent until then"), "{said}");
}

#[test]
fn stream_without_rights_says_what_to_do() {
    let mut command = wharf(&["stream", "--bytes", "1M"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let Ok(output) = command.output() else {
        println!("skipped: the program cannot be run as somebody else from here");
        return;
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(
        said.contains("run this with sudo, or, where /dev/net/tun is open to everyone, as unshare -rn wharf"),
        "{said}"
    );
}

#[test]
fn model_shows_where_single_segments_come_from() {
    let output = wharf(&["model", "--bytes", "16M", "--json"]).output().unwrap();
    let runs = runs(&output);
    assert_eq!(runs.len(), 9);
    let single = |limit: &str, rule: &str| {
        let run = runs.iter().find(|run| run["limit"] == limit && run["rule"] == rule).unwrap();
        run["single_mss"].as_f64().unwrap() / run["data_packets"].as_f64().unwrap()
    };
    assert!(single("receiver", "before") > 0.2 && single("receiver", "after") < 0.15);
    assert!(single("sender", "before") < 0.01 && single("window", "before") < 0.01);
    let pairs =
        wharf(&["model", "--bytes", "1M", "--buffers", "--limit", "receiver", "--rule", "after"]).output().unwrap();
    assert_eq!(String::from_utf8(pairs.stdout).unwrap().lines().count(), 9);
}
