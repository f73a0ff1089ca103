//! Names of extended attributes: the file system has those of users only, without what operating systems put in front.

use rustix::io::Errno;
use vfs::{Error, XattrName};

/// What Linux puts in front.
pub(super) const PREFIX: &[u8] = b"user.";

/// The name without its beginning.
pub(super) fn parse(text: &[u8]) -> Result<XattrName<'_>, Errno> {
    let name = text.strip_prefix(PREFIX).ok_or(Errno::OPNOTSUPP)?;
    XattrName::new(name).map_err(|_| Errno::RANGE)
}

/// What an error means where names are those of attributes.
pub(super) fn errno(error: Error) -> Errno {
    match error {
        Error::NoEntry => Errno::NODATA,
        Error::FileTooBig => Errno::TOOBIG,
        error => crate::errno::errno(error),
    }
}

/// What GETXATTR and LISTXATTR answer: the value if there is room for it, or how much room it needs if none was offered.
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
