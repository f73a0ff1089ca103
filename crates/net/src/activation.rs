//! Descriptors that the process was started with: those of systemd's socket activation, sd_listen_fds(3), and those
//! that are not its business.

use std::os::fd::{OwnedFd, RawFd};
use std::{env, io, process};

use crate::{NetError, sys};

/// The number of the first inherited socket.
const FIRST_DESCRIPTOR: RawFd = 3;

/// How many inherited sockets are taken.
const MAX_DESCRIPTORS: RawFd = 64;

/// The sockets that the service manager opened for this process, named by `LISTEN_PID` and `LISTEN_FDS`.
///
/// There are none when it opened none, when they are another process's, and when they were taken already. Give them to
/// [`Server::inherit`](crate::Server::inherit).
///
/// # Errors
/// When the variables make no sense or name a descriptor that is not open.
pub fn inherited_sockets() -> Result<Vec<OwnedFd>, NetError> {
    let Some(pid) = number("LISTEN_PID")? else { return Ok(Vec::new()) };
    if u32::try_from(pid) != Ok(process::id()) {
        return Ok(Vec::new());
    }
    let count = number("LISTEN_FDS")?.unwrap_or(0);
    if !(0..=MAX_DESCRIPTORS).contains(&count) {
        return Err(NetError::Activation { variable: "LISTEN_FDS", value: count.to_string() });
    }
    sys::adopt_descriptors(FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + count)
        .map_err(|source| NetError::NotASocket { descriptor: FIRST_DESCRIPTOR, source: Some(source) })
}

/// Sees to it that programs which this process starts from now on get its standard streams, and nothing else that it
/// was started with or has opened.
///
/// # Errors
/// What the system says; before Linux 5.11 it cannot do this.
pub fn keep_descriptors_from_programs() -> io::Result<()> {
    sys::keep_descriptors_from_programs()
}

fn number(variable: &'static str) -> Result<Option<i32>, NetError> {
    let Some(value) = env::var_os(variable) else { return Ok(None) };
    let value = value.to_string_lossy();
    match value.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(NetError::Activation { variable, value: value.into_owned() }),
    }
}
