//! The values of attributes, and how they come together.

use super::*;
use AttributeValue as V;

/// Shows that the parts are the value of its attribute, alone and in a list of one.
fn value(parts: &[&str], value: AttributeValue<'static>) {
    let bytes = leaked(wire(parts));
    let attribute = value.attribute();
    let name = attribute.info().name;
    let mut from = Decoder::new(bytes);
    assert_eq!(V::decode(attribute, &mut from), Ok(Some(value.clone())), "{name} decoded");
    assert_eq!(from.rest(), b"", "{name} leaves nothing");
    let mut buffer = Buffer::new();
    let list = Fattr::collect(std::slice::from_ref(&value), &mut buffer);
    assert_eq!(list, Fattr { mask: Attribute::set(&[attribute]), values: bytes }, "{name} encoded");
    for length in 0..bytes.len() {
        let result = V::decode(attribute, &mut Decoder::new(&bytes[..length]));
        assert!(matches!(result, Err(xdr::Error::Truncated { .. })), "{name} cut to {length} bytes: {result:?}");
    }
}

#[test]
fn booleans() {
    let made: [fn(bool) -> V<'static>; 15] = [
        V::LinkSupport,
        V::SymlinkSupport,
        V::NamedAttr,
        V::UniqueHandles,
        V::Archive,
        V::CanSetTime,
        V::CaseInsensitive,
        V::CasePreserving,
        V::ChownRestricted,
        V::Hidden,
        V::Homogeneous,
        V::NoTrunc,
        V::System,
        V::XattrSupport,
        V::Offline,
    ];
    for make in made {
        value(&[YES], make(true));
        value(&[NO], make(false));
    }
}

#[test]
fn words() {
    let made: [fn(u32) -> V<'static>; 11] = [
        V::FhExpireType,
        V::LeaseTime,
        V::AclSupport,
        V::MaxLink,
        V::MaxName,
        V::Mode,
        V::NumLinks,
        V::LayoutBlksize,
        V::LayoutAlignment,
        V::FsCharsetCap,
        V::CloneBlksize,
    ];
    for make in made {
        value(&["12345678"], make(0x1234_5678));
    }
}

#[test]
fn long_words() {
    let made: [fn(u64) -> V<'static>; 19] = [
        V::Change,
        V::Size,
        V::FileId,
        V::FilesAvail,
        V::FilesFree,
        V::FilesTotal,
        V::MaxFileSize,
        V::MaxRead,
        V::MaxWrite,
        V::QuotaAvailHard,
        V::QuotaAvailSoft,
        V::QuotaUsed,
        V::SpaceAvail,
        V::SpaceFree,
        V::SpaceTotal,
        V::SpaceUsed,
        V::MountedOnFileId,
        V::RetentionHold,
        V::SpaceFreed,
    ];
    for make in made {
        value(&["123456789abcdef0"], make(0x1234_5678_9abc_def0));
    }
}

#[test]
fn times() {
    let made: [fn(Time) -> V<'static>; 8] = [
        V::TimeAccess,
        V::TimeBackup,
        V::TimeCreate,
        V::TimeDelta,
        V::TimeMetadata,
        V::TimeModify,
        V::DirNotifDelay,
        V::DirentNotifDelay,
    ];
    for make in made {
        value(&["ffffffffffffffff 3b9ac9ff"], make(Time { seconds: -1, nanoseconds: 999_999_999 }));
    }
    value(&["00000000"], V::TimeAccessSet(SetTime::ServerTime));
    value(&["00000001", TIME], V::TimeModifySet(SetTime::ClientTime(TIME_VALUE)));
}

#[test]
fn structures() {
    value(&[MASK], V::SupportedAttrs(mask()));
    value(&[MASK], V::SuppAttrExclCreat(mask()));
    value(&["0000000000000001 0000000000000002"], V::Fsid(Fsid { major: 1, minor: 2 }));
    value(&["0000000000000001 0000000000000002"], V::ChangePolicy(ChangePolicy { major: 1, minor: 2 }));
    value(&["0000000d"], V::RdattrError(Status::Access));
    value(&[HANDLE], V::FileHandle(handle()));
    value(&["00000008 00000001"], V::RawDev(SpecData { major: 8, minor: 1 }));
    value(&["00000005 'a/b;c' 000000"], V::MimeType(MimeType(b"a/b;c")));
    value(&["00000003 'x@y' 00"], V::Owner(Principal(b"x@y")));
    value(&["00000004 '1000'"], V::OwnerGroup(Principal(b"1000")));
    value(&["000001ed 00000fff"], V::ModeSetMasked(MaskedMode { value: 0o755, mask: 0o7777 }));
    value(&["000001b6 00000012"], V::ModeUmask(ModeUmask { mode: 0o666, umask: 0o22 }));
    value(&["00000001 00000004"], V::FsLayoutTypes(LayoutTypes { types: vec![4] }));
    value(&["00000000"], V::LayoutTypes(LayoutTypes { types: vec![] }));
}

#[test]
fn every_kind_of_file_has_its_number() {
    let kinds = [
        FileType::Regular,
        FileType::Directory,
        FileType::BlockDevice,
        FileType::CharDevice,
        FileType::Symlink,
        FileType::Socket,
        FileType::Fifo,
        FileType::AttributeDirectory,
        FileType::NamedAttribute,
    ];
    for (number, kind) in (1..).zip(kinds) {
        value(&[&format!("{number:08x}")], V::Type(kind));
    }
    bad::<FileType>(&["00000000"]);
    bad::<FileType>(&["0000000a"]);
}

