//! Programs of the system that only the superuser can use: for loop devices and networks.

use std::io;
use std::process::Command;

/// A program of the system does not do its part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It cannot be started.
    #[error("{program} cannot be started: {source}; install it, or run without root to leave out what needs it")]
    Start {
        /// The program.
        program: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// It fails.
    #[error("`{command}` fails: {said}; the kernel may lack what it needs: run without root to leave that out")]
    Failed {
        /// The whole command.
        command: String,
        /// What it said.
        said: String,
    },
    /// The system refuses another namespace.
    #[error("cannot enter a namespace: {0}; run without root to leave out what needs one")]
    Namespace(#[source] io::Error),
}

/// Runs a program to its end; returns what it printed.
pub(crate) fn run(program: &'static str, arguments: &[&str]) -> Result<String, ToolError> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|source| ToolError::Start { program, source })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(ToolError::Failed { command: format!("{program} {}", arguments.join(" ")), said: text(&output.stderr) })
}
