use proto::nfs2::{Create, CreateArgs, Fattr};
use vfs::SetAttributes;

use super::arguments::{dir_op, entry, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result, SpecialFile};

/// The kinds of files above the permission bits of a mode (POSIX).
const KIND_CHAR: u32 = 0o020_000;
const KIND_BLOCK: u32 = 0o060_000;
const KIND_SOCKET: u32 = 0o140_000;
const DEFAULT_MODE: u32 = 0o644;

/// Creates a device, a socket or a FIFO by CREATE, as UNIX clients have done since SunOS. The mode holds the kind, the
/// size the device. A FIFO is a character device that no driver has.
pub async fn mknod(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    node: SpecialFile,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let (kind, size) = match node {
        SpecialFile::BlockDevice(device) => (KIND_BLOCK, attributes::wire_device(device)),
        SpecialFile::CharDevice(device) => (KIND_CHAR, attributes::wire_device(device)),
        SpecialFile::Fifo => (KIND_CHAR, Fattr::FIFO_DEVICE),
        SpecialFile::Socket => (KIND_SOCKET, 0),
    };
    let set = SetAttributes { mode: Some(kind | set.mode.unwrap_or(DEFAULT_MODE)), ..*set };
    let place = dir_op::<Create>(connection, dir, name)?;
    let arguments = CreateArgs { place, attributes: attributes::wire_set::<Create>(connection, &set, Some(size))? };
    let response = connection.call::<Create>(&arguments).await?;
    Ok((entry(&success(&response, response.decode()?)?), DirChange::default()))
}
