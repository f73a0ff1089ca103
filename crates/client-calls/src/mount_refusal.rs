use std::fmt;

/// Why MOUNT was refused (RFC 1813 §5.1.5, `mountstat3`). The messages give advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MountRefusal {
    /// Only the superuser may.
    NotPermitted,
    /// There is no such export.
    NoEntry,
    /// The storage failed.
    Io,
    /// The export is not for this client.
    AccessDenied,
    /// The path is not a directory.
    NotDirectory,
    /// The path is invalid.
    Invalid,
    /// The path is too long.
    NameTooLong,
    /// The server does not support it.
    NotSupported,
    /// The server failed.
    ServerFault,
    /// A Unix error number from MOUNT version 1.
    Other(u32),
}

impl fmt::Display for MountRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MountRefusal::NotPermitted => "the server does not permit the mount; it may want a privileged port",
            MountRefusal::NoEntry => "the server has no such export; wharf showmount lists those that it has",
            MountRefusal::Io => "input/output error on the server",
            MountRefusal::AccessDenied => {
                "the server refuses this client; check the export's client list and whether it wants a privileged port"
            }
            MountRefusal::NotDirectory => "not a directory",
            MountRefusal::Invalid => "invalid argument",
            MountRefusal::NameTooLong => "the path is too long",
            MountRefusal::NotSupported => "the server does not support it",
            MountRefusal::ServerFault => "server fault",
            MountRefusal::Other(number) => return write!(f, "the server refuses the mount with error {number}"),
        })
    }
}
