//! What a developer of Wharf runs, as `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod arrows;
mod ceiling;
mod check;
mod clients;
mod command;
mod install;
mod instructions;
mod neighbours;
mod peers;
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
  peers [--load TEXT] [--marks] [--nfsload PROGRAM [--only-nfsload]] [--quick]
        [--rounds N] [--seed N] [--seconds N] [--wait SECONDS] [--samples FILE] [--no-build] [--export ext4]
        [--peer 'NAME PORT MOUNT-PORT COMMAND']
           compares Wharf with NFS-Ganesha on this machine (as root)
  lab NAME [OPTIONS OF wharf lab run]
           runs an experiment of the lab in a network of its own with rpcbind, so that NFS-Ganesha takes part (as root)
  neighbours --nfsload PROGRAM [--wharf PROGRAM] [--rounds N] [--seconds N] [--samples FILE]
           measures how long one client waits beside busy ones and beside a slow export (as root)
  clients [OPTIONS OF wharf lab run]
           compares the client library with libnfs on one server, by `wharf lab run xtask/src/libnfs.toml`
  mounted [OPTIONS OF wharf lab run]
           compares reading through a mount with reading through the client library, by `wharf lab run clients` (as root)
  ceiling  answers READs, or lists a directory, as fast as the machine can: peers measures servers against it";

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
        ("ceiling", words) => ceiling::run(words),
        ("peers", options) => peers::run(&root, options),
        ("clients", options) => clients::run(&root, options),
        ("mounted", options) => clients::mounted(&root, options),
        ("lab", options) => peers::lab(&root, options),
        ("neighbours", options) => neighbours::run(&root, options),
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
    #[error("xtask/instructions.json: {0}")]
    Bounds(serde_json::Error),
    /// Rules are broken.
    #[error("{count} {what}")]
    Broken { count: usize, what: &'static str },
    /// A command's option is wrong.
    #[error("{0}")]
    Usage(String),
    /// A server or a load generator did not do what it should.
    #[error("{0}")]
    Peer(String),
    /// Figures cannot be compared.
    #[error("figures: {0}")]
    Figures(#[from] measure::Error),
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
