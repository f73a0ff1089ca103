//! `wharf lab run --profile`: samples of perf, where it is allowed.

use std::fs;

use testing::Scratch;
use testing::program::{wharf, wharf_ok};

#[test]
fn run_with_profiles_keeps_stacks_and_flame_graphs_and_counts_no_pass_more() {
    let scratch = Scratch::new();
    let text = "question = '?'\nfile_mib = 1\nbench = '--rw randread --bs 4k --iodepth 8 --runtime 200ms'\n";
    let file = scratch.file("own.toml", text);
    let out = scratch.path("runs");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let ended = wharf(&["lab", "run", file, "--rounds", "1", "--out", out, "--profile"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    let run = scratch.path("runs/own");
    let samples = fs::read_to_string(run.join("samples.jsonl")).unwrap();
    let counted = samples.lines().filter(|line| line.contains("\"is_repeated\":false")).count();
    assert_eq!(counted, 2, "a pass of the server, and of its control");
    let report = || fs::read_to_string(run.join("report.md")).unwrap();
    if let Some((_, why)) = said.split_once("--profile: no profiles: ") {
        assert!(!report().contains("## Profiles") && !run.join("profile-0.svg").exists());
        return println!("skipped: {why}");
    }
    let stacks = fs::read_to_string(run.join("profiles/0-wharf.folded")).unwrap();
    assert!(stacks.lines().all(|line| line.starts_with("loop-") || line.contains(';')), "{stacks}");
    assert!(report().contains("## Profiles") && report().contains("(profile-1.svg)"));
    // The report is written again from what is kept.
    fs::remove_file(run.join("profile-1.svg")).unwrap();
    assert!(wharf_ok(&["lab", "report", out]).contains("Profiles\n--------\n"));
    assert!(fs::read_to_string(run.join("profile-1.svg")).unwrap().contains("Wharf, again (A/A), compared with Wharf"));
}
