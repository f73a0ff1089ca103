//! Converts between the neutral types and those of the wire.

use proto::nfs3::{Fattr, FileHandle, FileType, PostOpAttr, Sattr, SetTime, SpecData, Time, WccAttr};
use vfs::{Attributes, Error, FileKind, SetAttributes, Timestamp};

use crate::node::Node;

/// The attributes of `node`, or `None` when fetching them fails.
pub(super) fn post_op(node: &Node<'_>) -> PostOpAttr {
    node.attributes().ok().map(|attributes| fattr(node, &attributes))
}

/// Attributes of `node`, or of another file of its export, in wire form.
pub(super) fn fattr(node: &Node<'_>, attributes: &Attributes) -> Fattr {
    Fattr {
        file_type: file_type(attributes.kind),
        mode: attributes.mode,
        links: attributes.links,
        uid: attributes.uid,
        gid: attributes.gid,
        size: attributes.size_bytes,
        used: attributes.used_bytes,
        device: SpecData { major: attributes.device.major, minor: attributes.device.minor },
        fsid: node.exported.fsid,
        fileid: attributes.fileid,
        accessed: time(attributes.accessed),
        modified: time(attributes.modified),
        changed: time(attributes.changed),
    }
}

/// The attributes by which a client detects a change of a file.
pub(super) fn wcc_attr(attributes: &Attributes) -> WccAttr {
    WccAttr { size: attributes.size_bytes, modified: time(attributes.modified), changed: time(attributes.changed) }
}

fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::Regular => FileType::Regular,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::BlockDevice => FileType::BlockDevice,
        FileKind::CharDevice => FileType::CharDevice,
        FileKind::Fifo => FileType::Fifo,
        FileKind::Socket => FileType::Socket,
    }
}

/// A time on the wire has 32 unsigned bits of seconds (RFC 1813 §2.5); times outside are clamped.
pub(super) fn time(timestamp: Timestamp) -> Time {
    match u32::try_from(timestamp.seconds) {
        Ok(seconds) => Time { seconds, nanoseconds: timestamp.nanoseconds },
        Err(_) if timestamp.seconds < 0 => Time { seconds: 0, nanoseconds: 0 },
        Err(_) => Time { seconds: u32::MAX, nanoseconds: 999_999_999 },
    }
}

/// The NFSv3 form of the handle.
pub(super) fn file_handle(node: &Node<'_>) -> FileHandle {
    let wire = node.wire_handle();
    FileHandle::new(wire.as_bytes()).expect("our handles are shorter than 64 bytes")
}

/// The attributes that a client requests to set.
///
/// # Errors
/// [`Error::Invalid`] for a second or more of nanoseconds.
pub(super) fn set_attributes(sattr: &Sattr) -> Result<SetAttributes, Error> {
    Ok(SetAttributes {
        mode: sattr.mode.map(|mode| mode & 0o7777),
        uid: sattr.uid,
        gid: sattr.gid,
        size_bytes: sattr.size,
        accessed: set_time(sattr.accessed)?,
        modified: set_time(sattr.modified)?,
    })
}

fn set_time(time: SetTime) -> Result<Option<vfs::SetTime>, Error> {
    match time {
        SetTime::DontChange => Ok(None),
        SetTime::ServerTime => Ok(Some(vfs::SetTime::Now)),
        SetTime::ClientTime(Time { nanoseconds: 1_000_000_000.., .. }) => Err(Error::Invalid),
        SetTime::ClientTime(Time { seconds, nanoseconds }) => {
            Ok(Some(vfs::SetTime::To(Timestamp { seconds: i64::from(seconds), nanoseconds })))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outside_of_32_bits_goes_to_the_nearest_end() {
        let at = |seconds| time(Timestamp { seconds, nanoseconds: 5 });
        assert_eq!(at(-1), Time { seconds: 0, nanoseconds: 0 });
        assert_eq!(at(4_294_967_295), Time { seconds: u32::MAX, nanoseconds: 5 });
        assert_eq!(at(4_294_967_296), Time { seconds: u32::MAX, nanoseconds: 999_999_999 });
    }

    #[test]
    fn nanoseconds_that_mean_now_to_the_operating_system_are_refused() {
        const UTIME_NOW: u32 = 0x3fff_ffff;
        let sattr =
            Sattr { modified: SetTime::ClientTime(Time { seconds: 1, nanoseconds: UTIME_NOW }), ..Sattr::default() };
        assert!(matches!(set_attributes(&sattr), Err(Error::Invalid)));
    }
}
