//! Attributes on the wire and in neutral form.

use proto::{Operation, nfs3};
use vfs::{Attributes, Device, FileKind, SetAttributes, SetTime, Timestamp};

use crate::connection::Connection;
use crate::types::{DirChange, FileChange, FileVersion};
use crate::{Result, Version, old_times};

/// The permission bits of a mode.
const MODE_BITS: u32 = 0o7777;

pub(super) fn neutral(fattr: &nfs3::Fattr) -> Attributes {
    Attributes {
        kind: kind(fattr.file_type),
        mode: fattr.mode & MODE_BITS,
        links: fattr.links,
        uid: fattr.uid,
        gid: fattr.gid,
        size_bytes: fattr.size,
        used_bytes: fattr.used,
        device: Device { major: fattr.device.major, minor: fattr.device.minor },
        fsid: fattr.fsid,
        fileid: fattr.fileid,
        accessed: time(fattr.accessed),
        modified: time(fattr.modified),
        changed: time(fattr.changed),
        created: None,
        change: change(fattr.changed),
    }
}

/// The change of a directory, as far as the reply has it (RFC 1813 §2.6).
pub(super) fn dir_change(wcc: &nfs3::WccData) -> DirChange {
    DirChange { before: wcc.before.map(|before| change(before.changed)), after: wcc.after.as_ref().map(neutral) }
}

/// The change of a file's data, as far as the reply has it (RFC 1813 §2.6).
pub(super) fn file_change(wcc: &nfs3::WccData) -> FileChange {
    let version = |before: nfs3::WccAttr| FileVersion {
        change: change(before.changed),
        modified: time(before.modified),
        size_bytes: before.size,
    };
    FileChange { before: wcc.before.map(version), after: wcc.after.as_ref().map(neutral) }
}

/// ctime as a change number, which this version lacks.
fn change(changed: nfs3::Time) -> u64 {
    u64::from(changed.seconds) << 32 | u64::from(changed.nanoseconds)
}

fn kind(file_type: nfs3::FileType) -> FileKind {
    match file_type {
        nfs3::FileType::Regular => FileKind::Regular,
        nfs3::FileType::Directory => FileKind::Directory,
        nfs3::FileType::BlockDevice => FileKind::BlockDevice,
        nfs3::FileType::CharDevice => FileKind::CharDevice,
        nfs3::FileType::Symlink => FileKind::Symlink,
        nfs3::FileType::Socket => FileKind::Socket,
        nfs3::FileType::Fifo => FileKind::Fifo,
    }
}

/// A time; its seconds are unsigned (RFC 1813 §2.5).
fn time(time: nfs3::Time) -> Timestamp {
    Timestamp { seconds: i64::from(time.seconds), nanoseconds: time.nanoseconds.min(999_999_999) }
}

/// The attributes to set.
///
/// # Errors
/// [`Reason::TimeOutOfRange`](crate::Reason::TimeOutOfRange).
pub(super) fn wire_set<O: Operation>(connection: &Connection, set: &SetAttributes) -> Result<nfs3::Sattr> {
    let time = |time| wire_set_time::<O>(connection, time);
    Ok(nfs3::Sattr {
        mode: set.mode,
        uid: set.uid,
        gid: set.gid,
        size: set.size_bytes,
        accessed: time(set.accessed)?,
        modified: time(set.modified)?,
    })
}

fn wire_set_time<O: Operation>(connection: &Connection, set: Option<SetTime>) -> Result<nfs3::SetTime> {
    Ok(match set {
        None => nfs3::SetTime::DontChange,
        Some(SetTime::Now) => nfs3::SetTime::ServerTime,
        Some(SetTime::To(time)) => {
            let seconds = old_times::wire_seconds::<O>(connection, Version::V3, time)?;
            nfs3::SetTime::ClientTime(nfs3::Time { seconds, nanoseconds: time.nanoseconds })
        }
    })
}
