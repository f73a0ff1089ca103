//! `wharf bench` and `wharf lab agent`, interrupted: what was measured is printed, and files that are left are named.

use std::fs;
use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use testing::program::deaf::Deaf;
use testing::program::{Server, executable, paste, wharf_ok};
use testing::{Scratch, wait_until};

use crate::agents::{Agent, token_file};

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(executable());
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    // It may have ended.
    let _ = kill_process(Pid::from_child(child), Signal::INT);
}

/// What it printed, and what it said.
fn texts(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn bench_of_a_directory_that_is_interrupted_at_any_time_leaves_no_file_behind() {
    let scratch = Scratch::new();
    for load in [&["--rw", "write", "--size", "100G"][..], &["--rw", "build", "--size", "4G"], &["--rw", "newfile"]] {
        let dir = scratch.dir("bench");
        let bench = start(&[&["bench", "--runtime", "60s", dir.to_str().unwrap()], load].concat());
        wait_until("a file is made", || !is_empty(&dir));
        interrupt(&bench);
        let (_, said) = texts(&bench.wait_with_output().unwrap());
        assert!(said.contains("interrupted; its temporary files are removed"), "{load:?}: {said}");
        assert!(is_empty(&dir), "{load:?}: {said}");
        fs::remove_dir_all(&dir).unwrap();
    }
}

/// timeout(1) does that: it signals its command, and then the command's group.
#[test]
fn two_signals_at_once_are_one_interruption() {
    let scratch = Scratch::new();
    let dir = scratch.dir("bench");
    let bench = start(&["bench", dir.to_str().unwrap(), "--rw", "build", "--size", "64M", "--runtime", "60s"]);
    wait_until("a file is made", || !is_empty(&dir));
    for signal in [Signal::INT, Signal::TERM] {
        kill_process(Pid::from_child(&bench), signal).unwrap();
    }
    let (_, said) = texts(&bench.wait_with_output().unwrap());
    assert!(said.contains("interrupted; its temporary files are removed") && is_empty(&dir), "{said}");
}

/// A benchmark through a wire that has begun to lose replies while it measured.
fn with_a_silent_server(test: impl FnOnce(Child, &Deaf, &str)) {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let wire = Deaf::start(server.address());
    let port = wire.address.port();
    let url = format!("nfs://127.0.0.1/mem?version=3&nfsport={port}&mountport={port}");
    let bench = start(&["bench", &url, "--rw", "randread", "--size", "1M", "--runtime", "60s"]);
    server.wait_for_calls(1000);
    wire.set(true);
    wait_until("a reply is lost", || wire.lost() > 0);
    test(bench, &wire, &server.url("/mem"));
}

/// Pastes the command that a message names, after which the export is empty.
fn follow_the_advice(said: &str, url: &str) {
    assert_ne!(wharf_ok(&["ls", url]), "", "{said}");
    let commands: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    assert_eq!(commands.len(), 1, "{said}");
    paste(commands[0]);
    assert_eq!(wharf_ok(&["ls", url]), "", "{said}");
}

#[test]
fn bench_of_a_server_that_is_silent_prints_what_it_measured_and_how_to_remove_its_files() {
    with_a_silent_server(|bench, wire, url| {
        interrupt(&bench);
        let (printed, said) = texts(&bench.wait_with_output().unwrap());
        assert!(printed.contains("err= 0, interrupted") && printed.contains("read: IOPS="), "{printed}{said}");
        wire.set(false);
        follow_the_advice(&said, url);
    });
}

#[test]
fn second_signal_ends_a_bench_at_once_and_names_its_files() {
    with_a_silent_server(|mut bench, wire, url| {
        // Those within a moment of the first are one interruption with it.
        while bench.try_wait().unwrap().is_none() {
            interrupt(&bench);
            std::thread::sleep(Duration::from_millis(20));
        }
        let (_, said) = texts(&bench.wait_with_output().unwrap());
        assert!(said.contains("interrupted again"), "{said}");
        wire.set(false);
        follow_the_advice(&said, url);
    });
}

/// A benchmark by one agent that has begun to measure.
fn with_an_agent(test: impl FnOnce(&mut Agent, Child, &dyn Fn() -> bool)) {
    let scratch = Scratch::new();
    let token = token_file(&scratch);
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (mut agent, url) = (Agent::start(&token), server.url("/mem"));
    let load = ["--rw", "randread", "--size", "1M", "--runtime", "10m"];
    let bench = start(&[&["bench", &url, "--agents", &agent.address, "--agent-token", &token], &load[..]].concat());
    server.wait_for_calls(1000);
    test(&mut agent, bench, &|| wharf_ok(&["ls", &url]).is_empty());
}

#[test]
fn interrupted_bench_of_agents_prints_what_they_measured_and_the_agent_says_so() {
    with_an_agent(|agent, bench, is_clean| {
        interrupt(&bench);
        let (printed, said) = texts(&bench.wait_with_output().unwrap());
        assert_eq!(printed.matches("err= 0, interrupted").count(), 2, "{printed}{said}");
        assert!(said.contains("interrupted;"), "{said}");
        let mut lines = agent.said.by_ref().lines().map(Result::unwrap);
        let last = lines.find(|line| !line.ends_with("accepted")).unwrap();
        assert!(last.ends_with("interrupted before the job's end"), "{last}");
        wait_until("the agent has removed its file", is_clean);
    });
}

#[test]
fn interrupted_agent_removes_its_files() {
    with_an_agent(|agent, bench, is_clean| {
        agent.interrupt();
        assert!(is_clean());
        bench.wait_with_output().unwrap();
    });
}
