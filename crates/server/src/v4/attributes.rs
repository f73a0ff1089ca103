//! Encodes the attributes of a file (RFC 7530 §5, RFC 8881 §5).

use proto::nfs4::{
    ACL_SUPPORT_ALLOW, ACL_SUPPORT_DENY, Attribute, AttributeValue, Bitmap, FH_PERSISTENT, FattrWriter, FileType, Fsid,
    MinorVersion, Principal, SpecData, Status, Time,
};
use vfs::{Attributes, FileKind, Properties, Space, Timestamp};
use xdr::Encoder;

use super::acl::Nfs4Acl;
use super::compound::Compound;
use super::failure::OpResult;
use super::getfh::file_handle;
use super::owner::{self, OwnerName};
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

/// The attributes that a minor version supports for files of a file system.
pub(super) fn supported(minor: MinorVersion, properties: &Properties) -> Bitmap {
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

/// The attributes that require the ACLs.
const OF_ACLS: Bitmap = Attribute::set(&[Attribute::Acl, Attribute::Dacl]);

/// A file whose attributes are encoded.
pub(super) struct Subject<'n> {
    pub(super) node: Node<'n>,
    pub(super) attributes: Attributes,
    /// The number of the pseudo file system's directory that an export's root covers; its own for any other file.
    mounted_on_fileid: u64,
}

impl<'n> Subject<'n> {
    /// A file whose attributes were already fetched.
    pub(super) fn new(compound: &Compound<'_>, node: &Node<'n>, attributes: Attributes) -> Subject<'n> {
        let is_root = attributes.kind == FileKind::Directory && node.handle == node.fs().root();
        let covered = if is_root { compound.cx.exports.place_of(node.exported) } else { None };
        let mounted_on_fileid = covered.and_then(|(_, place)| place.to_u64()).unwrap_or(attributes.fileid);
        Subject { node: *node, attributes, mounted_on_fileid }
    }
}

/// Appends those of the `wanted` attributes that the file supports, as `fattr4`.
pub(super) fn write(
    compound: &Compound<'_>,
    subject: &Subject<'_>,
    wanted: Bitmap,
    to: &mut Encoder<'_>,
) -> OpResult<()> {
    let minor = compound.progress.minor;
    let node = &subject.node;
    let properties = node.fs().properties();
    let mask = wanted.intersection(supported(minor, &properties)).difference(NEVER_READ);
    let space = match mask.intersection(OF_SPACE).is_empty() {
        true => Space::default(),
        false => node.fs().space(&node.context, &node.handle)?,
    };
    let source = AttributeSource {
        subject,
        properties,
        space,
        max_bytes: u64::from(transfer::max_bytes(compound.cx)),
        lease_s: compound.cx.server.settings.lease.as_secs() as u32,
        minor,
    };
    let names = NamedOwners::look(compound, subject, mask)?;
    let mut writer = FattrWriter::begin(to, mask);
    while let Some(attribute) = writer.wanted() {
        let is_put = source.put_of_file(attribute, &mut writer)
            || names.put(attribute, &mut writer)
            || source.put_of_server(attribute, &mut writer);
        if !is_put {
            return Err(Status::ServerFault.into());
        }
    }
    writer.finish();
    Ok(())
}

/// The attribute values that contain names of users and groups.
struct NamedOwners {
    owner: Option<OwnerName>,
    group: Option<OwnerName>,
    acl: Option<Nfs4Acl>,
}

impl NamedOwners {
    /// Resolves the values in `mask`.
    fn look(compound: &Compound<'_>, subject: &Subject<'_>, mask: Bitmap) -> OpResult<NamedOwners> {
        let Subject { node, attributes, .. } = subject;
        let mut names = NamedOwners { owner: None, group: None, acl: None };
        if mask.contains(Attribute::Owner.number()) {
            names.owner = Some(owner::user_name(compound, attributes.uid)?);
        }
        if mask.contains(Attribute::OwnerGroup.number()) {
            names.group = Some(owner::group_name(compound, attributes.gid)?);
        }
        if !mask.intersection(OF_ACLS).is_empty() {
            let acls = node.fs().acls(&node.context, &node.handle)?;
            names.acl = Some(Nfs4Acl::new(compound, &acls, attributes.kind == FileKind::Directory)?);
        }
        Ok(names)
    }

    /// Appends an attribute if it is one with names; returns whether it is.
    fn put(&self, attribute: Attribute, writer: &mut FattrWriter<'_, '_>) -> bool {
        match attribute {
            Attribute::Owner => writer.put(&AttributeValue::Owner(principal(self.owner.as_ref()))),
            Attribute::OwnerGroup => writer.put(&AttributeValue::OwnerGroup(principal(self.group.as_ref()))),
            Attribute::Acl | Attribute::Dacl => return self.put_acl(attribute, writer),
            _ => return false,
        }
        true
    }

    fn put_acl(&self, attribute: Attribute, writer: &mut FattrWriter<'_, '_>) -> bool {
        let Some(acl) = &self.acl else { return false };
        match attribute {
            Attribute::Acl => writer.put(&AttributeValue::Acl(acl.acl())),
            _ => writer.put(&AttributeValue::Dacl(acl.dacl())),
        }
        true
    }
}

