//! Gives the program the commit that it is built from, for records of the lab.

use std::path::Path;
use std::process::Command;

/// A commit that whoever builds this knows, such as a package's; it goes before git's.
const VARIABLE: &str = "WHARF_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    // Each change of the commit adds a line there.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let given = std::env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"])) {
        println!("cargo::rustc-env={VARIABLE}={commit}");
    }
}

/// What git prints; nothing where there is no git, or no repository that has this file.
fn git(arguments: &[&str]) -> Option<String> {
    let run = |arguments: &[&str]| Command::new("git").args(arguments).output().ok().filter(|ran| ran.status.success());
    run(&["ls-files", "--error-unmatch", "build.rs"])?;
    let text = String::from_utf8(run(arguments)?.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
