use proto::nfs2::{Read, ReadArgs};

use super::arguments::{handle, success, word};
use super::attributes;
use crate::connection::Connection;
use crate::{Data, Handle, Lie, Reason, Result};
use vfs::Attributes;

/// Reads up to `count` bytes (RFC 1094 §2.2.7), and returns the attributes. The data stays where it was received.
pub async fn read(
    connection: &Connection,
    file: &Handle,
    offset: u64,
    count: u32,
) -> Result<(Data, Option<Attributes>)> {
    let file = handle::<Read>(connection, file)?;
    let arguments = ReadArgs { file, offset: word::<Read>(connection, offset)?, count, total_count: count };
    let response = connection.call::<Read>(&arguments).await?;
    let ok = success(&response, response.decode()?)?;
    let got = ok.data.len();
    if got > count as usize {
        return Err(response.error(Reason::Lie(Lie::TooMuchData { asked: count, got })));
    }
    // The reply has no flag for the end of the file; the file's size tells.
    let is_eof = offset + got as u64 >= u64::from(ok.head.attributes.size);
    if got == 0 && !is_eof && count > 0 {
        return Err(response.error(Reason::Lie(Lie::NoData)));
    }
    Ok((Data { bytes: response.share(ok.data), is_eof }, Some(attributes::neutral(&ok.head.attributes))))
}
