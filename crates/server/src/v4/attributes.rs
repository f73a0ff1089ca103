//! Encodes the attributes of a file (RFC 7530 §5, RFC 8881 §5).

use proto::nfs4::{
    ACL_SUPPORT_ALLOW, ACL_SUPPORT_DENY, Attribute, Bitmap, FH_PERSISTENT, Fattr, FileType, MinorVersion, Status, Time,
};
use vfs::{Attributes, FileKind, Properties, Timestamp};
use xdr::{Encode, Encoder, Space};

use super::acl::Nfs4Acl;
use super::compound::Compound;
use super::failure::OpResult;
use super::owner;
use crate::node::Node;
use crate::transfer;

/// The attributes that every minor version supports.
const IN_ALL_VERSIONS: Bitmap = {
    use Attribute as A;
    Attribute::set(&[
        A::SupportedAttrs,
        A::Type,
        A::FhExpireType,
        A::Change,
        A::Size,
        A::LinkSupport,
        A::SymlinkSupport,
        A::NamedAttr,
        A::Fsid,
        A::UniqueHandles,
        A::LeaseTime,
        A::RdattrError,
        A::CanSetTime,
        A::CaseInsensitive,
        A::CasePreserving,
        A::ChownRestricted,
        A::FileHandle,
        A::FileId,
        A::FilesAvail,
        A::FilesFree,
        A::FilesTotal,
        A::Homogeneous,
        A::MaxFileSize,
        A::MaxLink,
        A::MaxName,
        A::MaxRead,
        A::MaxWrite,
        A::Mode,
        A::NoTrunc,
        A::NumLinks,
        A::Owner,
        A::OwnerGroup,
        A::RawDev,
        A::SpaceAvail,
        A::SpaceFree,
        A::SpaceTotal,
        A::SpaceUsed,
        A::TimeAccess,
        A::TimeAccessSet,
        A::TimeDelta,
        A::TimeMetadata,
        A::TimeModify,
        A::TimeModifySet,
        A::MountedOnFileId,
    ])
};

/// The attributes that an exclusive create can set. Times are excluded, since a file system may keep the verifier in
/// them (RFC 8881 §5.8.1.14). From 4.2 on, the umask is included, as clients leave it to the server (RFC 8275 §3).
pub(super) fn settable_on_exclusive_create(minor: MinorVersion) -> Bitmap {
    let mut all = Attribute::set(&[Attribute::Size, Attribute::Mode, Attribute::Owner, Attribute::OwnerGroup]);
    if minor >= MinorVersion::V2 {
        all.insert(Attribute::ModeUmask.number());
    }
    all
}

/// The attributes that a minor version supports for a file of a file system. Clients cannot set the time of its
/// creation, which `attributes` may have.
pub(super) fn supported(minor: MinorVersion, properties: &Properties, attributes: &Attributes) -> Bitmap {
    let mut all = supported_for_all(minor, properties);
    if attributes.created.is_some() {
        all.insert(Attribute::TimeCreate.number());
    }
    all
}

/// Those of the supported attributes that every file of the file system has.
pub(super) fn supported_for_all(minor: MinorVersion, properties: &Properties) -> Bitmap {
    let mut all = IN_ALL_VERSIONS;
    if properties.acls {
        all.insert(Attribute::Acl.number());
        all.insert(Attribute::AclSupport.number());
    }
    if properties.acls && minor >= MinorVersion::V1 {
        all.insert(Attribute::Dacl.number());
    }
    if minor >= MinorVersion::V1 {
        all.insert(Attribute::SuppAttrExclCreat.number());
    }
    if minor >= MinorVersion::V2 {
        all.insert(Attribute::ModeUmask.number());
        all.insert(Attribute::XattrSupport.number());
    }
    all
}

/// The attributes that require the file system's space usage.
const OF_SPACE: Bitmap = {
    use Attribute as A;
    Attribute::set(&[A::FilesAvail, A::FilesFree, A::FilesTotal, A::SpaceAvail, A::SpaceFree, A::SpaceTotal])
};

/// A file whose attributes are encoded.
pub(super) struct Subject<'n> {
    node: &'n Node<'n>,
    attributes: &'n Attributes,
    /// The number of the pseudo file system's directory that an export's root covers; its own for any other file.
    mounted_on_fileid: u64,
}

impl<'n> Subject<'n> {
    /// A file whose attributes were already fetched.
    #[inline]
    pub(super) fn new(compound: &Compound<'_>, node: &'n Node<'n>, attributes: &'n Attributes) -> Subject<'n> {
        let is_root = attributes.kind == FileKind::Directory && node.handle == node.fs().root();
        let covered = if is_root { compound.cx.exports.place_of(node.exported) } else { None };
        let mounted_on_fileid = covered.and_then(|(_, place)| place.to_u64()).unwrap_or(attributes.fileid);
        Subject { node, attributes, mounted_on_fileid }
    }
}

