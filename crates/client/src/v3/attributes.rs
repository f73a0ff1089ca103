//! Attributes on the wire and in neutral form.

use proto::nfs3;
use vfs::{Attributes, Device, FileKind, SetAttributes, SetTime, Timestamp};

use crate::types::{DirChange, FileChange, FileVersion};

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

/// What a reply tells of a directory that was changed (RFC 1813 §2.6).
pub(super) fn dir_change(wcc: &nfs3::WccData) -> DirChange {
    DirChange { before: wcc.before.map(|before| change(before.changed)), after: wcc.after.as_ref().map(neutral) }
}

/// What a reply tells of a file whose bytes were changed (RFC 1813 §2.6).
pub(super) fn file_change(wcc: &nfs3::WccData) -> FileChange {
    let version = |before: nfs3::WccAttr| FileVersion {
        change: change(before.changed),
        modified: time(before.modified),
        size_bytes: before.size,
    };
    FileChange { before: wcc.before.map(version), after: wcc.after.as_ref().map(neutral) }
}

/// The time of the last change, as the number that this version lacks.
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

/// A time. Servers keep times before 1970 and after 2106 modulo 2³² seconds; the range here is that of Linux's client.
fn time(time: nfs3::Time) -> Timestamp {
    Timestamp { seconds: i64::from(time.seconds.cast_signed()), nanoseconds: time.nanoseconds.min(999_999_999) }
}

/// The time as the wire has it: seconds modulo 2³².
pub(super) fn wire_time(time: Timestamp) -> nfs3::Time {
    nfs3::Time { seconds: time.seconds as u32, nanoseconds: time.nanoseconds }
}

pub(super) fn wire_set(set: &SetAttributes) -> nfs3::Sattr {
    nfs3::Sattr {
        mode: set.mode,
        uid: set.uid,
        gid: set.gid,
        size: set.size_bytes,
        accessed: wire_set_time(set.accessed),
        modified: wire_set_time(set.modified),
    }
}

fn wire_set_time(set: Option<SetTime>) -> nfs3::SetTime {
    match set {
        None => nfs3::SetTime::DontChange,
        Some(SetTime::Now) => nfs3::SetTime::ServerTime,
        Some(SetTime::To(time)) => nfs3::SetTime::ClientTime(wire_time(time)),
    }
}
