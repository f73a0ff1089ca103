//! Attributes on the wire and in neutral form.

use std::time::SystemTime;

use proto::{Operation, nfs2};
use vfs::{Attributes, Device, FileKind, SetAttributes, SetTime, Timestamp};

use crate::connection::Connection;
use crate::{Result, Version, old_times};

/// The permission bits of a mode, and the kind of file above them (POSIX's S_IFMT and its values).
const MODE_BITS: u32 = 0o7777;
const KIND_BITS: u32 = 0o170_000;
const KIND_FIFO: u32 = 0o010_000;
const KIND_SOCKET: u32 = 0o140_000;
/// The unit of the block counts of UNIX servers, whatever their block size is.
const BLOCK_BYTES: u64 = 512;

pub(super) fn neutral(fattr: &nfs2::Fattr) -> Attributes {
    Attributes {
        kind: kind(fattr),
        mode: fattr.mode & MODE_BITS,
        links: fattr.links,
        uid: fattr.uid,
        gid: fattr.gid,
        size_bytes: u64::from(fattr.size),
        used_bytes: u64::from(fattr.blocks) * BLOCK_BYTES,
        device: device(fattr.device),
        fsid: u64::from(fattr.fsid),
        fileid: u64::from(fattr.fileid),
        accessed: time(fattr.accessed),
        modified: time(fattr.modified),
        changed: time(fattr.changed),
        created: None,
        change: u64::from(fattr.changed.seconds) << 32 | u64::from(fattr.changed.microseconds),
    }
}

fn kind(fattr: &nfs2::Fattr) -> FileKind {
    match fattr.file_type {
        nfs2::FileType::Regular => FileKind::Regular,
        nfs2::FileType::Directory => FileKind::Directory,
        nfs2::FileType::BlockDevice => FileKind::BlockDevice,
        nfs2::FileType::CharDevice if fattr.device == nfs2::Fattr::FIFO_DEVICE => FileKind::Fifo,
        nfs2::FileType::CharDevice => FileKind::CharDevice,
        nfs2::FileType::Symlink => FileKind::Symlink,
        nfs2::FileType::Socket => FileKind::Socket,
        nfs2::FileType::Fifo => FileKind::Fifo,
        // Servers send no type where the RFC has none; the mode tells the kind.
        nfs2::FileType::Non => match fattr.mode & KIND_BITS {
            KIND_FIFO => FileKind::Fifo,
            KIND_SOCKET => FileKind::Socket,
            _ => FileKind::Regular,
        },
    }
}

/// A time; its seconds are unsigned (RFC 1094 §2.3.4).
fn time(time: nfs2::Time) -> Timestamp {
    Timestamp { seconds: i64::from(time.seconds), nanoseconds: time.microseconds.min(999_999) * 1000 }
}

/// A device as Linux encodes it in 32 bits: minor bits 0 to 7, major 12 bits, minor bits 8 to 19.
fn device(word: u32) -> Device {
    Device { major: word >> 8 & 0xfff, minor: word & 0xff | word >> 12 & 0xf_ff00 }
}

pub(super) fn wire_device(device: Device) -> u32 {
    device.minor & 0xff | (device.major & 0xfff) << 8 | (device.minor & 0xf_ff00) << 12
}

/// The attributes to set, with the size in this version's width.
///
/// # Errors
/// [`Reason::TimeOutOfRange`](crate::Reason::TimeOutOfRange).
pub(super) fn wire_set<O: Operation>(
    connection: &Connection,
    set: &SetAttributes,
    size: Option<u32>,
) -> Result<nfs2::Sattr> {
    let time = |time| wire_set_time::<O>(connection, time);
    Ok(nfs2::Sattr {
        mode: set.mode,
        uid: set.uid,
        gid: set.gid,
        size,
        accessed: time(set.accessed)?,
        modified: time(set.modified)?,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that ignores the mark of its own time takes the client's time of day"
)]
fn wire_set_time<O: Operation>(connection: &Connection, set: Option<SetTime>) -> Result<nfs2::SetTime> {
    Ok(match set {
        None => nfs2::SetTime::DontChange,
        Some(SetTime::Now) => nfs2::SetTime::ServerTime { seconds: Timestamp::from(SystemTime::now()).seconds as u32 },
        Some(SetTime::To(time)) => {
            let seconds = old_times::wire_seconds::<O>(connection, Version::V2, time)?;
            nfs2::SetTime::ClientTime(nfs2::Time { seconds, microseconds: time.nanoseconds / 1000 })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_comes_back_out_of_its_word() {
        for (major, minor) in [(8, 1), (259, 0xf_ffff), (0xfff, 256), (0, 0)] {
            let found = Device { major, minor };
            assert_eq!(device(wire_device(found)), found);
        }
    }
}