/// Appends those of the `wanted` attributes that the file supports, as `fattr4`.
pub(super) fn write(
    compound: &Compound<'_>,
    subject: &Subject<'_>,
    wanted: Bitmap,
    to: &mut Encoder<'_>,
) -> OpResult<()> {
    let node = subject.node;
    let supported = match wanted.difference(IN_ALL_VERSIONS).is_empty() {
        true => IN_ALL_VERSIONS,
        false => supported(compound.progress.minor, &node.properties(), subject.attributes),
    };
    let mask = wanted.intersection(supported).difference(NEVER_READ);
    let space = match mask.intersection(OF_SPACE).is_empty() {
        true => vfs::Space::default(),
        false => node.fs().space(&node.context, &node.handle)?,
    };
    let source = AttributeSource { compound, subject, space };
    if mask.difference(USUAL).is_empty() {
        return Fattr::enclose(mask, to, |to| source.put_usual(mask, to));
    }
    Fattr::write(mask, to, |attribute, to| source.put(attribute, to))
}

/// The attributes that clients request all the time: those of stat(2).
const USUAL: Bitmap = {
    use Attribute as A;
    Attribute::set(&[
        A::Type,
        A::Change,
        A::Size,
        A::Fsid,
        A::FileId,
        A::Mode,
        A::NumLinks,
        A::Owner,
        A::OwnerGroup,
        A::RawDev,
        A::SpaceUsed,
        A::TimeAccess,
        A::TimeCreate,
        A::TimeMetadata,
        A::TimeModify,
        A::MountedOnFileId,
    ])
};

/// The most bytes of the [`USUAL`] attributes before the owner, and of those behind its group.
const MAX_USUAL_BYTES: usize = 72;

/// Fails if the request contains write-only attributes (RFC 7530 §16.7.4, RFC 8881 §18.7.3).
pub(super) fn require_readable(request: Bitmap) -> OpResult<()> {
    if request.intersection(NEVER_READ).is_empty() { Ok(()) } else { Err(Status::Inval.into()) }
}

/// The write-only attributes.
const NEVER_READ: Bitmap = Attribute::set(&[
    Attribute::TimeAccessSet,
    Attribute::TimeModifySet,
    Attribute::LayoutHint,
    Attribute::RetentionSet,
    Attribute::RetentEvtSet,
    Attribute::ModeSetMasked,
    Attribute::ModeUmask,
]);

/// The sources of all values.
struct AttributeSource<'t> {
    compound: &'t Compound<'t>,
    subject: &'t Subject<'t>,
    space: vfs::Space,
}

