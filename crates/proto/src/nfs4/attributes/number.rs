//! The attributes by number and name.

use super::super::{Bitmap, MinorVersion};

/// The attributes of files (RFC 7530 §5, RFC 8881 §5, RFC 7862 §12, RFC 8275, RFC 8276 and RFC 9754).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attribute {
    /// The attributes that the server supports for this file.
    SupportedAttrs = 0,
    /// The kind of file.
    Type = 1,
    /// The expiry of handles: a set of the `FH_…` bits.
    FhExpireType = 2,
    /// Changes with every change of the file.
    Change = 3,
    /// The length in bytes.
    Size = 4,
    /// Whether files can have several names.
    LinkSupport = 5,
    /// Whether there are symbolic links.
    SymlinkSupport = 6,
    /// Whether the file has named attributes.
    NamedAttr = 7,
    /// The file system.
    Fsid = 8,
    /// Whether different handles always mean different files.
    UniqueHandles = 9,
    /// The length of the lease, in seconds.
    LeaseTime = 10,
    /// The error that prevented READDIR from returning an entry's attributes.
    RdattrError = 11,
    /// The access control list.
    Acl = 12,
    /// The supported entries: a set of the `ACL_SUPPORT_…` bits.
    AclSupport = 13,
    /// Whether the file was archived since it was changed.
    Archive = 14,
    /// Whether times can be set.
    CanSetTime = 15,
    /// Whether names differing only in case are equal.
    CaseInsensitive = 16,
    /// Whether names keep their case.
    CasePreserving = 17,
    /// Whether only the superuser may change owners.
    ChownRestricted = 18,
    /// The handle.
    FileHandle = 19,
    /// The file's number in its file system.
    FileId = 20,
    /// The number of file slots that the caller may use.
    FilesAvail = 21,
    /// The number of free file slots.
    FilesFree = 22,
    /// The number of file slots.
    FilesTotal = 23,
    /// The other locations of the file system.
    FsLocations = 24,
    /// Whether the file is hidden, if supported.
    Hidden = 25,
    /// Whether all files of the file system have the same attributes.
    Homogeneous = 26,
    /// The largest length of a file, in bytes.
    MaxFileSize = 27,
    /// The most names of a file.
    MaxLink = 28,
    /// The longest name, in bytes.
    MaxName = 29,
    /// The most bytes of a READ.
    MaxRead = 30,
    /// The most bytes of a WRITE.
    MaxWrite = 31,
    /// The MIME type of the data.
    MimeType = 32,
    /// The permission bits.
    Mode = 33,
    /// Whether names that are too long are refused, not truncated.
    NoTrunc = 34,
    /// The number of names.
    NumLinks = 35,
    /// The owner.
    Owner = 36,
    /// The owning group.
    OwnerGroup = 37,
    /// The remaining quota up to the hard limit, in bytes.
    QuotaAvailHard = 38,
    /// The remaining quota up to the soft limit, in bytes.
    QuotaAvailSoft = 39,
    /// The quota used, in bytes.
    QuotaUsed = 40,
    /// The numbers of a device.
    RawDev = 41,
    /// The bytes that the caller may use.
    SpaceAvail = 42,
    /// The free bytes.
    SpaceFree = 43,
    /// The size of the file system, in bytes.
    SpaceTotal = 44,
    /// The space used by the file, in bytes.
    SpaceUsed = 45,
    /// Whether it is a system file, if supported.
    System = 46,
    /// The access time.
    TimeAccess = 47,
    /// Sets the access time.
    TimeAccessSet = 48,
    /// The time of the last backup.
    TimeBackup = 49,
    /// The time of creation.
    TimeCreate = 50,
    /// The granularity of the server's times.
    TimeDelta = 51,
    /// The change time of the attributes.
    TimeMetadata = 52,
    /// The modification time of the data.
    TimeModify = 53,
    /// Sets the modification time.
    TimeModifySet = 54,
    /// The number of the directory that the file system is mounted on.
    MountedOnFileId = 55,
    /// The delay of notifications about the directory.
    DirNotifDelay = 56,
    /// The delay of notifications about entries.
    DirentNotifDelay = 57,
    /// The entries that allow or deny.
    Dacl = 58,
    /// The entries that log or raise an alarm.
    Sacl = 59,
    /// Changes with the file system's policy.
    ChangePolicy = 60,
    /// The kind of replica that the file system is.
    FsStatus = 61,
    /// The layouts of the file system.
    FsLayoutTypes = 62,
    /// The layout that the client prefers for the file.
    LayoutHint = 63,
    /// The layouts of the file.
    LayoutTypes = 64,
    /// The block size of layouts, in bytes.
    LayoutBlksize = 65,
    /// The alignment of layouts, in bytes.
    LayoutAlignment = 66,
    /// The other locations of the file system, in detail.
    FsLocationsInfo = 67,
    /// The file size from which data servers are worthwhile.
    MdsThreshold = 68,
    /// The retention time of the file.
    RetentionGet = 69,
    /// Sets the retention time of the file.
    RetentionSet = 70,
    /// The retention time of the file after an event.
    RetentEvtGet = 71,
    /// Sets the retention time of the file after an event.
    RetentEvtSet = 72,
    /// The holds on the file, a bit for each.
    RetentionHold = 73,
    /// Sets some of the permission bits.
    ModeSetMasked = 74,
    /// The attributes that an exclusive create can set.
    SuppAttrExclCreat = 75,
    /// The character set of names: a set of the `FS_CHARSET_…` bits.
    FsCharsetCap = 76,
    /// The alignment of CLONE ranges, in bytes.
    CloneBlksize = 77,
    /// The bytes that removing the file would free.
    SpaceFreed = 78,
    /// The way the change attribute grows.
    ChangeAttrType = 79,
    /// The security label.
    SecLabel = 80,
    /// Sets the permission bits of a new file; the umask applies if no ACL is inherited (RFC 8275).
    ModeUmask = 81,
    /// Whether there are extended attributes (RFC 8276).
    XattrSupport = 82,
    /// Whether the data is on slow storage (RFC 9754).
    Offline = 83,
    /// The access time that the holder of a delegation keeps (RFC 9754).
    TimeDelegAccess = 84,
    /// The modification time that the holder of a delegation keeps (RFC 9754).
    TimeDelegModify = 85,
    /// The features of OPEN that the server supports (RFC 9754).
    OpenArguments = 86,
}

