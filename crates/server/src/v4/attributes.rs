//! Encodes the attributes of a file (RFC 7530 §5, RFC 8881 §5).

use proto::nfs4::{
    ACL_SUPPORT_ALLOW, ACL_SUPPORT_DENY, Attribute, AttributeAccess, AttributeValue, Bitmap, FH_PERSISTENT,
    FattrWriter, FileType, Fsid, MinorVersion, Principal, SpecData, Status, Time,
};
use vfs::{Attributes, FileKind, Properties, Space, Timestamp};
use xdr::Encoder;

use super::acl::ToldAcl;
use super::compound::Compound;
use super::failure::Outcome;
use super::getfh::file_handle;
use super::{owner, set};
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
    /// Fetches a file's attributes.
    pub(super) fn look(compound: &Compound<'_>, node: &Node<'n>) -> Outcome<Subject<'n>> {
        let attributes = node.attributes()?;
        Ok(Subject::new(compound, node, attributes))
    }

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
) -> Outcome<()> {
    let minor = compound.progress.minor;
    let node = &subject.node;
    let properties = node.fs().properties();
    let mask = wanted.intersection(supported(minor, &properties)).difference(NEVER_READ);
    let space = match mask.intersection(OF_SPACE).is_empty() {
        true => Space::default(),
        false => node.fs().space(&node.context, &node.handle)?,
    };
    let told = Told {
        subject,
        properties,
        space,
        max_bytes: u64::from(transfer::max_bytes(compound.cx)),
        lease_s: compound.cx.server.settings.lease.as_secs() as u32,
        minor,
    };
    let names = Names::look(compound, subject, mask)?;
    let mut writer = FattrWriter::begin(to, mask);
    while let Some(attribute) = writer.wanted() {
        let value = match attribute {
            _ if let Some(value) = names.value(attribute) => value,
            _ => told.of_server(attribute).or_else(|| told.of_file(attribute)).ok_or(Status::ServerFault)?,
        };
        writer.put(&value);
    }
    writer.finish();
    Ok(())
}

/// The attribute values that contain names of users and groups.
struct Names {
    owner: Vec<u8>,
    group: Vec<u8>,
    acl: Option<ToldAcl>,
}

impl Names {
    /// Resolves the values in `mask`.
    fn look(compound: &Compound<'_>, subject: &Subject<'_>, mask: Bitmap) -> Outcome<Names> {
        let Subject { node, attributes, .. } = subject;
        let mut names = Names { owner: Vec::new(), group: Vec::new(), acl: None };
        if mask.contains(Attribute::Owner.number()) {
            names.owner = owner::user_name(compound, attributes.uid)?;
        }
        if mask.contains(Attribute::OwnerGroup.number()) {
            names.group = owner::group_name(compound, attributes.gid)?;
        }
        if !mask.intersection(OF_ACLS).is_empty() {
            let acls = node.fs().acls(&node.context, &node.handle)?;
            names.acl = Some(ToldAcl::new(compound, &acls, attributes.kind == FileKind::Directory)?);
        }
        Ok(names)
    }

    fn value(&self, attribute: Attribute) -> Option<AttributeValue<'_>> {
        match attribute {
            Attribute::Owner => Some(AttributeValue::Owner(Principal(&self.owner))),
            Attribute::OwnerGroup => Some(AttributeValue::OwnerGroup(Principal(&self.group))),
            Attribute::Acl => self.acl.as_ref().map(|acl| AttributeValue::Acl(acl.acl())),
            Attribute::Dacl => self.acl.as_ref().map(|acl| AttributeValue::Dacl(acl.dacl())),
            _ => None,
        }
    }
}

/// Fails if the request contains write-only attributes (RFC 7530 §16.7.4, RFC 8881 §18.7.3).
pub(super) fn require_readable(request: Bitmap) -> Outcome<()> {
    let is_write_only = |number| {
        Attribute::from_number(number).is_some_and(|attribute| attribute.info().access == AttributeAccess::Set)
    };
    if request.iter().any(is_write_only) { Err(Status::Inval.into()) } else { Ok(()) }
}

/// The write-only attributes.
const NEVER_READ: Bitmap = Attribute::set(&[Attribute::TimeAccessSet, Attribute::TimeModifySet, Attribute::ModeUmask]);

