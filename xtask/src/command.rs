//! Programs that the commands run.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Failure, Outcome};

/// The cargo that runs this program, working in the checkout.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    command
}

/// The program that runs now.
pub fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "xtask".into())
}

/// Where cargo builds.
pub fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// The program `wharf` of this checkout, as it is released.
pub fn wharf_program(root: &Path) -> PathBuf {
    target_folder(root).join("release/wharf")
}

/// Builds [`wharf_program`].
pub fn build_wharf(root: &Path) -> Outcome {
    run(cargo(root, &["build", "--quiet", "--release", "--locked", "--package", "wharf"]))
}

/// Runs a command whose output goes to the terminal.
pub fn run(mut command: Command) -> Outcome {
    let shown = show(&command);
    eprintln!("+ {shown}");
    let status = command.status().map_err(|source| spawn_failure(&command, source))?;
    if status.success() { Ok(()) } else { Err(Failure::Command(shown)) }
}

/// Runs a command and returns what it prints.
pub fn output(mut command: Command) -> Outcome<Vec<u8>> {
    command.stderr(Stdio::inherit());
    let output = command.output().map_err(|source| spawn_failure(&command, source))?;
    if output.status.success() { Ok(output.stdout) } else { Err(Failure::Command(show(&command))) }
}

/// Runs a command and hands each line of its output to `take`. Returns whether it succeeded.
pub fn stream(mut command: Command, mut take: impl FnMut(&str)) -> Outcome<bool> {
    let failed = |command: &Command, source| spawn_failure(command, source);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|source| failed(&command, source))?;
    if let Some(stdout) = child.stdout.take() {
        // A test may print bytes that are no text, so lines are not taken for UTF-8.
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|source| failed(&command, source))?;
            take(&String::from_utf8_lossy(&line));
        }
    }
    Ok(child.wait().map_err(|source| failed(&command, source))?.success())
}

/// Whether a program of this name is on the path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

pub fn spawn_failure(command: &Command, source: std::io::Error) -> Failure {
    Failure::Spawn { program: command.get_program().to_string_lossy().into_owned(), source }
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
