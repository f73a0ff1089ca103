//! The instructions of a server for a READ.

use tokio::runtime::Runtime;

use super::figures::INSTRUCTIONS;
use super::load::reading;
use super::{identities, way};
use crate::engine::{Error, Figures, PassError};
use crate::file_load::FileLoad;
use crate::processors::{self, Processor};
use crate::servers::Servers;

/// The file that is read from a server whose instructions are counted. It is read to its end: no READ ahead is in
/// flight when the counter stops.
const FILE: &str = "counted";
/// Its size, and what it takes.
pub(super) const FILE_BYTES: u64 = 32 << 20;

/// Makes the file.
pub(super) fn prepare(servers: &mut Servers) -> Result<(), Error> {
    servers.make_file_once(FILE, FILE_BYTES)
}

/// Counts the instructions of a way's server for a READ, and with them those of the mount of the load.
pub(super) fn run(servers: &mut Servers, runtime: &Runtime, name: &str) -> Result<Figures, PassError> {
    let contender = way::counted(name).ok_or_else(|| PassError(format!("'{name}' cannot be counted")))?;
    let server = servers.start_another(&format!("{name}, counted"), &contender)?;
    let load = FileLoad { url: server.url(FILE), server_pid: None, ..reading(&server, FILE_BYTES) };
    let read = || processors::on(Processor::Last, || runtime.block_on(load.run()));
    // What a server does once, it has done then.
    read()?;
    server.count(true)?;
    let found = read()?;
    server.count(false)?;
    identities::check(&load, &found, name, None)?;
    let mut figures = Figures::default();
    figures.set(INSTRUCTIONS, server.instructions()? as f64 / found.statistics.calls("READ") as f64);
    Ok(figures)
}