/// The sources of all values.
struct Told<'t> {
    subject: &'t Subject<'t>,
    properties: Properties,
    space: Space,
    max_bytes: u64,
    lease_s: u32,
    minor: MinorVersion,
}

impl Told<'_> {
    /// The value of an attribute of the server or the file system.
    fn of_server(&self, attribute: Attribute) -> Option<AttributeValue<'static>> {
        use AttributeValue as V;
        let (properties, space) = (&self.properties, &self.space);
        Some(match attribute {
            Attribute::SupportedAttrs => V::SupportedAttrs(supported(self.minor, properties)),
            Attribute::AclSupport => V::AclSupport(ACL_SUPPORT_ALLOW | ACL_SUPPORT_DENY),
            Attribute::FhExpireType => V::FhExpireType(FH_PERSISTENT),
            Attribute::LinkSupport => V::LinkSupport(properties.hard_links),
            Attribute::SymlinkSupport => V::SymlinkSupport(properties.symlinks),
            Attribute::NamedAttr => V::NamedAttr(false),
            Attribute::UniqueHandles => V::UniqueHandles(true),
            Attribute::LeaseTime => V::LeaseTime(self.lease_s),
            Attribute::RdattrError => V::RdattrError(Status::Ok),
            Attribute::CanSetTime => V::CanSetTime(properties.times_can_be_set),
            Attribute::CaseInsensitive => V::CaseInsensitive(properties.case_insensitive),
            Attribute::CasePreserving => V::CasePreserving(properties.case_preserving),
            Attribute::ChownRestricted => V::ChownRestricted(true),
            Attribute::FilesAvail => V::FilesAvail(space.available_files),
            Attribute::FilesFree => V::FilesFree(space.free_files),
            Attribute::FilesTotal => V::FilesTotal(space.total_files),
            Attribute::Homogeneous => V::Homogeneous(properties.homogeneous),
            Attribute::MaxFileSize => V::MaxFileSize(properties.max_file_bytes),
            Attribute::MaxLink => V::MaxLink(properties.max_links),
            Attribute::MaxName => V::MaxName(properties.max_name_bytes),
            Attribute::MaxRead => V::MaxRead(self.max_bytes),
            Attribute::MaxWrite => V::MaxWrite(self.max_bytes),
            Attribute::NoTrunc => V::NoTrunc(true),
            Attribute::SpaceAvail => V::SpaceAvail(space.available_bytes),
            Attribute::SpaceFree => V::SpaceFree(space.free_bytes),
            Attribute::SpaceTotal => V::SpaceTotal(space.total_bytes),
            Attribute::TimeDelta => V::TimeDelta(Time { seconds: 0, nanoseconds: properties.time_step_ns }),
            Attribute::XattrSupport => V::XattrSupport(properties.xattrs),
            Attribute::SuppAttrExclCreat => V::SuppAttrExclCreat(set::settable_on_exclusive_create(self.minor)),
            _ => return None,
        })
    }

    /// The value of an attribute of this file.
    fn of_file(&self, attribute: Attribute) -> Option<AttributeValue<'static>> {
        use AttributeValue as V;
        let Subject { node, attributes, mounted_on_fileid } = self.subject;
        Some(match attribute {
            Attribute::Type => V::Type(file_type(attributes.kind)),
            Attribute::Change => V::Change(attributes.change),
            Attribute::Size => V::Size(attributes.size_bytes),
            Attribute::Fsid => V::Fsid(Fsid { major: node.exported.fsid, minor: 0 }),
            Attribute::FileHandle => V::FileHandle(file_handle(node)),
            Attribute::FileId => V::FileId(attributes.fileid),
            Attribute::Mode => V::Mode(attributes.mode),
            Attribute::NumLinks => V::NumLinks(attributes.links),
            Attribute::RawDev => V::RawDev(SpecData { major: attributes.device.major, minor: attributes.device.minor }),
            Attribute::SpaceUsed => V::SpaceUsed(attributes.used_bytes),
            Attribute::TimeAccess => V::TimeAccess(time(attributes.accessed)),
            Attribute::TimeMetadata => V::TimeMetadata(time(attributes.changed)),
            Attribute::TimeModify => V::TimeModify(time(attributes.modified)),
            Attribute::MountedOnFileId => V::MountedOnFileId(*mounted_on_fileid),
            _ => return None,
        })
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
