//! `cargo xtask clients` and `mounted`: they build what the lab compares, and start the lab.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{self, Program};
use crate::{Outcome, command};

/// What the lab does with the two clients.
const EXPERIMENT: &str = "xtask/src/libnfs.toml";
const SOURCE: &str = "crates/client/benches/libnfs/read_rate.c";
const LIBNFS: Program = Program { name: "nfs-cat", packages: &["libnfs-utils", "libnfs-dev", "gcc", "libc6-dev"] };

/// Compares the library with libnfs's raw interface.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    install::ensure(&[LIBNFS], "there is nothing to compare with");
    command::build_wharf(root)?;
    let (ours, theirs) = (example(root, "read_rate")?, compile(root)?);
    let mut lab = lab(root, &with(EXPERIMENT, arguments));
    lab.env("WHARF_RATE", ours).env("LIBNFS_RATE", theirs);
    command::run(lab)
}

/// Compares reading through a mount with reading through the library.
pub fn mounted(root: &Path, arguments: &[String]) -> Outcome {
    command::build_wharf(root)?;
    command::run(lab(root, &with("clients", arguments)))
}

fn with(experiment: &str, arguments: &[String]) -> Vec<String> {
    [&[experiment.to_owned()], arguments].concat()
}

/// `wharf lab run` with these arguments.
pub fn lab(root: &Path, arguments: &[String]) -> Command {
    let mut lab = Command::new(command::wharf_program(root));
    lab.args(["lab", "run"]).args(arguments).current_dir(root);
    lab
}

/// Builds an example of the client library.
fn example(root: &Path, name: &str) -> Outcome<PathBuf> {
    let arguments = ["build", "--quiet", "--release", "--locked", "--package", "wharf-client", "--example", name];
    command::run(command::cargo(root, &arguments))?;
    Ok(command::target_folder(root).join("release/examples").join(name))
}

fn compile(root: &Path) -> Outcome<PathBuf> {
    let program = command::target_folder(root).join("libnfs-read-rate");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-o"]).arg(&program).arg(root.join(SOURCE)).arg("-lnfs");
    command::run(cc)?;
    Ok(program)
}