fn principal(name: Option<&OwnerName>) -> Principal<'_> {
    Principal(name.map_or(&[], OwnerName::as_bytes))
}

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
    subject: &'t Subject<'t>,
    properties: Properties,
    space: Space,
    max_bytes: u64,
    lease_s: u32,
    minor: MinorVersion,
}

impl AttributeSource<'_> {
    /// Appends an attribute if it is one of the server or the file system; returns whether it is.
    fn put_of_server(&self, attribute: Attribute, writer: &mut FattrWriter<'_, '_>) -> bool {
        use AttributeValue as V;
        let (properties, space) = (&self.properties, &self.space);
        match attribute {
            Attribute::SupportedAttrs => writer.put(&V::SupportedAttrs(supported(self.minor, properties))),
            Attribute::AclSupport => writer.put(&V::AclSupport(ACL_SUPPORT_ALLOW | ACL_SUPPORT_DENY)),
            Attribute::FhExpireType => writer.put(&V::FhExpireType(FH_PERSISTENT)),
            Attribute::LinkSupport => writer.put(&V::LinkSupport(properties.hard_links)),
            Attribute::SymlinkSupport => writer.put(&V::SymlinkSupport(properties.symlinks)),
            Attribute::NamedAttr => writer.put(&V::NamedAttr(false)),
            Attribute::UniqueHandles => writer.put(&V::UniqueHandles(true)),
            Attribute::LeaseTime => writer.put(&V::LeaseTime(self.lease_s)),
            Attribute::RdattrError => writer.put(&V::RdattrError(Status::Ok)),
            Attribute::CanSetTime => writer.put(&V::CanSetTime(properties.times_can_be_set)),
            Attribute::CaseInsensitive => writer.put(&V::CaseInsensitive(properties.case_insensitive)),
            Attribute::CasePreserving => writer.put(&V::CasePreserving(properties.case_preserving)),
            Attribute::ChownRestricted => writer.put(&V::ChownRestricted(true)),
            Attribute::FilesAvail => writer.put(&V::FilesAvail(space.available_files)),
            Attribute::FilesFree => writer.put(&V::FilesFree(space.free_files)),
            Attribute::FilesTotal => writer.put(&V::FilesTotal(space.total_files)),
            Attribute::Homogeneous => writer.put(&V::Homogeneous(properties.homogeneous)),
            Attribute::MaxFileSize => writer.put(&V::MaxFileSize(properties.max_file_bytes)),
            Attribute::MaxLink => writer.put(&V::MaxLink(properties.max_links)),
            Attribute::MaxName => writer.put(&V::MaxName(properties.max_name_bytes)),
            Attribute::MaxRead => writer.put(&V::MaxRead(self.max_bytes)),
            Attribute::MaxWrite => writer.put(&V::MaxWrite(self.max_bytes)),
            Attribute::NoTrunc => writer.put(&V::NoTrunc(true)),
            Attribute::SpaceAvail => writer.put(&V::SpaceAvail(space.available_bytes)),
            Attribute::SpaceFree => writer.put(&V::SpaceFree(space.free_bytes)),
            Attribute::SpaceTotal => writer.put(&V::SpaceTotal(space.total_bytes)),
            Attribute::TimeDelta => {
                writer.put(&V::TimeDelta(Time { seconds: 0, nanoseconds: properties.time_step_ns }))
            }
            Attribute::XattrSupport => writer.put(&V::XattrSupport(properties.xattrs)),
            Attribute::SuppAttrExclCreat => writer.put(&V::SuppAttrExclCreat(settable_on_exclusive_create(self.minor))),
            _ => return false,
        }
        true
    }

    /// Appends an attribute if it is one of this file alone; returns whether it is.
    fn put_of_file(&self, attribute: Attribute, writer: &mut FattrWriter<'_, '_>) -> bool {
        let Subject { node, attributes, mounted_on_fileid } = self.subject;
        match attribute {
            Attribute::Type => writer.put_value(attribute, &file_type(attributes.kind)),
            Attribute::Change => writer.put_value(attribute, &attributes.change),
            Attribute::Size => writer.put_value(attribute, &attributes.size_bytes),
            Attribute::Fsid => writer.put_value(attribute, &Fsid { major: node.exported.fsid, minor: 0 }),
            Attribute::FileHandle => writer.put_value(attribute, &file_handle(node)),
            Attribute::FileId => writer.put_value(attribute, &attributes.fileid),
            Attribute::Mode => writer.put_value(attribute, &attributes.mode),
            Attribute::NumLinks => writer.put_value(attribute, &attributes.links),
            Attribute::RawDev => writer
                .put_value(attribute, &SpecData { major: attributes.device.major, minor: attributes.device.minor }),
            Attribute::SpaceUsed => writer.put_value(attribute, &attributes.used_bytes),
            Attribute::TimeAccess => writer.put_value(attribute, &time(attributes.accessed)),
            Attribute::TimeMetadata => writer.put_value(attribute, &time(attributes.changed)),
            Attribute::TimeModify => writer.put_value(attribute, &time(attributes.modified)),
            Attribute::MountedOnFileId => writer.put_value(attribute, mounted_on_fileid),
            _ => return false,
        }
        true
    }
}

fn time(timestamp: Timestamp) -> Time {
    Time { seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds }
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
