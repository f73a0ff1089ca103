//! Attributes on the wire and in neutral form.

use buffer::Buffer;
use proto::nfs4::{
    Attribute, AttributeValue, Bitmap, Fattr, FattrError, FileHandle, FileType, Fsid, Principal,
    SetTime as WireSetTime, SpecData, Status, Time,
};
use vfs::{Attributes, Device, FileKind, SetAttributes, SetTime, Timestamp};
use xdr::{Decode, Decoder};

use super::owners;
use crate::FileVersion;
use crate::{Handle, Lie, Reason};

/// The permission bits of a mode.
const MODE_BITS: u32 = 0o7777;

/// The attributes that fill [`Attributes`].
pub const ALL: Bitmap = Attribute::set(&[
    Attribute::Type,
    Attribute::Change,
    Attribute::Size,
    Attribute::Fsid,
    Attribute::FileId,
    Attribute::Mode,
    Attribute::NumLinks,
    Attribute::Owner,
    Attribute::OwnerGroup,
    Attribute::RawDev,
    Attribute::SpaceUsed,
    Attribute::TimeAccess,
    Attribute::TimeCreate,
    Attribute::TimeMetadata,
    Attribute::TimeModify,
]);

/// The attributes that make up a [`FileVersion`].
pub(super) const VERSION: Bitmap = Attribute::set(&VERSION_PARTS);
const VERSION_PARTS: [Attribute; 3] = [Attribute::Change, Attribute::Size, Attribute::TimeModify];

/// What the server returned for a directory entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) attributes: Attributes,
    pub(super) handle: Option<Handle>,
    /// The server's `rdattr_error`: why it returned no other attributes.
    pub(super) error: Option<Status>,
    /// Whether the type is there, which every file has.
    is_whole: bool,
}

impl Listed {
    /// The entry, unless its handle or its type is missing or the server reported an error.
    pub(super) fn entry(&self) -> Option<crate::Entry> {
        let handle = self.handle.filter(|_| self.is_whole && self.error.is_none())?;
        Some(crate::Entry { handle, attributes: self.attributes })
    }
}

/// The attributes of a file.
pub fn neutral(fattr: &Fattr<'_>) -> Result<Attributes, Reason> {
    let listed = listed(fattr)?;
    if listed.is_whole { Ok(listed.attributes) } else { Err(Reason::Lie(Lie::NoAttribute("type"))) }
}

/// The version of a file, if the reply has all parts of it.
pub(super) fn version(fattr: &Fattr<'_>) -> Option<FileVersion> {
    let is_whole = VERSION_PARTS.iter().all(|part| fattr.mask.contains(part.number()));
    let listed = listed(fattr).ok().filter(|_| is_whole)?;
    Some(FileVersion::of(&listed.attributes))
}

/// Decodes the attributes of a directory entry.
pub(super) fn listed(fattr: &Fattr<'_>) -> Result<Listed, Reason> {
    let attributes = Attributes::new(FileKind::Regular, 0);
    let is_whole = fattr.mask.contains(Attribute::Type.number());
    let mut listed = Listed { attributes, handle: None, error: None, is_whole };
    fattr.read(|attribute, from| listed.take(attribute, from)).map_err(bad)?;
    if !fattr.mask.contains(Attribute::SpaceUsed.number()) {
        listed.attributes.used_bytes = listed.attributes.size_bytes;
    }
    Ok(listed)
}

/// The error for attributes that cannot be decoded.
pub(super) fn bad(error: FattrError) -> Reason {
    match error {
        FattrError::Value(source) => Reason::BadReply(source),
        FattrError::NotSupported { .. } | FattrError::Trailing { .. } => {
            Reason::Lie(Lie::NoAttribute("that was asked for"))
        }
    }
}

impl Listed {
    /// Reads the value of an attribute.
    fn take(&mut self, attribute: Attribute, from: &mut Decoder<'_>) -> Result<(), FattrError> {
        let to = &mut self.attributes;
        match attribute {
            Attribute::Type => to.kind = file_kind(FileType::decode(from)?),
            Attribute::Change => to.change = from.u64()?,
            Attribute::Size => to.size_bytes = from.u64()?,
            Attribute::Fsid => to.fsid = one_number(Fsid::decode(from)?),
            Attribute::FileId => to.fileid = from.u64()?,
            Attribute::Mode => to.mode = from.u32()? & MODE_BITS,
            Attribute::NumLinks => to.links = from.u32()?,
            Attribute::Owner => to.uid = owners::uid(Principal::decode(from)?.0),
            Attribute::OwnerGroup => to.gid = owners::gid(Principal::decode(from)?.0),
            Attribute::RawDev => to.device = device(SpecData::decode(from)?),
            Attribute::SpaceUsed => to.used_bytes = from.u64()?,
            Attribute::TimeAccess => to.accessed = time(Time::decode(from)?),
            Attribute::TimeCreate => to.created = Some(time(Time::decode(from)?)),
            Attribute::TimeMetadata => to.changed = time(Time::decode(from)?),
            Attribute::TimeModify => to.modified = time(Time::decode(from)?),
            Attribute::FileHandle => self.handle = Some(FileHandle::decode(from)?.into()),
            Attribute::RdattrError => self.error = Some(Status::decode(from)?).filter(|status| *status != Status::Ok),
            other => AttributeValue::skip(other, from)?,
        }
        Ok(())
    }
}

