use proto::nfs3::{Read, ReadArgs};

use super::arguments::{handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::{Data, Handle, Lie, Reason, Result};
use vfs::Attributes;

/// Reads up to `count` bytes (RFC 1813 §3.3.6). Returns the attributes too, if the reply has them. The data stays where
/// it was received.
pub async fn read(
    connection: &Connection,
    file: &Handle,
    offset: u64,
    count: u32,
) -> Result<(Data, Option<Attributes>)> {
    let file = handle::<Read>(connection, file)?;
    let response = connection.call::<Read>(&ReadArgs { file, offset, count }).await?;
    let ok = success(&response, response.decode()?)?;
    let (said, got) = (ok.head.count, ok.data.len());
    if got > count as usize {
        return Err(response.error(Reason::Lie(Lie::TooMuchData { asked: count, got })));
    }
    if said as usize != got {
        return Err(response.error(Reason::Lie(Lie::WrongCount { said, got })));
    }
    if got == 0 && !ok.head.eof && count > 0 {
        return Err(response.error(Reason::Lie(Lie::NoData)));
    }
    let after = ok.head.attributes.as_ref().map(attributes::neutral);
    Ok((Data { bytes: response.share(ok.data), is_eof: ok.head.eof }, after))
}
