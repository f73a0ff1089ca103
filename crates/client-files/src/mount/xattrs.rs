//! Extended attributes of users, by names without Linux's prefix `user.` (RFC 8276). Only NFSv4.2 has them.

use super::Mount;
use crate::{Handle, Reason, Result, Status, Version, XattrMode, v4};

/// Repeats a call on a file while the server asks to try later.
macro_rules! patiently {
    ($mount:expr, $file:expr, $call:expr) => {{
        let mut patience = $mount.patience();
        loop {
            match $call.await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                other => break other.map_err(|error| $mount.drop_stale($file, error)),
            }
        }
    }};
}

impl Mount {
    /// The value of an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] if there is none of that name; [`Reason::NotInVersion`] before NFSv4.2; other errors
    /// of the server.
    pub async fn getxattr(&self, file: &Handle, name: &[u8]) -> Result<Vec<u8>> {
        patiently!(self, file, v4::getxattr(self.with_xattrs("GETXATTR")?, file, name))
    }

    /// The value of an extended attribute, or `None` if there is none of that name.
    #[doc(hidden)]
    pub async fn getxattr_if_there(&self, file: &Handle, name: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.getxattr(file, name).await {
            Err(error) if error.status() == Some(Status::NoXattr) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::Exists`] and [`crate::Status::NoXattr`], depending on `mode`; [`Reason::NotInVersion`] before
    /// NFSv4.2; other errors of the server, which limits names and values.
    pub async fn setxattr(&self, file: &Handle, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let client = self.with_xattrs("SETXATTR")?;
        // This changes the file's change attribute and ctime.
        let _change = self.change([file]);
        patiently!(self, file, v4::setxattr(client, file, name, value, mode))
    }

    /// The names of all extended attributes of a file, in the server's order.
    ///
    /// # Errors
    /// [`Reason::NotInVersion`] before NFSv4.2; [`Reason::Lie`] if the list has no end; other errors of the server.
    pub async fn listxattrs(&self, file: &Handle) -> Result<Vec<Vec<u8>>> {
        patiently!(self, file, v4::listxattrs(self.with_xattrs("LISTXATTRS")?, file))
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// As for [`Mount::getxattr`].
    pub async fn removexattr(&self, file: &Handle, name: &[u8]) -> Result<()> {
        let client = self.with_xattrs("REMOVEXATTR")?;
        let _change = self.change([file]);
        patiently!(self, file, v4::removexattr(client, file, name))
    }

    /// The client, if its version has extended attributes (RFC 8276 §8).
    fn with_xattrs(&self, operation: &'static str) -> Result<&v4::Client> {
        match self.version() {
            Version::V4_2 => self.v4(),
            older => Err(self.error(operation, Reason::NotInVersion(older))),
        }
    }
}
