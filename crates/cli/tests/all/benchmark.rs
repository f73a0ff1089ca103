//! `wharf bench` as a user meets it: watched on a terminal, interrupted, and read by what reads fio's JSON.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;

use testing::program::{self, Server, terminal, wharf, wharf_fails, wharf_ok};
use testing::{Scratch, wait_until};

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
        wait_until("rates are shown", || shown().contains("randread: ") && shown().contains("IOPS"));
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
    wait_until("the file is made", || {
        String::from_utf8_lossy(&wharf(&["ls", "-l", &url]).stdout).contains(" 1048576 ")
    });
    server.wait_for_calls(1000);
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
        command.args(["bench", "--rw", "write", "--bs", "4k", "--size", "1M", "--runtime", "8s", "--json", &url]);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        wait_until("the file is made", || {
            String::from_utf8_lossy(&wharf(&["ls", "-l", &url]).stdout).contains(" 1048576 ")
        });
        first.wait_for_calls(100);
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

/// The lab, with everything in this directory.
fn lab(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    let dir = scratch.path("");
    command.arg("lab").args(arguments).arg("--memory-dir").arg(&dir).arg("--disk-dir").arg(&dir);
    command
}

#[test]
fn workload_takes_a_version_that_has_it_and_is_refused_in_others() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    for (workload, version, part) in [("open", "3", "--version 4.0"), ("readplus-data", "3", "--version 4.2")] {
        let bench = ["bench", "--rw", workload, "--size", "1M", "--runtime", "100ms"];
        let said = wharf_fails(1, &[&bench[..], &["--version", version, &url]].concat());
        assert!(said.contains(part), "{said}");
        let shown = wharf_ok(&[&bench[..], &[&url]].concat());
        assert!(shown.contains("err= 0"), "{shown}");
    }
}

#[test]
fn experiments_are_listed_and_explained_and_the_nearest_name_is_suggested() {
    let listed = wharf_ok(&["lab", "list"]);
    for name in listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        let text = wharf_ok(&["lab", "explain", name, "--quick"]);
        for part in ["varies\n", "compares\n", "passes in each round", "root: ", "other servers: "] {
            assert!(text.contains(part), "{name} has no '{part}': {text}");
        }
    }
    let said = wharf_fails(2, &["lab", "run", "replypath"]);
    assert!(said.contains("no experiment 'replypath': did you mean 'reply-path'?"), "{said}");
    let said = wharf_fails(2, &["lab", "run", "read-ahead", "--server", "other=nfs://host/export"]);
    assert!(said.contains("read-ahead takes no other servers: it compares ways of Wharf to read ahead"), "{said}");
    let said = wharf_fails(1, &["lab", "report", "/"]);
    assert!(said.contains("/ is no folder of a run") && said.contains("wharf lab run NAME --out DIR"), "{said}");
}

