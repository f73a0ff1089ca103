use crate::handle::HandleError;

/// Why a procedure was not carried out, in the terms of no version: each version has one table that names its status.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It would have to wait on a thread that may not.
    Defer,
    /// A delegation of the file is being recalled: later it works.
    Recalling,
    /// The file system refused.
    File(vfs::Error),
    /// The handle names no file.
    Handle(HandleError),
    /// The export is not for this client.
    NotExported,
    /// The guard's time is not the file's (NFSv3 SETATTR).
    NotSync,
    /// The client wants less than one entry of a directory.
    TooSmall,
    /// Nodes of this kind are not made by this procedure.
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

/// A fault together with what goes into the reply beside the status, such as attributes.
#[derive(Debug)]
pub(crate) struct Failed<F> {
    pub(crate) fault: Fault,
    pub(crate) body: F,
}

impl<F: Default, E: Into<Fault>> From<E> for Failed<F> {
    fn from(error: E) -> Self {
        Failed { fault: error.into(), body: F::default() }
    }
}

impl Fault {
    /// Puts `body` beside the fault; it is not asked for when the call is put off.
    pub(crate) fn with<F: Default>(self, body: impl FnOnce() -> F) -> Failed<F> {
        let body = if matches!(self, Fault::Defer) { F::default() } else { body() };
        Failed { fault: self, body }
    }
}

/// Why there is no reply of the procedure's own.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The call would have to wait.
    Defer,
    /// The arguments make no sense.
    Garbage(xdr::Error),
    /// The version has no such procedure.
    NoProcedure,
    /// The protocol wants no reply at all.
    Silent,
}

impl From<xdr::Error> for Stop {
    fn from(error: xdr::Error) -> Self {
        Stop::Garbage(error)
    }
}
