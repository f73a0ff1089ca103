//! Extended attributes of the user's, by their names without `user.` in front (RFC 8276). Only NFSv4.2 has them.

use super::Mount;
use crate::{Handle, Result, XattrMode, v4};

/// Calls again while the server asks to try later.
macro_rules! patiently {
    ($mount:expr, $call:expr) => {{
        let mut patience = $mount.patience();
        loop {
            match $call.await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                other => break other,
            }
        }
    }};
}

impl Mount {
    /// The value of an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] when there is none of that name; what else the server says.
    pub async fn getxattr(&self, file: &Handle, name: &[u8]) -> Result<Vec<u8>> {
        patiently!(self, v4::getxattr(self.v4()?, file, name))
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::Exists`] and [`crate::Status::NoXattr`] as `mode` says; what else the server says.
    pub async fn setxattr(&self, file: &Handle, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        patiently!(self, v4::setxattr(self.v4()?, file, (name, value), mode))
    }

    /// The names of all extended attributes of a file.
    ///
    /// # Errors
    /// What the server says; [`crate::Reason::Lie`] when the list has no end.
    pub async fn listxattrs(&self, file: &Handle) -> Result<Vec<Vec<u8>>> {
        patiently!(self, v4::listxattrs(self.v4()?, file))
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] when there is none of that name; what else the server says.
    pub async fn removexattr(&self, file: &Handle, name: &[u8]) -> Result<()> {
        patiently!(self, v4::removexattr(self.v4()?, file, name))
    }
}
