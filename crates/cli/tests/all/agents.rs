//! `wharf lab agent` and `wharf bench --agents`, as programs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use testing::Scratch;
use testing::program::{Server, executable, wharf_fails, wharf_ok};

/// An agent, which is killed at the end.
pub(super) struct Agent {
    child: Child,
    pub(super) address: String,
    pub(super) said: BufReader<ChildStderr>,
}

impl Agent {
    pub(super) fn start(token: &str) -> Agent {
        let arguments = ["lab", "agent", "--listen", "127.0.0.1:0", "--token", token];
        let mut command = Command::new(executable());
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(';').next()).unwrap().to_owned();
        let said = BufReader::new(child.stderr.take().unwrap());
        Agent { child, address, said }
    }

    /// Interrupts it, and waits for its end.
    pub(super) fn interrupt(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have been interrupted.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

pub(super) fn token_file(scratch: &Scratch) -> String {
    let path = scratch.path("token");
    std::fs::write(&path, "0123456789abcdef\n").unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn bench_of_two_agents_shows_both_together_and_each() {
    let scratch = Scratch::new();
    let token = token_file(&scratch);
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let agents = [Agent::start(&token), Agent::start(&token)];
    let names = agents.each_ref().map(|agent| agent.address.clone());
    let load = ["--rw", "randread,getattr", "--size", "1M", "--bs", "4k"];
    let (list, url) = (names.join(","), server.url("/mem/file"));
    let printed =
        wharf_ok(&[&["bench", "--json", "--agents", &list, "--agent-token", &token, &url][..], &load].concat());
    let run: Value = serde_json::from_str(&printed).unwrap();
    let jobs = run["jobs"].as_array().unwrap();
    let names_of_jobs: Vec<_> = jobs.iter().map(|job| job["jobname"].as_str().unwrap().to_owned()).collect();
    let [first, second] = &names;
    let expected =
        |load: &str| [format!("{load} on 2 hosts"), format!("{load} on {first}"), format!("{load} on {second}")];
    assert_eq!(names_of_jobs, [expected("randread"), expected("getattr")].concat());
    let reads = |job: &Value| job["read"]["total_ios"].as_u64().unwrap();
    assert_eq!(reads(&jobs[1]), 256);
    assert_eq!(reads(&jobs[0]), reads(&jobs[1]) + reads(&jobs[2]));
}

#[test]
fn bench_ends_with_the_name_of_an_agent_that_is_killed() {
    let scratch = Scratch::new();
    let token = token_file(&scratch);
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let mut agent = Agent::start(&token);
    let arguments = ["bench", "--agents", &agent.address, "--agent-token", &token, "--size", "1M", "--runtime", "10m"];
    let mut command = Command::new(executable());
    let mut bench = command.args(arguments).arg(server.url("/mem")).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    agent.said.read_line(&mut line).unwrap();
    assert!(line.contains("accepted"), "{line}");
    let lost = format!("agent {} was lost", agent.address);
    drop(agent);
    let mut said = String::new();
    bench.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(bench.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains(&lost), "{said}");
}

#[test]
fn agents_take_no_order_but_a_load() {
    let scratch = Scratch::new();
    let token = token_file(&scratch);
    for option in [&["--fio", "jobs.fio"][..], &["--curve", "3"], &["--server-pid", "1"], &["--verify"]] {
        let arguments = ["bench", "nfs://127.0.0.1/mem", "--agents", "127.0.0.1:1", "--agent-token", &token];
        let said = wharf_fails(2, &[&arguments[..], option].concat());
        assert!(said.contains("--agents") && said.contains(option[0]), "{said}");
    }
    let said = wharf_fails(1, &["lab", "agent", "--token", scratch.path("none").to_str().unwrap()]);
    assert!(said.contains("none"), "{said}");
}
