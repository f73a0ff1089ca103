//! What a developer of Wharf runs, as `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod arrows;
mod callgrind;
mod check;
mod command;
mod growth;
mod install;
mod instructions;
mod lab;
mod source;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test     runs every test and ends with a line that counts them
  check    checks formatting, clippy, documentation, arrows and source rules
  arrows   checks which crate depends on which
  source   checks where unsafe code is, and how long functions and files are
  instructions [--record]
           counts what single calls cost the server, and holds it against what is recorded
  growth [--only DIMENSION] [--check|--full] [--record]
           counts what calls cost with more and more names, files, connections, exports, opens, locks and loops
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
        ("instructions", options) => instructions::run(&root, options),
        ("growth", options) => growth::run(&root, options),
        ("lab", options) => lab::run(&root, options),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    outcome.map_or_else(report_failure, |()| ExitCode::SUCCESS)
}

/// Why a command failed; what was found in detail is on the terminal by then.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A program cannot be run.
    #[error("cannot run {program}: {source}")]
    Spawn { program: String, source: std::io::Error },
    /// A program failed.
    #[error("failed: {0}")]
    Command(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// What `cargo metadata` says is not understood.
    #[error("cargo metadata: {0}")]
    Metadata(#[from] serde_json::Error),
    /// What is recorded of the server's cost is not understood.
    #[error("{file}: {source}")]
    Bounds { file: &'static str, source: serde_json::Error },
    /// Rules are broken.
    #[error("{count} {what}")]
    Broken { count: usize, what: &'static str },
    /// A command's option is wrong.
    #[error("{0}")]
    Usage(String),
    /// A server does not start.
    #[error("{0}")]
    Server(String),
    /// Tests failed.
    #[error("tests failed")]
    Tests,
}

/// What the commands return.
type Outcome<T = ()> = Result<T, Failure>;

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