impl AttributeSource<'_> {
    /// Appends the values of [`USUAL`] attributes. One branch for each costs a fraction of a jump by its number.
    fn put_usual(&self, mask: Bitmap, to: &mut Encoder<'_>) -> OpResult<()> {
        use Attribute as A;
        to.in_space::<MAX_USUAL_BYTES>(|to| {
            self.put_if(mask, A::Type, to);
            self.put_if(mask, A::Change, to);
            self.put_if(mask, A::Size, to);
            self.put_if(mask, A::Fsid, to);
            self.put_if(mask, A::FileId, to);
            self.put_if(mask, A::Mode, to);
            self.put_if(mask, A::NumLinks, to);
        });
        if mask.contains(A::Owner.number()) {
            owner::put_user(self.compound, self.subject.attributes.uid, to)?;
        }
        if mask.contains(A::OwnerGroup.number()) {
            owner::put_group(self.compound, self.subject.attributes.gid, to)?;
        }
        to.in_space::<MAX_USUAL_BYTES>(|to| {
            self.put_if(mask, A::RawDev, to);
            self.put_if(mask, A::SpaceUsed, to);
            self.put_if(mask, A::TimeAccess, to);
            self.put_if(mask, A::TimeCreate, to);
            self.put_if(mask, A::TimeMetadata, to);
            self.put_if(mask, A::TimeModify, to);
            self.put_if(mask, A::MountedOnFileId, to);
        });
        Ok(())
    }

    #[inline(always)]
    fn put_if(&self, mask: Bitmap, attribute: Attribute, to: &mut Space<'_>) {
        if mask.contains(attribute.number()) {
            self.put_fixed(attribute, to);
        }
    }

    /// Appends the value of an attribute.
    fn put(&self, attribute: Attribute, to: &mut Encoder<'_>) -> OpResult<()> {
        match attribute {
            Attribute::Owner => owner::put_user(self.compound, self.subject.attributes.uid, to),
            Attribute::OwnerGroup => owner::put_group(self.compound, self.subject.attributes.gid, to),
            usual if USUAL.contains(usual.number()) => {
                to.in_space::<MAX_USUAL_BYTES>(|to| self.put_fixed(usual, to));
                Ok(())
            }
            other => self.put_rare(other, to),
        }
    }

    /// Appends the value of a [`USUAL`] attribute of fixed size.
    #[inline(always)]
    fn put_fixed(&self, attribute: Attribute, to: &mut Space<'_>) {
        let Subject { node, attributes, mounted_on_fileid } = self.subject;
        match attribute {
            Attribute::Type => to.u32(file_type(attributes.kind) as u32),
            Attribute::Change => to.u64(attributes.change),
            Attribute::Size => to.u64(attributes.size_bytes),
            Attribute::Fsid => {
                to.u64(node.exported.fsid);
                to.u64(0);
            }
            Attribute::FileId => to.u64(attributes.fileid),
            Attribute::Mode => to.u32(attributes.mode),
            Attribute::NumLinks => to.u32(attributes.links),
            Attribute::RawDev => {
                to.u32(attributes.device.major);
                to.u32(attributes.device.minor);
            }
            Attribute::SpaceUsed => to.u64(attributes.used_bytes),
            Attribute::TimeAccess => put_time(attributes.accessed, to),
            Attribute::TimeCreate => put_time(attributes.created.unwrap_or_default(), to),
            Attribute::TimeMetadata => put_time(attributes.changed, to),
            Attribute::TimeModify => put_time(attributes.modified, to),
            Attribute::MountedOnFileId => to.u64(*mounted_on_fileid),
            other => debug_assert!(false, "{other:?} has no fixed size, or is not usual"),
        }
    }

    /// Appends the value of an attribute that clients seldom request: most are of the server or the file system.
    #[inline(never)]
    fn put_rare(&self, attribute: Attribute, to: &mut Encoder<'_>) -> OpResult<()> {
        let (properties, space) = (&self.subject.node.properties(), &self.space);
        let settings = &self.compound.cx.server.settings;
        let minor = self.compound.progress.minor;
        match attribute {
            Attribute::SupportedAttrs => supported(minor, properties, self.subject.attributes).encode(to),
            Attribute::Acl => self.acl()?.acl().encode(to),
            Attribute::Dacl => self.acl()?.dacl().encode(to),
            Attribute::AclSupport => to.u32(ACL_SUPPORT_ALLOW | ACL_SUPPORT_DENY),
            Attribute::FhExpireType => to.u32(FH_PERSISTENT),
            Attribute::LinkSupport => to.bool(properties.hard_links),
            Attribute::SymlinkSupport => to.bool(properties.symlinks),
            Attribute::NamedAttr => to.bool(false),
            Attribute::UniqueHandles => to.bool(true),
            Attribute::LeaseTime => to.u32(settings.lease.as_secs() as u32),
            Attribute::RdattrError => Status::Ok.encode(to),
            Attribute::CanSetTime => to.bool(properties.times_can_be_set),
            Attribute::CaseInsensitive => to.bool(properties.case_insensitive),
            Attribute::CasePreserving => to.bool(properties.case_preserving),
            Attribute::ChownRestricted => to.bool(true),
            Attribute::FileHandle => to.opaque(self.subject.node.wire_handle().as_bytes()),
            Attribute::FilesAvail => to.u64(space.available_files),
            Attribute::FilesFree => to.u64(space.free_files),
            Attribute::FilesTotal => to.u64(space.total_files),
            Attribute::Homogeneous => to.bool(properties.homogeneous),
            Attribute::MaxFileSize => to.u64(properties.max_file_bytes),
            Attribute::MaxLink => to.u32(properties.max_links),
            Attribute::MaxName => to.u32(properties.max_name_bytes),
            Attribute::MaxRead | Attribute::MaxWrite => to.u64(transfer::max_bytes(self.compound.cx).into()),
            Attribute::NoTrunc => to.bool(true),
            Attribute::SpaceAvail => to.u64(space.available_bytes),
            Attribute::SpaceFree => to.u64(space.free_bytes),
            Attribute::SpaceTotal => to.u64(space.total_bytes),
            Attribute::TimeDelta => Time { seconds: 0, nanoseconds: properties.time_step_ns }.encode(to),
            Attribute::XattrSupport => to.bool(properties.xattrs),
            Attribute::SuppAttrExclCreat => settable_on_exclusive_create(minor).encode(to),
            _ => return Err(Status::ServerFault.into()),
        }
        Ok(())
    }

    fn acl(&self) -> OpResult<Nfs4Acl> {
        let Subject { node, attributes, .. } = self.subject;
        let acls = node.fs().acls(&node.context, &node.handle)?;
        Nfs4Acl::new(self.compound, &acls, attributes.kind == FileKind::Directory)
    }
}

#[inline(always)]
fn put_time(timestamp: Timestamp, to: &mut Space<'_>) {
    to.u64(timestamp.seconds.cast_unsigned());
    to.u32(timestamp.nanoseconds);
}

/// The kind of file in wire form.
pub(super) fn file_type(kind: FileKind) -> FileType {
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

#[cfg(test)]
mod tests {
    use proto::nfs4::AttributeAccess;

    use super::*;

    #[test]
    fn attributes_that_are_never_read_are_the_write_only_ones() {
        let is_write_only = |attribute: Attribute| attribute.info().access == AttributeAccess::Set;
        for attribute in (0..Bitmap::BEYOND).filter_map(Attribute::from_number) {
            assert_eq!(NEVER_READ.contains(attribute.number()), is_write_only(attribute), "{attribute:?}");
        }
    }
}
