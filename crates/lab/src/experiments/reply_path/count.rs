//! A server whose instructions are counted.

use tokio::runtime::Runtime;

use super::load::reading;
use super::{identities, way};
use crate::engine::{Error, Figures, PassError};
use crate::experiments::count::{INSTRUCTIONS, per_read};
use crate::file_load::FileLoad;
use crate::processors::{self, Processor};
use crate::servers::Servers;

/// The file that is read from it.
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
    let instructions = per_read(server, |server| {
        let load = FileLoad { url: server.url(FILE), server_pid: None, ..reading(server, FILE_BYTES) };
        let found = processors::on(Processor::Last, || runtime.block_on(load.run()))?;
        identities::check(&load, &found, name, None)?;
        Ok(found.statistics.calls("READ"))
    })?;
    let mut figures = Figures::default();
    figures.set(INSTRUCTIONS, instructions);
    Ok(figures)
}
