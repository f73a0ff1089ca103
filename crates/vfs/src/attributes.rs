use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What kind of file a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file: bytes.
    Regular,
    /// A directory: names.
    Directory,
    /// A symbolic link: a path that the client follows.
    Symlink,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharDevice,
    /// A named pipe.
    Fifo,
    /// A Unix-domain socket.
    Socket,
}

/// The numbers of a device file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Device {
    /// The driver.
    pub major: u32,
    /// The device of that driver.
    pub minor: u32,
}

/// A point in time, in seconds and nanoseconds since 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds within the second, below 1 000 000 000.
    pub nanoseconds: u32,
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp { seconds: since.as_secs().cast_signed(), nanoseconds: since.subsec_nanos() },
            Err(before) => Timestamp::before_epoch(before.duration()),
        }
    }
}

impl Timestamp {
    fn before_epoch(distance: Duration) -> Timestamp {
        let seconds = -distance.as_secs().cast_signed();
        match distance.subsec_nanos() {
            0 => Timestamp { seconds, nanoseconds: 0 },
            nanoseconds => Timestamp { seconds: seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds },
        }
    }
}

/// The attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The kind of file.
    pub kind: FileKind,
    /// The twelve permission bits (`0o7777`), without the kind.
    pub mode: u32,
    /// The number of names that lead to the file.
    pub links: u32,
    /// The user who owns it.
    pub uid: u32,
    /// The group that owns it.
    pub gid: u32,
    /// Its length, in bytes.
    pub size_bytes: u64,
    /// The space it takes, in bytes.
    pub used_bytes: u64,
    /// The device that it stands for, when it is a device file.
    pub device: Device,
    /// The file system that it is in.
    pub fsid: u64,
    /// Its number within that file system (the inode number).
    pub fileid: u64,
    /// When it was last read.
    pub accessed: Timestamp,
    /// When its data last changed.
    pub modified: Timestamp,
    /// When its data or attributes last changed.
    pub changed: Timestamp,
    /// When it was created, if the file system stores that.
    pub created: Option<Timestamp>,
    /// A number that changes with every change of the file's data, names or attributes.
    pub change: u64,
}

impl Attributes {
    /// Attributes of an empty file that belongs to root, is readable by everybody, writable by nobody, has one name and
    /// all times at 1970.
    pub fn new(kind: FileKind, fileid: u64) -> Attributes {
        let mode = if kind == FileKind::Directory { 0o555 } else { 0o444 };
        let epoch = Timestamp::default();
        Attributes {
            kind,
            mode,
            links: 1,
            uid: 0,
            gid: 0,
            size_bytes: 0,
            used_bytes: 0,
            device: Device::default(),
            fsid: 0,
            fileid,
            accessed: epoch,
            modified: epoch,
            changed: epoch,
            created: None,
            change: 0,
        }
    }
}

/// The new value of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The current time of the file system.
    Now,
    /// This time.
    To(Timestamp),
}

/// Attributes to set; `None` leaves one unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAttributes {
    /// The twelve permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The owning group.
    pub gid: Option<u32>,
    /// The size in bytes: truncates the file, or extends it with zeros.
    pub size_bytes: Option<u64>,
    /// The access time.
    pub accessed: Option<SetTime>,
    /// The modification time.
    pub modified: Option<SetTime>,
}

impl SetAttributes {
    /// Whether there is nothing to set.
    pub fn is_empty(&self) -> bool {
        *self == SetAttributes::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_before_1970_keeps_its_nanoseconds_positive() {
        let time = UNIX_EPOCH - Duration::new(1, 250_000_000);
        assert_eq!(Timestamp::from(time), Timestamp { seconds: -2, nanoseconds: 750_000_000 });
    }
}
