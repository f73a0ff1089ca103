use super::attributes;
use super::found::entry;
use super::lookup::lookup;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// The created file and the change of its directory. If the server left out the file's handle (RFC 1813 §3.3.8), the
/// name is looked up.
pub(super) async fn made(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    made: proto::nfs3::CreateOk,
) -> Result<(Entry, DirChange)> {
    let entry = match made.object {
        Some(object) => entry(connection, object.into(), made.attributes).await?,
        None => lookup(connection, dir, name).await?,
    };
    Ok((entry, attributes::dir_change(&made.dir_wcc)))
}
