use proto::nfs2::{Readdir, ReaddirArgs};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::page::{PageBuilder, RawEntry};
use crate::types::{DirPosition, Page};
use crate::{Handle, Result};

/// The largest READDIR reply that version 2 servers expect to return, in bytes.
const MAX_COUNT: u32 = proto::nfs2::MAX_DATA_BYTES as u32;

/// Lists one page of a directory, names only (RFC 1094 §2.2.17). Cookies have 32 bits and no verifier.
pub async fn readdir(connection: &Connection, dir: &Handle, from: DirPosition, count: u32) -> Result<Page> {
    let dir = handle::<Readdir>(connection, dir)?;
    // The low half is the whole cookie, since it came from this version.
    let arguments = ReaddirArgs { dir, cookie: from.cookie as u32, count: count.min(MAX_COUNT) };
    let response = connection.call::<Readdir>(&arguments).await?;
    let ok = success(&response, response.decode()?)?;
    let mut page = PageBuilder::new(from, [0; 8]);
    for entry in &ok.entries {
        let (fileid, cookie) = (u64::from(entry.fileid), u64::from(entry.cookie));
        let raw = RawEntry { name: entry.name, fileid, cookie, entry: None };
        page.push(raw).map_err(|reason| response.error(reason))?;
    }
    page.finish(ok.eof).map_err(|reason| response.error(reason))
}

/// Like [`readdir`]: version 2 has no such procedure, so files are looked up one by one.
pub async fn readdirplus(connection: &Connection, dir: &Handle, from: DirPosition, count: u32) -> Result<Page> {
    readdir(connection, dir, from, count).await
}
