use crate::connection::Connection;
use crate::{Error, Handle, PathLimits, Reason, Result};

/// Refuses: version 2 has no such procedure.
pub async fn pathconf(connection: &Connection, _: &Handle) -> Result<PathLimits> {
    Err(Error::new(connection.server(), "PATHCONF", Reason::NotInVersion(crate::Version::V2)))
}
