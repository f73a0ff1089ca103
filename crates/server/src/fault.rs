use crate::handle::HandleError;

/// The reason why a procedure failed, independent of the version: each version maps it to a status in one table.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The call would block on a thread that must not.
    Defer,
    /// A delegation of the file is being recalled: the client retries later.
    Recalling,
    /// The file system refused.
    File(vfs::Error),
    /// The handle resolves to no file.
    Handle(HandleError),
    /// The file is not exported to this client.
    NotExported,
    /// The guard's time differs from the file's (NFSv3 SETATTR).
    NotSync,
    /// The client's limit has no room for one directory entry.
    TooSmall,
    /// This procedure does not make nodes of this kind.
    BadType,
}

impl From<vfs::Error> for Fault {
    fn from(error: vfs::Error) -> Self {
        match error {
            vfs::Error::WouldBlock => Fault::Defer,
            error => Fault::File(error),
        }
    }
}

impl From<HandleError> for Fault {
    fn from(error: HandleError) -> Self {
        Fault::Handle(error)
    }
}

impl From<vfs::NameError> for Fault {
    fn from(error: vfs::NameError) -> Self {
        Fault::File(match error {
            vfs::NameError::TooLong => vfs::Error::NameTooLong,
            vfs::NameError::Empty | vfs::NameError::BadByte => vfs::Error::AccessDenied,
            vfs::NameError::Dots => vfs::Error::Exists,
        })
    }
}

/// A fault with the part of the reply beside the status, such as attributes.
#[derive(Debug)]
pub(crate) struct FaultReply<F> {
    pub(crate) fault: Fault,
    pub(crate) body: F,
}

impl<F: Default, E: Into<Fault>> From<E> for FaultReply<F> {
    fn from(error: E) -> Self {
        FaultReply { fault: error.into(), body: F::default() }
    }
}

impl Fault {
    /// Adds `body` to the fault; it is not evaluated when the call is deferred.
    pub(crate) fn with<F: Default>(self, body: impl FnOnce() -> F) -> FaultReply<F> {
        let body = if matches!(self, Fault::Defer) { F::default() } else { body() };
        FaultReply { fault: self, body }
    }
}

/// The reason why a call has no reply of its procedure.
#[derive(Debug)]
pub(crate) enum NoResults {
    /// The call would block.
    Defer,
    /// The arguments cannot be decoded.
    Garbage(xdr::Error),
    /// The version has no such procedure.
    NoProcedure,
    /// The protocol requires no reply at all.
    Silent,
}

impl From<xdr::Error> for NoResults {
    fn from(error: xdr::Error) -> Self {
        NoResults::Garbage(error)
    }
}
