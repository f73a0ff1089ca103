//! The sender beside what the RFCs demand, in scripts: `tests/scripts` has one folder for each RFC.

use std::fs;
use std::path::Path;

use crate::script;

/// Runs the scripts of an RFC, each of which has to pass.
fn run_all(rfc: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(rfc);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 3, "only {} scripts for {rfc}", paths.len());
    let failures: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let failure = script::run(&fs::read_to_string(path).unwrap()).err()?;
            Some(format!("{}: {failure}", path.file_name().unwrap().to_string_lossy()))
        })
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn states_windows_and_segments_are_those_of_rfc_9293() {
    run_all("rfc9293");
}

#[test]
fn congestion_control_is_that_of_rfc_5681() {
    run_all("rfc5681");
}

#[test]
fn timeouts_are_those_of_rfc_6298() {
    run_all("rfc6298");
}

#[test]
fn recovery_with_blocks_is_that_of_rfc_6675() {
    run_all("rfc6675");
}

#[test]
fn scaling_and_timestamps_are_those_of_rfc_7323() {
    run_all("rfc7323");
}

#[test]
fn script_that_expects_something_else_fails_at_its_line() {
    let failure = script::run("+0 > S 0\n+0.5 < S. 0 ack 1\n+0 > . 1:1 ack 2\n").unwrap_err();
    assert!(failure.starts_with("line 3: ") && failure.contains("other acknowledgment"), "{failure}");
    let failure = script::run("+0 > S 0\n+0.5 < S. 0 ack 1\n").unwrap_err();
    assert!(failure.contains("nobody expected"), "{failure}");
    assert!(script::run("+0 > S 0\n+2 > S 0\n").unwrap_err().contains("other time"));
}