fn file_kind(kind: FileType) -> FileKind {
    match kind {
        // Only OPENATTR leads to named attributes, and this client does not send it.
        FileType::Regular | FileType::NamedAttribute => FileKind::Regular,
        FileType::Directory | FileType::AttributeDirectory => FileKind::Directory,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::CharDevice => FileKind::CharDevice,
        FileType::Symlink => FileKind::Symlink,
        FileType::Socket => FileKind::Socket,
        FileType::Fifo => FileKind::Fifo,
    }
}

/// Folds both halves of an fsid into one number. A change of one half always changes it.
fn one_number(fsid: Fsid) -> u64 {
    fsid.major ^ fsid.minor.rotate_left(u64::BITS / 2)
}

fn device(device: SpecData) -> Device {
    Device { major: device.major, minor: device.minor }
}

fn time(time: Time) -> Timestamp {
    Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds.min(999_999_999) }
}

/// Encodes the attributes to set; `buffer` holds their values.
pub fn wire_set<'b>(set: &SetAttributes, buffer: &'b mut Buffer) -> Fattr<'b> {
    let (uid, gid) = (set.uid.map(|uid| uid.to_string()), set.gid.map(|gid| gid.to_string()));
    // `Fattr::collect` requires ascending attribute numbers.
    let values = [
        set.size_bytes.map(AttributeValue::Size),
        set.mode.map(AttributeValue::Mode),
        uid.as_ref().map(|uid| AttributeValue::Owner(Principal(uid.as_bytes()))),
        gid.as_ref().map(|gid| AttributeValue::OwnerGroup(Principal(gid.as_bytes()))),
        set.accessed.map(|time| AttributeValue::TimeAccessSet(wire_time(time))),
        set.modified.map(|time| AttributeValue::TimeModifySet(wire_time(time))),
    ];
    let values: Vec<AttributeValue<'_>> = values.into_iter().flatten().collect();
    Fattr::collect(&values, buffer)
}

fn wire_time(time: SetTime) -> WireSetTime {
    match time {
        SetTime::Now => WireSetTime::ServerTime,
        SetTime::To(time) => WireSetTime::ClientTime(Time { seconds: time.seconds, nanoseconds: time.nanoseconds }),
    }
}

/// Encodes the numbers of a device.
pub fn wire_device(device: Device) -> SpecData {
    SpecData { major: device.major, minor: device.minor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_without_a_kind_are_no_file() {
        let mut buffer = Buffer::new();
        let fattr = Fattr::collect(&[AttributeValue::Size(7)], &mut buffer);
        assert!(matches!(neutral(&fattr), Err(Reason::Lie(Lie::NoAttribute("type")))));
    }

    #[test]
    fn what_is_set_comes_back_and_nothing_else() {
        let mut buffer = Buffer::new();
        let set = SetAttributes { mode: Some(0o640), uid: Some(7), size_bytes: Some(9), ..SetAttributes::default() };
        let fattr = wire_set(&set, &mut buffer);
        let found = listed(&fattr).unwrap().attributes;
        assert_eq!((found.mode, found.uid, found.size_bytes, found.used_bytes), (0o640, 7, 9, 9));
        assert_eq!(fattr.mask.iter().count(), 3);
    }

    #[test]
    fn every_attribute_is_read_as_the_type_that_it_has() {
        let time = |seconds| Time { seconds, nanoseconds: 5 };
        let values = [
            AttributeValue::Type(FileType::Symlink),
            AttributeValue::Change(1 << 40),
            AttributeValue::Size(2 << 40),
            AttributeValue::Fsid(Fsid { major: 3, minor: 0 }),
            AttributeValue::RdattrError(Status::Access),
            AttributeValue::FileHandle(FileHandle::new(b"handle").unwrap()),
            AttributeValue::FileId(4 << 40),
            AttributeValue::MaxName(255),
            AttributeValue::Mode(0o100_640),
            AttributeValue::NumLinks(5),
            AttributeValue::Owner(Principal(b"6")),
            AttributeValue::OwnerGroup(Principal(b"7")),
            AttributeValue::RawDev(SpecData { major: 8, minor: 9 }),
            AttributeValue::SpaceUsed(10 << 40),
            AttributeValue::TimeAccess(time(11)),
            AttributeValue::TimeCreate(time(12)),
            AttributeValue::TimeMetadata(time(13)),
            AttributeValue::TimeModify(time(14)),
        ];
        let mut buffer = Buffer::new();
        let found = listed(&Fattr::collect(&values, &mut buffer)).unwrap();
        let at = |seconds| Timestamp { seconds, nanoseconds: 5 };
        let expected = Attributes {
            mode: 0o640,
            links: 5,
            uid: 6,
            gid: 7,
            size_bytes: 2 << 40,
            used_bytes: 10 << 40,
            device: Device { major: 8, minor: 9 },
            fsid: 3,
            accessed: at(11),
            modified: at(14),
            changed: at(13),
            created: Some(at(12)),
            change: 1 << 40,
            ..Attributes::new(FileKind::Symlink, 4 << 40)
        };
        assert_eq!(found.attributes, expected);
        assert_eq!((found.handle, found.error), (Handle::new(b"handle"), Some(Status::Access)));
    }

    #[test]
    fn entry_whose_attributes_could_not_be_read_is_none() {
        let mut buffer = Buffer::new();
        let fattr = Fattr::collect(&[AttributeValue::RdattrError(Status::Access)], &mut buffer);
        let listed = listed(&fattr).unwrap();
        assert_eq!((listed.error, listed.entry()), (Some(Status::Access), None));
    }
}
