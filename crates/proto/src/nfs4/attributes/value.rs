//! The values of attributes, each in the type of its number.

use xdr::{Decode, Decoder, Encode, Encoder};

use super::super::{
    Acl, Acl41, Bitmap, FileHandle, FileType, FsLocations, Fsid, MAX_LAYOUT_TYPES, MAX_MIME_TYPE_BYTES, Principal,
    SetTime, SpecData, Status, Time,
};
use super::{Attribute, FattrError};

/// Generates the enumeration of values and its codec, so that an attribute's number, type and encoding are on one line.
macro_rules! attribute_values {
    ($($name:ident($value:ty),)*) => {
        /// An attribute with its value: those of a POSIX file system, and some more.
        #[allow(missing_docs, reason = "each variant is documented as the attribute of the same name")]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum AttributeValue<'a> {
            $($name($value),)*
        }

        impl<'a> AttributeValue<'a> {
            /// The attributes whose values have a codec here.
            pub const KNOWN: Bitmap = Attribute::set(&[$(Attribute::$name,)*]);

            /// The attribute of the value.
            #[inline(always)]
            pub const fn attribute(&self) -> Attribute {
                match self {
                    $(AttributeValue::$name(_) => Attribute::$name,)*
                }
            }

            /// Appends the value, without the number.
            #[inline(always)]
            pub fn encode(&self, to: &mut Encoder<'_>) {
                match self {
                    $(AttributeValue::$name(value) => Encode::encode(value, to),)*
                }
            }

            /// Reads the value of an attribute, or `None` when there is no codec for it.
            ///
            /// # Errors
            /// When the bytes are malformed.
            pub fn decode(attribute: Attribute, from: &mut Decoder<'a>) -> xdr::Result<Option<AttributeValue<'a>>> {
                Ok(Some(match attribute {
                    $(Attribute::$name => AttributeValue::$name(<$value as Decode<'a>>::decode(from)?),)*
                    _ => return Ok(None),
                }))
            }

            /// Reads over the value of an attribute.
            ///
            /// # Errors
            /// When the bytes are malformed, or there is no codec for the attribute.
            pub fn skip(attribute: Attribute, from: &mut Decoder<'a>) -> Result<(), FattrError> {
                match attribute {
                    $(Attribute::$name => {
                        <$value as Decode<'a>>::decode(from)?;
                    })*
                    _ => return Err(FattrError::NotSupported { number: attribute.number() }),
                }
                Ok(())
            }
        }
    };
}

attribute_values! {
    SupportedAttrs(Bitmap),
    Type(FileType),
    FhExpireType(u32),
    Change(u64),
    Size(u64),
    LinkSupport(bool),
    SymlinkSupport(bool),
    NamedAttr(bool),
    Fsid(Fsid),
    UniqueHandles(bool),
    LeaseTime(u32),
    RdattrError(Status),
    Acl(Acl<'a>),
    AclSupport(u32),
    Archive(bool),
    CanSetTime(bool),
    CaseInsensitive(bool),
    CasePreserving(bool),
    ChownRestricted(bool),
    FileHandle(FileHandle),
    FileId(u64),
    FilesAvail(u64),
    FilesFree(u64),
    FilesTotal(u64),
    FsLocations(FsLocations<'a>),
    Hidden(bool),
    Homogeneous(bool),
    MaxFileSize(u64),
    MaxLink(u32),
    MaxName(u32),
    MaxRead(u64),
    MaxWrite(u64),
    MimeType(MimeType<'a>),
    Mode(u32),
    NoTrunc(bool),
    NumLinks(u32),
    Owner(Principal<'a>),
    OwnerGroup(Principal<'a>),
    QuotaAvailHard(u64),
    QuotaAvailSoft(u64),
    QuotaUsed(u64),
    RawDev(SpecData),
    SpaceAvail(u64),
    SpaceFree(u64),
    SpaceTotal(u64),
    SpaceUsed(u64),
    System(bool),
    TimeAccess(Time),
    TimeAccessSet(SetTime),
    TimeBackup(Time),
    TimeCreate(Time),
    TimeDelta(Time),
    TimeMetadata(Time),
    TimeModify(Time),
    TimeModifySet(SetTime),
    MountedOnFileId(u64),
    DirNotifDelay(Time),
    DirentNotifDelay(Time),
    Dacl(Acl41<'a>),
    Sacl(Acl41<'a>),
    ChangePolicy(ChangePolicy),
    FsLayoutTypes(LayoutTypes),
    LayoutTypes(LayoutTypes),
    LayoutBlksize(u32),
    LayoutAlignment(u32),
    RetentionHold(u64),
    ModeSetMasked(MaskedMode),
    SuppAttrExclCreat(Bitmap),
    FsCharsetCap(u32),
    CloneBlksize(u32),
    SpaceFreed(u64),
    ChangeAttrType(ChangeAttrType),
    ModeUmask(ModeUmask),
    XattrSupport(bool),
    Offline(bool),
}

/// A MIME type (`ascii_REQUIRED4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct MimeType<'a>(#[xdr(max = MAX_MIME_TYPE_BYTES)] pub &'a [u8]);

/// The layout types by number, best first (`layouttype4<>`); empty without pNFS.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct LayoutTypes {
    /// The numbers.
    #[xdr(max = MAX_LAYOUT_TYPES)]
    pub types: Vec<u32>,
}

/// Changes with the file system's policy (RFC 8881 §5.11.1, `change_policy4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct ChangePolicy {
    /// The first half.
    pub major: u64,
    /// The second half.
    pub minor: u64,
}

/// Some permission bits (RFC 8881 §6.2.5, `mode_masked4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct MaskedMode {
    /// Their values.
    pub value: u32,
    /// The bits to set.
    pub mask: u32,
}

/// The permission bits of a new file (RFC 8275, `mode_umask4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct ModeUmask {
    /// The bits that the program requested.
    pub mode: u32,
    /// The umask of the process.
    pub umask: u32,
}

/// The way the change attribute grows (RFC 7862 §12.2.3, `change_attr_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ChangeAttrType {
    /// It increases with every change.
    MonotonicIncrement = 0,
    /// It increases by one with every change.
    VersionCounter = 1,
    /// Like `VersionCounter`, only without pNFS.
    VersionCounterNoPnfs = 2,
    /// It is the time of the last change of the attributes.
    TimeMetadata = 3,
    /// It differs, without an order.
    Undefined = 4,
}

/// `fh_expire_type`: handles do not expire.
pub const FH_PERSISTENT: u32 = 0x0;
/// `fh_expire_type`: handles of open files do not expire.
pub const FH_NOEXPIRE_WITH_OPEN: u32 = 0x1;
/// `fh_expire_type`: handles may expire at any time.
pub const FH_VOLATILE_ANY: u32 = 0x2;
/// `fh_expire_type`: handles expire when the file system moves.
pub const FH_VOL_MIGRATION: u32 = 0x4;
/// `fh_expire_type`: handles expire when the file is renamed.
pub const FH_VOL_RENAME: u32 = 0x8;

/// `fs_charset_cap`: some names are not UTF-8.
pub const FS_CHARSET_CONTAINS_NON_UTF8: u32 = 0x1;
/// `fs_charset_cap`: names that are not UTF-8 are refused.
pub const FS_CHARSET_ALLOWS_ONLY_UTF8: u32 = 0x2;
