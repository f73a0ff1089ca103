//! Detaches from the terminal: starts a background process, and returns when that one has mounted.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::{env, fs};

use rustix::process::setsid;

use super::helper;
use super::log::{self, Log};
use crate::failure::{Failure, MountFailure};

/// The message of the background process when it has mounted.
const READY: &str = "mounted";

/// Starts the background process, and waits until it has mounted or printed an error.
///
/// # Errors
/// When it has not mounted.
pub fn start() -> Result<(), Failure> {
    let program = env::current_exe().map_err(MountFailure::Start)?;
    // Otherwise the caller's files, such as a lock or a pipe, would stay open as long as the mount. Linux before 5.11
    // lacks this call.
    let _ = net::keep_descriptors_from_programs();
    let line = helper::command_line();
    // The command's name comes first; no flags may follow `--`.
    let mut child = Command::new(program)
        .arg0("wharf")
        .args(line.get(1))
        .arg("--as-daemon")
        .args(line.iter().skip(2))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(MountFailure::Start)?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said).map_err(MountFailure::Start)?;
    }
    if said.trim_end() == READY { Ok(()) } else { Err(MountFailure::Daemon.into()) }
}

/// Releases the waiting process, and detaches from the terminal and the working directory. A second call does nothing.
///
/// # Errors
/// Those of the system.
pub fn let_go(log: &Log) -> Result<(), Failure> {
    if !log.leave_terminal() {
        return Ok(());
    }
    log::tell_place();
    let failed = |source| Failure::System { action: "leave the terminal", source };
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed)?;
    // It only fails for a session leader, which has a session already.
    let _ = setsid();
    env::set_current_dir("/").map_err(failed)?;
    let mut stdout = io::stdout();
    // The waiting process may have been interrupted.
    let _ = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    rustix::stdio::dup2_stdout(&null).map_err(|error| failed(error.into()))?;
    rustix::stdio::dup2_stderr(&null).map_err(|error| failed(error.into()))?;
    Ok(())
}