/// The permitted use of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeAccess {
    /// It can be read and not set.
    Get,
    /// It can be read and set.
    GetAndSet,
    /// It can be set and not read: reading it is INVAL.
    Set,
}

/// The properties of an attribute in the RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttributeInfo {
    /// The attribute.
    pub attribute: Attribute,
    /// Its name.
    pub name: &'static str,
    /// The first minor version that has it.
    pub since: MinorVersion,
    /// Its permitted use.
    pub access: AttributeAccess,
    /// Whether a server of these minor versions must support it.
    pub required: bool,
}

impl Attribute {
    /// The attribute of this number, or `None`.
    #[inline]
    pub fn from_number(number: u32) -> Option<Attribute> {
        Some(ATTRIBUTES.get(number as usize)?.attribute)
    }

    /// Its number, which is its bit in a [`Bitmap`].
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Its properties in the RFCs.
    pub const fn info(self) -> &'static AttributeInfo {
        &ATTRIBUTES[self as usize]
    }

    /// The set of these attributes.
    pub const fn set(attributes: &[Attribute]) -> Bitmap {
        let mut set = Bitmap::EMPTY;
        let mut index = 0;
        while index < attributes.len() {
            set.insert(attributes[index].number());
            index += 1;
        }
        set
    }

    /// All attributes of a minor version.
    pub fn all_of(minor: MinorVersion) -> impl Iterator<Item = &'static AttributeInfo> {
        ATTRIBUTES.iter().filter(move |info| info.since <= minor)
    }
}

