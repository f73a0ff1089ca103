//! Names of extended attributes: the file system has only those of users, without prefixes of operating systems.

use rustix::io::Errno;
use vfs::{Error, XattrName};

/// Linux's prefix.
pub(super) const PREFIX: &[u8] = b"user.";

/// The name without its prefix.
pub(super) fn parse(text: &[u8]) -> Result<XattrName<'_>, Errno> {
    let name = text.strip_prefix(PREFIX).ok_or(Errno::OPNOTSUPP)?;
    XattrName::new(name).map_err(|_| Errno::RANGE)
}

/// The error number for an error about an extended attribute.
pub(super) fn errno(error: Error) -> Errno {
    match error {
        Error::NoEntry => Errno::NODATA,
        Error::FileTooBig => Errno::TOOBIG,
        error => crate::errno::errno(error),
    }
}

/// The reply to GETXATTR and LISTXATTR: the value if it fits, or its size if no room was offered.
pub(super) fn reply(output: &mut crate::output::Output, value: &[u8], room: u32) -> Result<(), Errno> {
    let length = u32::try_from(value.len()).map_err(|_| Errno::TOOBIG)?;
    match room {
        0 => {
            output.u32(length);
            output.u32(0);
        }
        room if length > room => return Err(Errno::RANGE),
        _ => output.bytes(value),
    }
    Ok(())
}
