use crate::Device;

/// How CREATE treats an existing file (RFC 1813 §3.3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// Open the existing file, and set its size if requested.
    Unchecked,
    /// Refuse with [`Error::Exists`](crate::Error::Exists).
    Guarded,
    /// Refuse with [`Error::Exists`](crate::Error::Exists), unless the file was created with this same verifier: then
    /// this is a retransmission. The verifier is on stable storage when the call returns, and survives a restart.
    Exclusive([u8; 8]),
}

/// A file to create other than a regular one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewNode<'a> {
    /// A directory.
    Directory,
    /// A symbolic link with this target, which is not resolved.
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
