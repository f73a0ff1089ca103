use proto::nfs3::{FsArgs, Pathconf};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{Handle, PathLimits, Result};

/// The limits of names and links (RFC 1813 §3.3.20).
pub async fn pathconf(connection: &Connection, file: &Handle) -> Result<PathLimits> {
    let object = handle::<Pathconf>(connection, file)?;
    let response = connection.call::<Pathconf>(&FsArgs { object }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(PathLimits {
        max_links: ok.max_links,
        max_name_bytes: ok.max_name_bytes,
        no_truncation: ok.no_truncation,
        chown_restricted: ok.chown_restricted,
        case_insensitive: ok.case_insensitive,
        case_preserving: ok.case_preserving,
    })
}
