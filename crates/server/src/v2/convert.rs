//! Converts between the neutral types and those of the wire.
//!
//! Numbers beyond 32 bits: a larger size becomes 2³² − 1, since this version cannot read beyond it anyway. The halves
//! of file and file system numbers are combined by XOR, so that they rarely collide.

use proto::nfs2::{DirOpOk, Fattr, FileHandle, FileType, Sattr, SetTime, Time};
use vfs::{Attributes, Device, Entry, Error, FileKind, SetAttributes, Timestamp};

use crate::node::Node;

/// The block size to report for files, in bytes.
const BLOCK_BYTES: u32 = 4096;
/// The unit of `blocks`, in bytes, as in UNIX.
const USED_UNIT_BYTES: u64 = 512;
/// A mode of -1 from clients whose mode has 16 bits.
const NO_MODE_16: u32 = 0xffff;
const MICROSECONDS: u32 = 1_000_000;

/// Attributes of `node`, or of another file of its export, in wire form.
pub(super) fn fattr(node: &Node<'_>, attributes: &Attributes) -> Fattr {
    Fattr {
        file_type: file_type(attributes.kind),
        mode: kind_bits(attributes.kind) | attributes.mode,
        links: attributes.links,
        uid: attributes.uid,
        gid: attributes.gid,
        size: clamp(attributes.size_bytes),
        block_bytes: BLOCK_BYTES,
        device: device_word(attributes),
        blocks: clamp(attributes.used_bytes.div_ceil(USED_UNIT_BYTES)),
        fsid: fold(node.exported.fsid),
        fileid: fileid(attributes.fileid),
        accessed: time(attributes.accessed),
        modified: time(attributes.modified),
        changed: time(attributes.changed),
    }
}

/// The results of LOOKUP, CREATE and MKDIR for `entry` in the directory `dir`.
pub(super) fn dir_op_ok(dir: &Node<'_>, entry: &Entry) -> DirOpOk {
    let handle = dir.sibling(entry.handle).wire_handle();
    DirOpOk { file: FileHandle(handle.padded()), attributes: fattr(dir, &entry.attributes) }
}

/// The 32-bit number of a file.
pub(super) fn fileid(fileid: u64) -> u32 {
    fold(fileid)
}

fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn fold(number: u64) -> u32 {
    (number ^ (number >> 32)) as u32
}

/// A FIFO is reported as a character device with a number that no device has, as servers do since SunOS; the mode bits
/// identify it.
fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::Regular => FileType::Regular,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::BlockDevice => FileType::BlockDevice,
        FileKind::CharDevice | FileKind::Fifo => FileType::CharDevice,
        FileKind::Socket => FileType::Socket,
    }
}

/// The mode bits for the kind of file (RFC 1094 §2.3.5).
pub(super) const KIND_MASK: u32 = 0o170_000;

/// The mode bits of each kind of file.
const KINDS: [(FileKind, u32); 7] = [
    (FileKind::Fifo, 0o010_000),
    (FileKind::CharDevice, 0o020_000),
    (FileKind::Directory, 0o040_000),
    (FileKind::BlockDevice, 0o060_000),
    (FileKind::Regular, 0o100_000),
    (FileKind::Symlink, 0o120_000),
    (FileKind::Socket, 0o140_000),
];

fn kind_bits(kind: FileKind) -> u32 {
    KINDS.iter().find(|(other, _)| *other == kind).map_or(0, |(_, bits)| *bits)
}

/// The kind of file in a mode, or `None` if it contains none that UNIX has.
pub(super) fn kind(mode: u32) -> Option<FileKind> {
    KINDS.iter().find(|(_, bits)| *bits == mode & KIND_MASK).map(|(kind, _)| *kind)
}

fn device_word(attributes: &Attributes) -> u32 {
    match attributes.kind {
        FileKind::BlockDevice | FileKind::CharDevice => pack_device(attributes.device),
        FileKind::Fifo => Fattr::FIFO_DEVICE,
        _ => 0,
    }
}

