//! `wharf bench` on paths of this machine.

use std::fs;

use serde_json::Value;

use testing::Scratch;
use testing::program::{wharf_fails, wharf_ok};

use crate::agents::{Agent, token_file};

#[test]
fn every_workload_of_system_calls_counts_its_operations_and_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let folder = scratch.dir("folder");
    for rw in "read,write,randrw,getattr,access,lookup,createremove,newfile,readdirplus,open,mix,build".split(',') {
        // One connection calls in its own thread; several operations wait in others.
        for (connections, depth) in [("1", "1"), ("2", "3")] {
            let load = ["--rw", rw, "--bs", "4k", "--size", "64k", "--runtime", "30ms", "--json"];
            let many = ["--connections", connections, "--iodepth", depth, folder.to_str().unwrap()];
            let run: Value = serde_json::from_str(&wharf_ok(&[&["bench"][..], &load, &many].concat())).unwrap();
            let job = &run["jobs"][0];
            let done = ["read", "write", "metadata"].map(|part| job[part]["total_ios"].as_u64().unwrap_or(0));
            assert!(done.iter().sum::<u64>() > 0 && job["error"] == 0, "{rw}: {job}");
            // A system call waits where it is made.
            assert!(done[0] == 0 || job["read"]["clat_ns"]["mean"].as_f64().unwrap() > 0.0, "{rw}: {job}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn existing_file_of_this_machine_is_changed_only_when_told_to() {
    let scratch = Scratch::new();
    let words = "my words\n".repeat(1001);
    let file = scratch.file("thesis", &words);
    let bench = ["bench", "--runtime", "20ms", "--bs", "1k", file.to_str().unwrap()];
    wharf_ok(&bench);
    let refused = wharf_fails(1, &[&bench[..], &["--rw", "randwrite"]].concat());
    assert!(refused.contains("thesis exists") && refused.contains("--overwrite"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), words);
    // It is filled from its end on, and what is there is read as it is.
    wharf_ok(&[&bench[..], &["--size", "64k", "--overwrite"]].concat());
    let filled = fs::read(&file).unwrap();
    assert!(filled.len() == 64 << 10 && filled.starts_with(words.as_bytes()));
}

#[test]
fn what_requires_a_connection_is_refused_on_a_path_and_agents_use_no_files_of_their_hosts() {
    let scratch = Scratch::new();
    let folder = scratch.dir("folder");
    let path = folder.to_str().unwrap();
    for load in [&["--rw", "lock"][..], &["--rw", "readplus-data"], &["--rw", "read", "--verify"]] {
        let refused = wharf_fails(1, &[&["bench", path][..], load].concat());
        assert!(refused.contains(load.last().unwrap()) && refused.contains("name a URL"), "{refused}");
    }
    let token = token_file(&scratch);
    let agent = Agent::start(&token);
    let refused = wharf_fails(1, &["bench", path, "--agents", &agent.address, "--agent-token", &token]);
    assert!(refused.contains("agents use no files of their hosts"), "{refused}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
