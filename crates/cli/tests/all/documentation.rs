//! What the documentation offers to copy.

use std::fs;
use std::process::Command;

use testing::Scratch;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn units_are_accepted_by_systemd() {
    let scratch = Scratch::new();
    let service = fs::read_to_string(format!("{DOCS}/wharf.service")).unwrap();
    let installed = service.replace("/usr/local/bin/wharf", env!("CARGO_BIN_EXE_wharf"));
    assert_ne!(installed, service);
    let service = scratch.file("wharf.service", &installed);
    let socket = scratch.path("wharf.socket");
    fs::copy(format!("{DOCS}/wharf.socket"), &socket).unwrap();
    let verify = Command::new("systemd-analyze").arg("verify").args([service, socket]).output();
    let Ok(output) = verify else {
        println!("skipped: there is no systemd-analyze; install systemd");
        return;
    };
    // Other units of the machine may have complaints of their own.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.lines().any(|line| line.contains("wharf")), "{said}");
}