/// Linux's packing of a device number: eight low bits of the minor number, twelve of the major one, and twelve more of
/// the minor one. Small numbers are then where every UNIX has them.
fn pack_device(device: Device) -> u32 {
    (device.minor & 0xff) | ((device.major & 0xfff) << 8) | ((device.minor & 0xfff00) << 12)
}

/// Unpacks a device number.
pub(super) fn unpack_device(word: u32) -> Device {
    Device { major: (word >> 8) & 0xfff, minor: (word & 0xff) | ((word >> 12) & 0xfff00) }
}

/// A time on the wire has 32 unsigned bits of seconds; times outside are clamped.
fn time(timestamp: Timestamp) -> Time {
    match u32::try_from(timestamp.seconds) {
        Ok(seconds) => Time { seconds, microseconds: timestamp.nanoseconds / 1000 },
        Err(_) if timestamp.seconds < 0 => Time { seconds: 0, microseconds: 0 },
        Err(_) => Time { seconds: u32::MAX, microseconds: MICROSECONDS - 1 },
    }
}

/// The attributes that a client requests to set.
///
/// # Errors
/// [`Error::Invalid`] for a second or more of microseconds.
pub(super) fn set_attributes(sattr: &Sattr) -> Result<SetAttributes, Error> {
    let modified = set_time(sattr.modified)?;
    let accessed = match (set_time(sattr.accessed)?, modified) {
        // A client that requests the server's time for mtime means both times.
        (Some(_), Some(vfs::SetTime::Now)) => Some(vfs::SetTime::Now),
        (accessed, _) => accessed,
    };
    Ok(SetAttributes {
        mode: sattr.mode.filter(|mode| *mode != NO_MODE_16).map(|mode| mode & 0o7777),
        uid: sattr.uid,
        gid: sattr.gid,
        size_bytes: sattr.size.map(u64::from),
        accessed,
        modified,
    })
}

fn set_time(time: SetTime) -> Result<Option<vfs::SetTime>, Error> {
    match time {
        SetTime::DontChange => Ok(None),
        SetTime::ServerTime { .. } => Ok(Some(vfs::SetTime::Now)),
        SetTime::ClientTime(Time { microseconds: MICROSECONDS.., .. }) => Err(Error::Invalid),
        SetTime::ClientTime(Time { seconds, microseconds }) => {
            Ok(Some(vfs::SetTime::To(Timestamp { seconds: i64::from(seconds), nanoseconds: microseconds * 1000 })))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_come_back_out_of_their_word() {
        for (major, minor) in [(0, 0), (8, 1), (255, 255), (4095, 0xf_ffff), (1, 256)] {
            let device = Device { major, minor };
            assert_eq!(unpack_device(pack_device(device)), device);
        }
        assert_eq!(pack_device(Device { major: 8, minor: 17 }), 0x0811, "small numbers are as in SunOS");
    }

    #[test]
    fn every_kind_comes_back_out_of_its_mode() {
        for (file_kind, bits) in KINDS {
            assert_eq!(kind(bits | 0o7777), Some(file_kind));
        }
        assert_eq!(kind(0o644), None);
    }

    #[test]
    fn server_time_of_modification_is_for_both_times() {
        let old = SetTime::ClientTime(Time { seconds: 5, microseconds: 0 });
        let sattr = Sattr { accessed: old, modified: SetTime::ServerTime { seconds: 5 }, ..Sattr::default() };
        let set = set_attributes(&sattr).unwrap();
        assert_eq!((set.accessed, set.modified), (Some(vfs::SetTime::Now), Some(vfs::SetTime::Now)));
    }

    #[test]
    fn second_of_a_million_microseconds_and_more_is_refused() {
        let bad = SetTime::ClientTime(Time { seconds: 5, microseconds: 1_000_001 });
        assert!(matches!(set_attributes(&Sattr { modified: bad, ..Sattr::default() }), Err(Error::Invalid)));
    }

    #[test]
    fn mode_of_minus_one_in_16_bits_leaves_the_mode_alone() {
        let sattr = Sattr { mode: Some(0xffff), ..Sattr::default() };
        assert!(set_attributes(&sattr).unwrap().is_empty());
    }
}