const fn required(attribute: Attribute, name: &'static str, since: MinorVersion) -> AttributeInfo {
    AttributeInfo { attribute, name, since, access: AttributeAccess::Get, required: true }
}

const fn recommended(attribute: Attribute, name: &'static str, since: MinorVersion) -> AttributeInfo {
    AttributeInfo { attribute, name, since, access: AttributeAccess::Get, required: false }
}

impl AttributeInfo {
    const fn settable(self) -> AttributeInfo {
        AttributeInfo { access: AttributeAccess::GetAndSet, ..self }
    }

    const fn write_only(self) -> AttributeInfo {
        AttributeInfo { access: AttributeAccess::Set, ..self }
    }
}

/// All attributes, by number.
pub const ATTRIBUTES: [AttributeInfo; 87] = {
    use Attribute as A;
    use MinorVersion::{V0, V1, V2};
    [
        required(A::SupportedAttrs, "supported_attrs", V0),
        required(A::Type, "type", V0),
        required(A::FhExpireType, "fh_expire_type", V0),
        required(A::Change, "change", V0),
        required(A::Size, "size", V0).settable(),
        required(A::LinkSupport, "link_support", V0),
        required(A::SymlinkSupport, "symlink_support", V0),
        required(A::NamedAttr, "named_attr", V0),
        required(A::Fsid, "fsid", V0),
        required(A::UniqueHandles, "unique_handles", V0),
        required(A::LeaseTime, "lease_time", V0),
        required(A::RdattrError, "rdattr_error", V0),
        recommended(A::Acl, "acl", V0).settable(),
        recommended(A::AclSupport, "aclsupport", V0),
        recommended(A::Archive, "archive", V0).settable(),
        recommended(A::CanSetTime, "cansettime", V0),
        recommended(A::CaseInsensitive, "case_insensitive", V0),
        recommended(A::CasePreserving, "case_preserving", V0),
        recommended(A::ChownRestricted, "chown_restricted", V0),
        required(A::FileHandle, "filehandle", V0),
        recommended(A::FileId, "fileid", V0),
        recommended(A::FilesAvail, "files_avail", V0),
        recommended(A::FilesFree, "files_free", V0),
        recommended(A::FilesTotal, "files_total", V0),
        recommended(A::FsLocations, "fs_locations", V0),
        recommended(A::Hidden, "hidden", V0).settable(),
        recommended(A::Homogeneous, "homogeneous", V0),
        recommended(A::MaxFileSize, "maxfilesize", V0),
        recommended(A::MaxLink, "maxlink", V0),
        recommended(A::MaxName, "maxname", V0),
        recommended(A::MaxRead, "maxread", V0),
        recommended(A::MaxWrite, "maxwrite", V0),
        recommended(A::MimeType, "mimetype", V0).settable(),
        recommended(A::Mode, "mode", V0).settable(),
        recommended(A::NoTrunc, "no_trunc", V0),
        recommended(A::NumLinks, "numlinks", V0),
        recommended(A::Owner, "owner", V0).settable(),
        recommended(A::OwnerGroup, "owner_group", V0).settable(),
        recommended(A::QuotaAvailHard, "quota_avail_hard", V0),
        recommended(A::QuotaAvailSoft, "quota_avail_soft", V0),
        recommended(A::QuotaUsed, "quota_used", V0),
        recommended(A::RawDev, "rawdev", V0),
        recommended(A::SpaceAvail, "space_avail", V0),
        recommended(A::SpaceFree, "space_free", V0),
        recommended(A::SpaceTotal, "space_total", V0),
        recommended(A::SpaceUsed, "space_used", V0),
        recommended(A::System, "system", V0).settable(),
        recommended(A::TimeAccess, "time_access", V0),
        recommended(A::TimeAccessSet, "time_access_set", V0).write_only(),
        recommended(A::TimeBackup, "time_backup", V0).settable(),
        recommended(A::TimeCreate, "time_create", V0).settable(),
        recommended(A::TimeDelta, "time_delta", V0),
        recommended(A::TimeMetadata, "time_metadata", V0),
        recommended(A::TimeModify, "time_modify", V0),
        recommended(A::TimeModifySet, "time_modify_set", V0).write_only(),
        recommended(A::MountedOnFileId, "mounted_on_fileid", V0),
        recommended(A::DirNotifDelay, "dir_notif_delay", V1),
        recommended(A::DirentNotifDelay, "dirent_notif_delay", V1),
        recommended(A::Dacl, "dacl", V1).settable(),
        recommended(A::Sacl, "sacl", V1).settable(),
        recommended(A::ChangePolicy, "change_policy", V1),
        recommended(A::FsStatus, "fs_status", V1),
        recommended(A::FsLayoutTypes, "fs_layout_type", V1),
        recommended(A::LayoutHint, "layout_hint", V1).write_only(),
        recommended(A::LayoutTypes, "layout_type", V1),
        recommended(A::LayoutBlksize, "layout_blksize", V1),
        recommended(A::LayoutAlignment, "layout_alignment", V1),
        recommended(A::FsLocationsInfo, "fs_locations_info", V1),
        recommended(A::MdsThreshold, "mdsthreshold", V1),
        recommended(A::RetentionGet, "retention_get", V1),
        recommended(A::RetentionSet, "retention_set", V1).write_only(),
        recommended(A::RetentEvtGet, "retentevt_get", V1),
        recommended(A::RetentEvtSet, "retentevt_set", V1).write_only(),
        recommended(A::RetentionHold, "retention_hold", V1).settable(),
        recommended(A::ModeSetMasked, "mode_set_masked", V1).write_only(),
        required(A::SuppAttrExclCreat, "suppattr_exclcreat", V1),
        recommended(A::FsCharsetCap, "fs_charset_cap", V1),
        recommended(A::CloneBlksize, "clone_blksize", V2),
        recommended(A::SpaceFreed, "space_freed", V2),
        recommended(A::ChangeAttrType, "change_attr_type", V2),
        recommended(A::SecLabel, "sec_label", V2).settable(),
        recommended(A::ModeUmask, "mode_umask", V2).write_only(),
        recommended(A::XattrSupport, "xattr_support", V2),
        recommended(A::Offline, "offline", V2),
        recommended(A::TimeDelegAccess, "time_deleg_access", V2).settable(),
        recommended(A::TimeDelegModify, "time_deleg_modify", V2).settable(),
        recommended(A::OpenArguments, "open_arguments", V2),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_is_at_its_number() {
        for (number, info) in (0..).zip(ATTRIBUTES) {
            assert_eq!(info.attribute.number(), number, "{}", info.name);
            assert_eq!(Attribute::from_number(number), Some(info.attribute));
            assert_eq!(info.attribute.info(), &info);
        }
        assert_eq!(Attribute::from_number(ATTRIBUTES.len() as u32), None);
    }

    #[test]
    fn minor_versions_have_as_many_attributes_as_their_rfcs_list() {
        let count = |minor| Attribute::all_of(minor).count();
        assert_eq!((count(MinorVersion::V0), count(MinorVersion::V1), count(MinorVersion::V2)), (56, 77, 87));
        assert_eq!(Attribute::all_of(MinorVersion::V0).filter(|info| info.required).count(), 13);
        assert_eq!(Attribute::all_of(MinorVersion::V2).filter(|info| info.required).count(), 14);
    }

    #[test]
    fn only_what_is_set_and_never_kept_is_write_only() {
        let write_only: Vec<&str> =
            ATTRIBUTES.iter().filter(|info| info.access == AttributeAccess::Set).map(|info| info.name).collect();
        let expected = [
            "time_access_set",
            "time_modify_set",
            "layout_hint",
            "retention_set",
            "retentevt_set",
            "mode_set_masked",
            "mode_umask",
        ];
        assert_eq!(write_only, expected);
    }
}