#[test]
fn every_way_in_which_the_change_attribute_grows_has_its_number() {
    let ways = [
        ChangeAttrType::MonotonicIncrement,
        ChangeAttrType::VersionCounter,
        ChangeAttrType::VersionCounterNoPnfs,
        ChangeAttrType::TimeMetadata,
        ChangeAttrType::Undefined,
    ];
    for (number, way) in (0..).zip(ways) {
        value(&[&format!("{number:08x}")], V::ChangeAttrType(way));
    }
    bad::<ChangeAttrType>(&["00000005"]);
}

#[test]
fn access_control_lists() {
    const ACES: &str = "00000002 \
        00000000 00000000 001601bf 00000006 'OWNER@' 0000 \
        00000001 00000043 00000002 00000003 'x@y' 00";
    let acl = || Acl {
        aces: vec![
            Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: 0x0016_01bf, who: Principal(b"OWNER@") },
            Ace {
                ace_type: ACE_DENY,
                flags: ACE_FLAG_IDENTIFIER_GROUP | ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT,
                access_mask: ACE_WRITE_DATA,
                who: Principal(b"x@y"),
            },
        ],
    };
    value(&[ACES], V::Acl(acl()));
    value(&["00000000"], V::Acl(Acl::default()));
    value(&["00000003", ACES], V::Dacl(Acl41 { flags: ACL_AUTO_INHERIT | ACL_PROTECTED, acl: acl() }));
    value(&["00000004", ACES], V::Sacl(Acl41 { flags: ACL_DEFAULTED, acl: acl() }));
}

#[test]
fn locations() {
    let root = Pathname { components: vec![Component(b"a"), ETC] };
    let servers = vec![ServerName(b"one"), ServerName(b"::1")];
    let locations = vec![FsLocation { servers, root: Pathname::default() }];
    value(
        &["00000002 00000001 'a' 000000", NAME, "00000001 00000002 00000003 'one' 00 00000003 '::1' 00 00000000"],
        V::FsLocations(FsLocations { root, locations }),
    );
}

#[test]
fn values_come_in_the_order_of_their_numbers() {
    let values: Vec<_> = fattr().values().collect();
    assert_eq!(values, [Ok(V::Size(4096)), Ok(V::Mode(0o644))]);
    assert_eq!(Fattr::EMPTY.values().next(), None);
}

/// Appends the attributes of the vector, but fails at `failing`.
fn write(failing: Option<Attribute>, buffer: &mut Buffer) -> Result<(), Attribute> {
    Fattr::write(mask(), &mut Encoder::new(buffer), |attribute, to| {
        match attribute {
            _ if Some(attribute) == failing => return Err(attribute),
            Attribute::Size => to.u64(4096),
            Attribute::Mode => to.u32(0o644),
            other => panic!("{other:?} is not in the mask"),
        }
        Ok(())
    })
}

#[test]
fn values_that_are_appended_one_by_one_are_the_bytes_of_the_vector() {
    let mut buffer = Buffer::new();
    assert_eq!(write(None, &mut buffer), Ok(()));
    assert_eq!(buffer.as_slice(), wire(&[FATTR]));
}

#[test]
fn nothing_is_appended_when_a_value_fails() {
    let mut buffer = Buffer::new();
    buffer.put(b"kept");
    assert_eq!(write(Some(Attribute::Mode), &mut buffer), Err(Attribute::Mode));
    assert_eq!(buffer.as_slice(), b"kept");
}

#[test]
fn unknown_attribute_is_an_error_of_its_own_and_ends_the_values() {
    for (number, known) in [(61, true), (87, false), (128, false)] {
        let list = Fattr { mask: Bitmap::of(&[4, number]), values: FATTR_BYTES };
        let values: Vec<_> = list.values().collect();
        assert_eq!(values, [Ok(V::Size(4096)), Err(FattrError::NotSupported { number })]);
        assert_eq!(Attribute::from_number(number).is_some(), known);
    }
}

#[test]
fn lengths_of_the_values_must_be_exact() {
    let values = |values| -> Vec<_> { Fattr { mask: mask(), values }.values().collect() };
    let cut = values(&FATTR_BYTES[..8]);
    assert!(matches!(cut[..], [Ok(_), Err(FattrError::Value(xdr::Error::Truncated { .. }))]), "{cut:?}");
    let longer = values(leaked([FATTR_BYTES, b"\0\0\0\0"].concat()));
    assert_eq!(longer[2..], [Err(FattrError::Trailing { bytes: 4 })]);
    let nothing = Fattr { mask: Bitmap::EMPTY, values: b"\0" };
    assert_eq!(nothing.values().collect::<Vec<_>>(), [Err(FattrError::Trailing { bytes: 1 })]);
}

#[test]
fn every_mandatory_attribute_and_all_of_a_posix_file_system_have_a_codec() {
    let without: Vec<_> =
        ATTRIBUTES.iter().filter(|info| !V::KNOWN.contains(info.attribute.number())).map(|info| info.name).collect();
    let expected = [
        "fs_status",
        "layout_hint",
        "fs_locations_info",
        "mdsthreshold",
        "retention_get",
        "retention_set",
        "retentevt_get",
        "retentevt_set",
        "sec_label",
        "time_deleg_access",
        "time_deleg_modify",
        "open_arguments",
    ];
    assert_eq!(without, expected);
}