#[test]
fn experiment_of_a_file_gives_its_command_the_levels_and_shows_what_it_prints() {
    let scratch = Scratch::new();
    let (file, out) = (scratch.path("mine.toml"), scratch.path("out"));
    let head = "question = 'x'\ncontenders = 'speed'\nfile_mib = 1\n";
    let figure = "[[figure]]\nname = 'rate'\nbetter = 'higher'\n";
    let text = |command: &str| {
        let factor = "[[factor]]\nname = 'speed'\nlevels = [5, { name = 'fast', value = '7' }]\n";
        format!("{head}command = '{command}'\n{factor}{figure}")
    };
    let arguments = ["run", file.to_str().unwrap(), "--rounds", "1", "--out", out.to_str().unwrap()];
    std::fs::write(&file, text("test -n \"$URL\" && echo found rate=${speed}1")).unwrap();
    let ran = lab(&scratch, &arguments).output().unwrap();
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(shown.contains("again (A/A)  51.00 → 51.00") && shown.contains("fast   51.00 → 71.00"), "{shown}");
    // A setting of the run has changed with the file.
    std::fs::write(&file, text("echo nothing")).unwrap();
    let refused = lab(&scratch, &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("another setting 'command'"), "{said}");
    let anew =
        lab(&scratch, &[&arguments[..4], &["--out", scratch.path("new").to_str().unwrap()]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&anew.stderr).into_owned();
    assert!(said.contains("printed no word 'rate=NUMBER', but: nothing"), "{said}");
}

#[test]
fn builds_take_turns_as_servers_of_an_experiment_whose_load_is_this_programs() {
    let scratch = Scratch::new();
    let (file, out, new) = (scratch.path("mine.toml"), scratch.path("out"), scratch.path("new-build"));
    let this = env!("CARGO_BIN_EXE_wharf");
    std::fs::copy(this, &new).unwrap();
    let rate = "case $(readlink /proc/$SERVER_PID/exe) in *new-build) echo rate=71;; *) echo rate=51;; esac";
    let command = format!("command = '''test \"$WHARF\" = {this} && {rate}'''");
    let figure = "[[figure]]\nname = 'rate'\nbetter = 'higher'\n";
    std::fs::write(&file, format!("question = 'x'\nfile_mib = 1\n{command}\n{figure}")).unwrap();
    let builds = [format!("old={this}"), format!("new={}", new.display())];
    let arguments = ["run", file.to_str().unwrap(), "--rounds", "1", "--out", out.to_str().unwrap()];
    let ran = lab(&scratch, &arguments).args(builds.iter().flat_map(|build| ["--binary", build])).output().unwrap();
    let (shown, said) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert!(shown.contains("old, again (A/A)  51.00 → 51.00") && shown.contains("51.00 → 71.00"), "{shown}");
    let said = wharf_fails(2, &["lab", "run", "segments", "--binary", &builds[0]]);
    assert!(said.contains("segments compares no builds of Wharf: it compares TCP senders"), "{said}");
}

#[test]
fn interrupted_experiment_keeps_its_passes_ends_its_servers_and_resumes() {
    let scratch = Scratch::new();
    let out = scratch.path("a run");
    let arguments = ["run", "mix", "--quick", "--rounds", "1", "--out", out.to_str().unwrap()];
    let samples = out.join("mix/samples.jsonl");
    let lines = || std::fs::read_to_string(&samples).map_or(0, |text| text.lines().count());
    let dirs = ["--memory-dir", scratch.path("").to_str().unwrap()].map(str::to_owned);
    let all: Vec<&str> = ["lab"].into_iter().chain(arguments).chain(dirs.iter().map(String::as_str)).collect();
    let said = program::interrupt(&all, || lines() > 0);
    assert!(said.contains(&format!("--out '{}'", out.display())) && said.contains("resumes it"), "{said}");
    let (kept, left) = (lines(), std::fs::read_dir(scratch.path("")).unwrap().count());
    assert!(kept > 0);
    assert_eq!(left, 1, "files of the experiment are gone");
    assert!(!is_in_a_command_line(&scratch.path("").display().to_string()), "its servers are gone");
    let another = lab(&scratch, &[&arguments[..], &["--seed", "7"]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&another.stderr).into_owned();
    assert!(said.contains("another seed: 1 then, 7 now"), "{said}");
    let resumed = lab(&scratch, &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(resumed.status.success() && said.contains("completed passes"), "{said}");
    let table = wharf_ok(&["lab", "report", out.to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&resumed.stdout), table);
    // A server and its control at each of ten loads.
    let all = std::fs::read_to_string(&samples).unwrap();
    let is_last = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["is_repeated"] == false;
    assert_eq!(all.lines().filter(is_last).count(), 10 * 2);
}

#[test]
fn killed_experiment_leaves_no_server_behind() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let dir = scratch.path("").display().to_string();
    let mut child = lab(&scratch, &["run", "read-ahead", "--quick", "--out", out.to_str().unwrap()]);
    let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_until("a pass is kept", || out.join("read-ahead/samples.jsonl").metadata().is_ok_and(|found| found.len() > 0));
    assert!(is_in_a_command_line(&dir));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the servers are gone", || !is_in_a_command_line(&dir));
}

/// Whether a process that runs has this in its command line.
fn is_in_a_command_line(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(text))
}

/// `wharf lab ceiling`, until this is dropped.
struct Ceiling(std::process::Child);

impl Drop for Ceiling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ceiling_serves_its_file_to_any_client() {
    let scratch = Scratch::new();
    let file = scratch.file("data", &"0123456789abcdef".repeat(1000));
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.args(["lab", "ceiling", "--way", "sendfile"]).arg(&file).stdout(std::process::Stdio::piped());
    let mut ceiling = Ceiling(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(ceiling.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split(';').next().unwrap().rsplit(':').next().unwrap().to_owned();
    let url = format!("nfs://127.0.0.1{}?version=3&nfsport={port}&mountport={port}", file.display());
    assert_eq!(wharf_ok(&["cat", &url]), std::fs::read_to_string(&file).unwrap());
    let said = wharf_fails(1, &["lab", "ceiling", "/nothing"]);
    assert!(said.contains("/nothing") && said.contains("name a regular file"), "{said}");
}

#[test]
fn comparison_of_servers_has_the_ceiling_and_goals_that_it_did_not_measure() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let mut arguments = vec!["run", "peers", "--quick", "--rounds", "1", "--out", out.to_str().unwrap()];
    for part in ["load=READ 4 KiB random, 1×64", "server=ceiling: copy"] {
        arguments.extend(["--only", part]);
    }
    let ran = lab(&scratch, &arguments).output().unwrap();
    let (shown, said) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    // One goal is beside the ceiling, one beside version 3. On a busy machine a pass may find nothing in its time.
    let has_undecided = |count| shown.contains(&format!("0 met, 0 missed, {count} undecided, {} not", 79 - count));
    assert!((0..=2).any(has_undecided), "{shown}");
    let samples = std::fs::read_to_string(out.join("peers/samples.jsonl")).unwrap();
    let passes: Vec<Value> = samples.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_ceiling = |pass: &&Value| pass["levels"]["server"] == "ceiling: copy";
    let ceiling = passes.iter().rfind(of_ceiling).unwrap();
    assert!(ceiling["failure"].is_string() || ceiling["figures"]["operations"].as_f64() > Some(0.0), "{ceiling}");
    let head = std::fs::read_to_string(out.join("peers/run.json")).unwrap();
    let head: Value = serde_json::from_str(&head).unwrap();
    assert!(head["settings"]["program"].as_str().unwrap().contains(" bytes, hash "), "{head}");
}

/// Only bounds that hold on a machine however busy: no READ takes less than its delay. The goals of the experiment are
/// for quiet ones.
#[test]
fn lab_finds_no_latency_below_delays_that_are_known() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let arguments = ["run", "truth", "--quick", "--rounds", "2", "--out", out.to_str().unwrap()];
    let only = ["--only", "time of a READ=40", "--only", "time of a READ=drift"];
    let ran = lab(&scratch, &[&arguments[..], &only].concat()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let samples = std::fs::read_to_string(out.join("truth/samples.jsonl")).unwrap();
    let passes: Vec<Value> = samples.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let drifting = "10 ms, then 2 ms more each round (drift)";
    for (server, percent, least_us) in [
        ("10 ms", 1.0, [10_000.0, 10_000.0]),
        ("10 ms, again (A/A)", 1.0, [10_000.0, 10_000.0]),
        ("40 ms", 1.0, [40_000.0, 40_000.0]),
        ("10 or 40 ms (two peaks)", 1.0, [10_000.0, 10_000.0]),
        // Three of ten READs wait longer.
        ("10 or 40 ms (two peaks)", 90.0, [40_000.0, 40_000.0]),
        (drifting, 1.0, [10_000.0, 12_000.0]),
    ] {
        let of_server: Vec<&Value> = passes.iter().filter(|pass| pass["levels"]["time of a READ"] == server).collect();
        assert!(of_server.len() >= 2, "{server}: {samples}");
        for pass in of_server {
            let at = pass["latency"].as_array().unwrap().iter().find(|at| at["percent"] == percent).unwrap();
            let least_us = least_us[pass["place"]["round"].as_u64().unwrap() as usize - 1];
            assert!(at["us"].as_f64().unwrap() >= least_us, "{percent} % of {server}: {pass}");
        }
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("Source: the servers' delays.") && text.contains("warning of drift"), "{text}");
}

#[test]
fn experiment_that_cannot_begin_says_why_and_what_to_do() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let fails = |arguments: &[&str]| {
        let all = [&["run", "reply-path", "--quick", "--out", out.to_str().unwrap()], arguments].concat();
        let output = lab(&scratch, &all).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = fails(&["--server", "broken=sh -c 'echo cannot bind; exit 3'"]);
    assert!(said.contains("server 'broken' does not listen") && said.contains("cannot bind"), "{said}");
    let program = Command::new(env!("CARGO_BIN_EXE_wharf"))
        .args(["lab", "run", "reply-path", "--quick", "--memory-dir", "/proc/nothing", "--out"])
        .arg(scratch.path("other"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&program.stderr).into_owned();
    assert!(said.contains("/proc/nothing") && said.contains("choose another directory with --memory-dir"), "{said}");
}
