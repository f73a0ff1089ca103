//! What a developer of Wharf runs, as `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod arrows;
mod callgrind;
mod check;
mod circles;
mod command;
mod explore;
mod failure;
mod growth;
mod install;
mod instructions;
mod lab;
mod source;
mod test;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use failure::{Failure, Outcome};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test     runs every test and ends with a line that counts them
  check    checks formatting, clippy, documentation, arrows and source rules
  arrows   checks which crate depends on which
  source   checks how long files are, and lines of comments and documents
  circles [CRATE]
           checks which files of a crate use each other in a circle; of CRATE, prints what they use of each other
  words    checks comments, messages and documents for words that STYLE.md replaces
  instructions [--record]
           counts what single calls cost the server, and holds it against what is recorded
  growth [--only DIMENSION] [--check|--full] [--record]
           counts what calls cost with more and more names, files, connections, exports, opens, locks and loops
  explore [--cuts N] [--seed S] [--setup NAME]
           cuts the power of machines at least N times for each file system with and without a write log, and counts
           what acknowledged changes are lost (as root)
  lab NAME [OPTIONS OF wharf lab run]
           runs an experiment of the lab in a network of its own with rpcbind, so that NFS-Ganesha takes part (as root)";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let root = workspace_root();
    let outcome = match (name.as_str(), rest.as_slice()) {
        ("test", []) => test::run(&root),
        ("check", []) => check::run(&root),
        ("arrows", []) => arrows::run(&root),
        ("source", []) => source::run(&root),
        ("circles", []) => circles::run(&root),
        ("circles", [package]) => circles::list(&root, package),
        ("words", []) => words::run(&root),
        ("instructions", options) => instructions::run(&root, options),
        ("explore", options) => explore::run(&root, options),
        ("growth", options) => growth::run(&root, options),
        ("lab", options) => lab::run(&root, options),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    outcome.map_or_else(report_failure, |()| ExitCode::SUCCESS)
}

fn report_failure(failure: Failure) -> ExitCode {
    // The last line of the tests is the one that counts them.
    if !matches!(failure, Failure::Tests) {
        eprintln!("xtask: {failure}");
    }
    ExitCode::FAILURE
}

/// The checkout that this program was built from.
fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}
