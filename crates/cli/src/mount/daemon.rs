//! Leaving the terminal: the process that was called starts another one, which stays, and returns when that one has mounted.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::{env, fs};

use rustix::process::setsid;

use super::helper;
use super::log::{self, Log};
use crate::failure::{Failure, MountFailure};

/// What the process that stays says when it has mounted.
const READY: &str = "mounted";

/// Starts the process that stays, and waits until it has mounted or has said why not.
///
/// # Errors
/// When it has not mounted.
pub fn start() -> Result<(), Failure> {
    let program = env::current_exe().map_err(MountFailure::Start)?;
    // What the caller has open, such as a lock or the end of a pipe, would stay open for as long as the mount is there. Systems
    // before Linux 5.11 cannot do this at once.
    let _ = net::keep_descriptors_from_programs();
    let line = helper::command_line();
    // The name of the command goes first; behind `--` there are no flags any more.
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

/// Tells the process that waits that it can go, and lets go of the terminal and of the working directory. Done a second time it does nothing.
///
/// # Errors
/// What the system says.
pub fn let_go(log: &Log) -> Result<(), Failure> {
    if !log.leave_terminal() {
        return Ok(());
    }
    log::tell_place();
    let failed = |source| Failure::System { action: "leave the terminal", source };
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed)?;
    // It fails for the leader of a session only, which is one already.
    let _ = setsid();
    env::set_current_dir("/").map_err(failed)?;
    let mut stdout = io::stdout();
    // Whoever waited may have been interrupted.
    let _ = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    rustix::stdio::dup2_stdout(&null).map_err(|error| failed(error.into()))?;
    rustix::stdio::dup2_stderr(&null).map_err(|error| failed(error.into()))?;
    Ok(())
}
