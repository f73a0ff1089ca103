use proto::nfs3::{Mknod, MknodArgs, MknodData, SpecData};
use vfs::{Device, SetAttributes};

use super::arguments::{dir_op, success};
use super::attributes;
use super::made::made;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result, SpecialFile};

/// Creates a device, a socket or a FIFO (RFC 1813 §3.3.11).
pub async fn mknod(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    node: SpecialFile,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let place = dir_op::<Mknod>(connection, dir, name)?;
    let set = attributes::wire_set::<Mknod>(connection, set)?;
    let what = match node {
        SpecialFile::BlockDevice(device) => MknodData::BlockDevice(set, wire(device)),
        SpecialFile::CharDevice(device) => MknodData::CharDevice(set, wire(device)),
        SpecialFile::Socket => MknodData::Socket(set),
        SpecialFile::Fifo => MknodData::Fifo(set),
    };
    let response = connection.call::<Mknod>(&MknodArgs { place, what }).await?;
    let ok = success(&response, response.decode()?)?;
    made(connection, dir, name, ok).await
}

fn wire(device: Device) -> SpecData {
    SpecData { major: device.major, minor: device.minor }
}
