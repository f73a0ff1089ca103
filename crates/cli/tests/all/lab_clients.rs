//! Clients of an experiment of one's own: the library, a mount, agents.

use std::fs;
use std::path::Path;

use serde_json::Value;

use testing::Scratch;
use testing::program::{Server, wharf_fails, wharf_ok};

use crate::agents::{Agent, token_file};

/// The passes of a run, with the levels of their clients.
fn passes(run: &Path) -> Vec<(String, Value)> {
    let samples = fs::read_to_string(run.join("samples.jsonl")).unwrap();
    let passes = samples.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    passes.map(|pass| (pass["levels"]["client"].as_str().unwrap().to_owned(), pass)).collect()
}

const HEAD: &str = "\
question = 'Which client is faster?'
contenders = 'client'
file_mib = 1
pass_seconds = 0.1
bench = '--rw randread --bs 4k --runtime 50ms --direct'
[[client]]
name = 'library'
";

fn run(scratch: &Scratch, text: &str) -> Vec<(String, Value)> {
    let file = scratch.file("own.toml", text);
    let out = scratch.path("runs");
    let arguments = ["lab", "run", file.to_str().unwrap(), "--rounds", "1", "--out", out.to_str().unwrap()];
    wharf_ok(&arguments);
    passes(&out.join("own"))
}

#[test]
fn agents_load_beside_the_library_and_what_needs_the_process_of_the_server_is_left_out_in_words() {
    let scratch = Scratch::new();
    let token = token_file(&scratch);
    let agents = [Agent::start(&token), Agent::start(&token)];
    let list = agents.each_ref().map(|agent| format!("'{}'", agent.address)).join(", ");
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    let client = format!("[[client]]\nname = 'agents'\nagents = [{list}]\nagent_token = 'token'\n");
    let text = format!("{HEAD}{client}[[server]]\nname = 'own'\nwharf = []\n");
    let found = run(&scratch, &text);
    for (client, pass) in &found {
        assert!(pass["failure"].is_null() && pass["figures"]["operations"].as_f64().unwrap() > 0.0, "{pass}");
        assert_eq!(pass["figures"]["server cost"].is_null(), client == "agents", "{pass}");
    }
    assert!(found.iter().any(|(client, _)| client == "agents"));
    let report = fs::read_to_string(scratch.path("runs/own/report.md")).unwrap();
    assert!(report.contains("server cost under client 'agents': agents do not look at"), "{report}");
    // Of a server that was running before, nothing has a cost, and no table is empty.
    let remote = scratch.file("remote.toml", &format!("{HEAD}[[server]]\nname = 'far'\nurl = '{url}'\n"));
    let explained = wharf_ok(&["lab", "explain", remote.to_str().unwrap()]);
    let measures = explained.lines().skip_while(|line| *line != "measures").nth(1).unwrap();
    assert!(!measures.contains("server cost"), "{explained}");
    assert!(explained.contains("server cost of server 'far': the lab did not start it"), "{explained}");
    // An agent elsewhere would not reach a server that listens on this machine only.
    let far = text.replace(&agents[0].address, "192.0.2.1:7049");
    let far = scratch.file("far.toml", &far);
    let refused = wharf_fails(1, &["lab", "explain", far.to_str().unwrap()]);
    assert!(refused.contains("client.agents: agent 192.0.2.1:7049 does not reach server 'own'"), "{refused}");
}

#[test]
fn mount_of_a_client_is_there_for_its_passes_and_gone_afterwards() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root || !Path::new("/dev/fuse").exists() {
        return println!("skipped: mounts need root and /dev/fuse");
    }
    let scratch = Scratch::new();
    let mount = "[[client]]\nname = 'mount'\nmount = 'wharf'\noptions = 'vers=4.2,direct'\n";
    let found = run(&scratch, &format!("{HEAD}{mount}"));
    let by_mount: Vec<&Value> = found.iter().filter(|(client, _)| client == "mount").map(|(_, pass)| pass).collect();
    assert!(!by_mount.is_empty());
    for pass in by_mount {
        assert!(pass["failure"].is_null() && pass["figures"]["operations"].as_f64().unwrap() > 0.0, "{pass}");
        assert!(pass["figures"]["server cost"].as_f64().is_some(), "{pass}");
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("wharf-lab-mount"), "{mounts}");
    let wrong = scratch.file("wrong.toml", &format!("{HEAD}{}", mount.replace("vers=4.2", "vers=9")));
    let out = scratch.path("wrong");
    let arguments = ["lab", "run", wrong.to_str().unwrap(), "--rounds", "1", "--out", out.to_str().unwrap()];
    wharf_ok(&arguments);
    let failed = passes(&out.join("wrong")).into_iter().find(|(client, _)| client == "mount").unwrap().1;
    assert!(failed["failure"].as_str().unwrap().contains("vers=9"), "{failed}");
}
