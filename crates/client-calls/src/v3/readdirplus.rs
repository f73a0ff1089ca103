use proto::nfs3::{Readdirplus, ReaddirplusArgs};

use super::arguments::{handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::page::{PageBuilder, RawEntry};
use crate::types::{DirPosition, Page};
use crate::{Entry, Handle, Result};

/// Lists one page of a directory with handles and attributes (RFC 1813 §3.3.17).
pub async fn readdirplus(connection: &Connection, dir: &Handle, from: DirPosition, count: u32) -> Result<Page> {
    let dir = handle::<Readdirplus>(connection, dir)?;
    let (cookie, verifier) = (from.cookie, from.verifier);
    let arguments = ReaddirplusArgs { dir, cookie, verifier, dir_count: count, max_count: count };
    let response = connection.call::<Readdirplus>(&arguments).await?;
    let ok = success(&response, response.decode()?)?;
    let mut page = PageBuilder::new(from, ok.head.verifier);
    for plus in &ok.entries {
        let entry = plus
            .handle
            .zip(plus.attributes.as_ref())
            .map(|(handle, found)| Entry { handle: handle.into(), attributes: attributes::neutral(found) });
        let raw = RawEntry { name: plus.entry.name, fileid: plus.entry.fileid, cookie: plus.entry.cookie, entry };
        page.push(raw).map_err(|reason| response.error(reason))?;
    }
    page.finish(ok.eof).map_err(|reason| response.error(reason))
}
