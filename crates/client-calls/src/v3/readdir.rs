use proto::nfs3::{Readdir, ReaddirArgs};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::page::{PageBuilder, RawEntry};
use crate::types::{DirPosition, Page};
use crate::{Handle, Result};

/// Lists one page of a directory, names only (RFC 1813 §3.3.16).
pub async fn readdir(connection: &Connection, dir: &Handle, from: DirPosition, count: u32) -> Result<Page> {
    let dir = handle::<Readdir>(connection, dir)?;
    let arguments = ReaddirArgs { dir, cookie: from.cookie, verifier: from.verifier, count };
    let response = connection.call::<Readdir>(&arguments).await?;
    let ok = success(&response, response.decode()?)?;
    let mut page = PageBuilder::new(from, ok.head.verifier);
    for entry in &ok.entries {
        let raw = RawEntry { name: entry.name, fileid: entry.fileid, cookie: entry.cookie, entry: None };
        page.push(raw).map_err(|reason| response.error(reason))?;
    }
    page.finish(ok.eof).map_err(|reason| response.error(reason))
}
