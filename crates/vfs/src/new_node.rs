use crate::Device;

/// What to do when the name of a file to create exists already (RFC 1813 §3.3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// Take the file that is there, and set its size if one is asked for.
    Unchecked,
    /// Refuse with [`Error::Exists`](crate::Error::Exists).
    Guarded,
    /// Refuse with [`Error::Exists`](crate::Error::Exists), unless that file was made with this same verifier: then it was this very call,
    /// sent again. The verifier is on stable storage when the call returns, and survives a restart.
    Exclusive([u8; 8]),
}

/// What to make besides regular files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewNode<'a> {
    /// A directory.
    Directory,
    /// A symbolic link with this target, which is not looked at.
    Symlink(&'a [u8]),
    /// A block device.
    BlockDevice(Device),
    /// A character device.
    CharDevice(Device),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}
