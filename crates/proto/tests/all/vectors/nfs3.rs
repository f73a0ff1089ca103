//! NFS version 3 (RFC 1813).

use proto::nfs3::*;

use crate::vectors::vector::{
    arguments, arguments_bad, arguments_too_long, identity, reply, reply_bad, reply_too_long, wire,
};

const OK: &str = "00000000";
const YES: &str = "00000001";
const NO: &str = "00000000";
/// A handle of five bytes.
const HANDLE: &str = "00000005 6162636465 000000";
/// The name `etc`.
const NAME: &str = "00000003 'etc' 00";
/// `fattr3`, 21 words.
const FATTR: &str = "00000001 000001a4 00000002 000003e8 00000064 0000000100000001 0000000000002000 00000008 00000001 \
                     1122334455667788 0000000000000099 00000001 00000002 00000003 00000004 00000005 00000006";
/// `wcc_attr`: size, mtime, ctime.
const WCC_ATTR: &str = "0000000000000400 00000007 00000008 00000009 0000000a";
/// `wcc_data` with nothing before and after.
const NO_WCC: &str = "00000000 00000000";
/// `sattr3` with everything in it.
const SATTR: &str = "00000001 000001ed 00000001 00000001 00000001 00000002 00000001 0000000000001000 \
                     00000001 00000002 00000003 00000004";
/// `sattr3` with nothing in it.
const NO_SATTR: &str = "00000000 00000000 00000000 00000000 00000000 00000000";
/// `createverf3`, `writeverf3` and `cookieverf3`.
const VERIFIER: &str = "0102030405060708";
const VERIFIER_VALUE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// NFS3ERR_ACCES, NFS3ERR_STALE.
const ACCES: &str = "0000000d";
const STALE: &str = "00000046";

const FATTR_VALUE: Fattr = Fattr {
    file_type: FileType::Regular,
    mode: 0o644,
    links: 2,
    uid: 1000,
    gid: 100,
    size: (1 << 32) + 1,
    used: 8192,
    device: SpecData { major: 8, minor: 1 },
    fsid: 0x1122_3344_5566_7788,
    fileid: 0x99,
    accessed: Time { seconds: 1, nanoseconds: 2 },
    modified: Time { seconds: 3, nanoseconds: 4 },
    changed: Time { seconds: 5, nanoseconds: 6 },
};
const WCC_VALUE: WccData = WccData {
    before: Some(WccAttr {
        size: 1024,
        modified: Time { seconds: 7, nanoseconds: 8 },
        changed: Time { seconds: 9, nanoseconds: 10 },
    }),
    after: Some(FATTR_VALUE),
};
const NO_WCC_VALUE: WccData = WccData { before: None, after: None };
const SATTR_VALUE: Sattr = Sattr {
    mode: Some(0o755),
    uid: Some(1),
    gid: Some(2),
    size: Some(4096),
    accessed: SetTime::ServerTime,
    modified: SetTime::ClientTime(Time { seconds: 3, nanoseconds: 4 }),
};
const NO_SATTR_VALUE: Sattr = Sattr {
    mode: None,
    uid: None,
    gid: None,
    size: None,
    accessed: SetTime::DontChange,
    modified: SetTime::DontChange,
};

fn handle() -> FileHandle {
    FileHandle::new(b"abcde").expect("five bytes are no more than 64")
}

fn etc() -> DirOp<'static> {
    DirOp { dir: handle(), name: b"etc" }
}

/// `wcc_data` with everything in it.
fn wcc() -> String {
    [YES, WCC_ATTR, YES, FATTR].concat()
}

#[test]
fn procedures_have_the_numbers_of_the_rfc() {
    let all = [
        identity::<Null>(),
        identity::<Getattr>(),
        identity::<Setattr>(),
        identity::<Lookup>(),
        identity::<Access>(),
        identity::<Readlink>(),
        identity::<Read>(),
        identity::<Write>(),
        identity::<Create>(),
        identity::<Mkdir>(),
        identity::<Symlink>(),
        identity::<Mknod>(),
        identity::<Remove>(),
        identity::<Rmdir>(),
        identity::<Rename>(),
        identity::<Link>(),
        identity::<Readdir>(),
        identity::<Readdirplus>(),
        identity::<Fsstat>(),
        identity::<Fsinfo>(),
        identity::<Pathconf>(),
        identity::<Commit>(),
    ];
    for ((number, found), name) in (0..).zip(all).zip(PROCEDURES) {
        assert_eq!(found, (100_003, 3, number, name));
    }
    assert_eq!(all.len(), PROCEDURES.len());
}

#[test]
fn null_is_empty() {
    arguments::<Null>(b"", ());
    reply::<Null>(b"", ());
}

#[test]
fn getattr() {
    arguments::<Getattr>(&wire(&[HANDLE]), GetattrArgs { object: handle() });
    reply::<Getattr>(&wire(&[OK, FATTR]), Res::Ok(GetattrOk { attributes: FATTR_VALUE }));
    reply::<Getattr>(&wire(&[STALE]), Res::Fail(Status::Stale, ()));
}

#[test]
fn setattr() {
    let guard = Some(Time { seconds: 5, nanoseconds: 6 });
    arguments::<Setattr>(
        &wire(&[HANDLE, SATTR, YES, "00000005 00000006"]),
        SetattrArgs { object: handle(), attributes: SATTR_VALUE, guard },
    );
    arguments::<Setattr>(
        &wire(&[HANDLE, NO_SATTR, NO]),
        SetattrArgs { object: handle(), attributes: NO_SATTR_VALUE, guard: None },
    );
    reply::<Setattr>(&wire(&[OK, &wcc()]), Res::Ok(WCC_VALUE));
    reply::<Setattr>(&wire(&["00002712", NO_WCC]), Res::Fail(Status::NotSync, NO_WCC_VALUE));
}

#[test]
fn lookup() {
    arguments::<Lookup>(&wire(&[HANDLE, NAME]), LookupArgs { what: etc() });
    reply::<Lookup>(
        &wire(&[OK, HANDLE, YES, FATTR, NO]),
        Res::Ok(LookupOk { object: handle(), attributes: Some(FATTR_VALUE), dir_attributes: None }),
    );
    reply::<Lookup>(&wire(&["00000002", YES, FATTR]), Res::Fail(Status::NoEnt, Some(FATTR_VALUE)));
}

#[test]
fn access() {
    let asked = ACCESS_READ | ACCESS_LOOKUP | ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE | ACCESS_EXECUTE;
    arguments::<Access>(&wire(&[HANDLE, "0000003f"]), AccessArgs { object: handle(), access: asked });
    reply::<Access>(&wire(&[OK, NO, "00000003"]), Res::Ok(AccessOk { attributes: None, access: 3 }));
    reply::<Access>(&wire(&[STALE, NO]), Res::Fail(Status::Stale, None));
}

#[test]
fn readlink() {
    arguments::<Readlink>(&wire(&[HANDLE]), ReadlinkArgs { symlink: handle() });
    reply::<Readlink>(
        &wire(&[OK, YES, FATTR, "00000006 '../lib' 0000"]),
        Res::Ok(ReadlinkOk { attributes: Some(FATTR_VALUE), target: b"../lib" }),
    );
    reply::<Readlink>(&wire(&["00000016", NO]), Res::Fail(Status::Inval, None));
}

#[test]
fn read() {
    arguments::<Read>(
        &wire(&[HANDLE, "0000000100000000 00001000"]),
        ReadArgs { file: handle(), offset: 1 << 32, count: 4096 },
    );
    let head = ReadHead { attributes: Some(FATTR_VALUE), count: 5, eof: true };
    reply::<Read>(
        &wire(&[OK, YES, FATTR, "00000005", YES, "00000005 'hello' 000000"]),
        Res::Ok(ReadOk { head, data: b"hello" }),
    );
    reply::<Read>(&wire(&[ACCES, NO]), Res::Fail(Status::Acces, None));
}

#[test]
fn write() {
    for (stable, word) in
        [(StableHow::Unstable, "00000000"), (StableHow::DataSync, "00000001"), (StableHow::FileSync, "00000002")]
    {
        arguments::<Write>(
            &wire(&[HANDLE, "0000000000000200 00000003", word, "00000003 'abc' 00"]),
            WriteArgs { file: handle(), offset: 512, count: 3, stable, data: b"abc" },
        );
        reply::<Write>(
            &wire(&[OK, &wcc(), "00000003", word, VERIFIER]),
            Res::Ok(WriteOk { file_wcc: WCC_VALUE, count: 3, committed: stable, verifier: VERIFIER_VALUE }),
        );
    }
    reply::<Write>(&wire(&["0000001c", NO_WCC]), Res::Fail(Status::NoSpc, NO_WCC_VALUE));
    arguments_bad::<Write>(&wire(&[HANDLE, "0000000000000200 00000003 00000003 00000003 'abc' 00"]));
}

#[test]
fn create() {
    let create = |how| CreateArgs { place: etc(), how };
    arguments::<Create>(&wire(&[HANDLE, NAME, "00000000", SATTR]), create(CreateHow::Unchecked(SATTR_VALUE)));
    arguments::<Create>(&wire(&[HANDLE, NAME, "00000001", NO_SATTR]), create(CreateHow::Guarded(NO_SATTR_VALUE)));
    arguments::<Create>(&wire(&[HANDLE, NAME, "00000002", VERIFIER]), create(CreateHow::Exclusive(VERIFIER_VALUE)));
    arguments_bad::<Create>(&wire(&[HANDLE, NAME, "00000003", VERIFIER]));
    reply::<Create>(
        &wire(&[OK, YES, HANDLE, YES, FATTR, &wcc()]),
        Res::Ok(CreateOk { object: Some(handle()), attributes: Some(FATTR_VALUE), dir_wcc: WCC_VALUE }),
    );
    reply::<Create>(
        &wire(&[OK, NO, NO, NO_WCC]),
        Res::Ok(CreateOk { object: None, attributes: None, dir_wcc: NO_WCC_VALUE }),
    );
    reply::<Create>(&wire(&["00000011", &wcc()]), Res::Fail(Status::Exist, WCC_VALUE));
}

#[test]
fn mkdir() {
    arguments::<Mkdir>(&wire(&[HANDLE, NAME, SATTR]), MkdirArgs { place: etc(), attributes: SATTR_VALUE });
    reply::<Mkdir>(
        &wire(&[OK, YES, HANDLE, NO, NO_WCC]),
        Res::Ok(CreateOk { object: Some(handle()), attributes: None, dir_wcc: NO_WCC_VALUE }),
    );
    reply::<Mkdir>(&wire(&["0000001e", NO_WCC]), Res::Fail(Status::RoFs, NO_WCC_VALUE));
}

#[test]
fn symlink() {
    arguments::<Symlink>(
        &wire(&[HANDLE, NAME, SATTR, "00000004 '/etc'"]),
        SymlinkArgs { place: etc(), attributes: SATTR_VALUE, target: b"/etc" },
    );
    reply::<Symlink>(
        &wire(&[OK, NO, NO, &wcc()]),
        Res::Ok(CreateOk { object: None, attributes: None, dir_wcc: WCC_VALUE }),
    );
    reply::<Symlink>(&wire(&["00002714", NO_WCC]), Res::Fail(Status::NotSupp, NO_WCC_VALUE));
}

#[test]
fn mknod() {
    let mknod = |what| MknodArgs { place: etc(), what };
    let device = SpecData { major: 8, minor: 17 };
    let cases = [
        (mknod(MknodData::Regular), wire(&[HANDLE, NAME, "00000001"])),
        (mknod(MknodData::Directory), wire(&[HANDLE, NAME, "00000002"])),
        (
            mknod(MknodData::BlockDevice(SATTR_VALUE, device)),
            wire(&[HANDLE, NAME, "00000003", SATTR, "00000008 00000011"]),
        ),
        (
            mknod(MknodData::CharDevice(NO_SATTR_VALUE, device)),
            wire(&[HANDLE, NAME, "00000004", NO_SATTR, "00000008 00000011"]),
        ),
        (mknod(MknodData::Symlink), wire(&[HANDLE, NAME, "00000005"])),
        (mknod(MknodData::Socket(SATTR_VALUE)), wire(&[HANDLE, NAME, "00000006", SATTR])),
        (mknod(MknodData::Fifo(SATTR_VALUE)), wire(&[HANDLE, NAME, "00000007", SATTR])),
    ];
    for (value, bytes) in &cases {
        arguments::<Mknod>(bytes, *value);
    }
    arguments_bad::<Mknod>(&wire(&[HANDLE, NAME, "00000008", SATTR]));
    reply::<Mknod>(
        &wire(&[OK, YES, HANDLE, YES, FATTR, NO_WCC]),
        Res::Ok(CreateOk { object: Some(handle()), attributes: Some(FATTR_VALUE), dir_wcc: NO_WCC_VALUE }),
    );
    reply::<Mknod>(&wire(&["00002717", NO_WCC]), Res::Fail(Status::BadType, NO_WCC_VALUE));
}

#[test]
fn remove_and_rmdir() {
    arguments::<Remove>(&wire(&[HANDLE, NAME]), RemoveArgs { object: etc() });
    reply::<Remove>(&wire(&[OK, &wcc()]), Res::Ok(WCC_VALUE));
    reply::<Remove>(&wire(&["00000001", NO_WCC]), Res::Fail(Status::Perm, NO_WCC_VALUE));
    arguments::<Rmdir>(&wire(&[HANDLE, NAME]), RmdirArgs { object: etc() });
    reply::<Rmdir>(&wire(&[OK, NO_WCC]), Res::Ok(NO_WCC_VALUE));
    reply::<Rmdir>(&wire(&["00000042", &wcc()]), Res::Fail(Status::NotEmpty, WCC_VALUE));
}

#[test]
fn rename() {
    let to = DirOp { dir: FileHandle::new(b"xyzw").unwrap(), name: b"a" };
    arguments::<Rename>(&wire(&[HANDLE, NAME, "00000004 'xyzw' 00000001 'a' 000000"]), RenameArgs { from: etc(), to });
    let both = RenameWcc { from_dir: WCC_VALUE, to_dir: NO_WCC_VALUE };
    reply::<Rename>(&wire(&[OK, &wcc(), NO_WCC]), Res::Ok(both));
    reply::<Rename>(&wire(&["00000012", &wcc(), NO_WCC]), Res::Fail(Status::XDev, both));
}

#[test]
fn link() {
    let file = FileHandle::new(b"").unwrap();
    arguments::<Link>(&wire(&["00000000", HANDLE, NAME]), LinkArgs { file, link: etc() });
    let both = LinkAttributes { file: Some(FATTR_VALUE), dir_wcc: NO_WCC_VALUE };
    reply::<Link>(&wire(&[OK, YES, FATTR, NO_WCC]), Res::Ok(both));
    reply::<Link>(&wire(&["0000001f", YES, FATTR, NO_WCC]), Res::Fail(Status::MLink, both));
}

#[test]
fn readdir() {
    arguments::<Readdir>(
        &wire(&[HANDLE, "0000000000000009", VERIFIER, "00001000"]),
        ReaddirArgs { dir: handle(), cookie: 9, verifier: VERIFIER_VALUE, count: 4096 },
    );
    let head = ReaddirHead { dir_attributes: Some(FATTR_VALUE), verifier: VERIFIER_VALUE };
    let entries =
        vec![DirEntry { fileid: 2, name: b".", cookie: 1 }, DirEntry { fileid: 7, name: b"etc", cookie: u64::MAX }];
    reply::<Readdir>(
        &wire(&[
            OK,
            YES,
            FATTR,
            VERIFIER,
            YES,
            "0000000000000002 00000001 '.' 000000 0000000000000001",
            YES,
            "0000000000000007",
            NAME,
            "ffffffffffffffff",
            NO,
            YES,
        ]),
        Res::Ok(ReaddirOk { head, entries, eof: true }),
    );
    reply::<Readdir>(&wire(&["00002713", NO]), Res::Fail(Status::BadCookie, None));
}

#[test]
fn readdirplus() {
    arguments::<Readdirplus>(
        &wire(&[HANDLE, "0000000000000000 0000000000000000 00000400 00008000"]),
        ReaddirplusArgs { dir: handle(), cookie: 0, verifier: [0; 8], dir_count: 1024, max_count: 32768 },
    );
    let entry = DirEntry { fileid: 7, name: b"etc", cookie: 3 };
    let entries = vec![
        DirEntryPlus { entry, attributes: Some(FATTR_VALUE), handle: Some(handle()) },
        DirEntryPlus { entry, attributes: None, handle: None },
    ];
    let head = ReaddirHead { dir_attributes: None, verifier: VERIFIER_VALUE };
    reply::<Readdirplus>(
        &wire(&[
            OK,
            NO,
            VERIFIER,
            YES,
            "0000000000000007",
            NAME,
            "0000000000000003",
            YES,
            FATTR,
            YES,
            HANDLE,
            YES,
            "0000000000000007",
            NAME,
            "0000000000000003",
            NO,
            NO,
            NO,
            NO,
        ]),
        Res::Ok(ReaddirplusOk { head, entries, eof: false }),
    );
    reply::<Readdirplus>(&wire(&["00002715", NO]), Res::Fail(Status::TooSmall, None));
}

#[test]
fn fsstat() {
    arguments::<Fsstat>(&wire(&[HANDLE]), FsArgs { object: handle() });
    reply::<Fsstat>(
        &wire(&[
            OK,
            NO,
            "0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005",
            "0000000000000006 00000007",
        ]),
        Res::Ok(FsstatOk {
            attributes: None,
            total_bytes: 1,
            free_bytes: 2,
            available_bytes: 3,
            total_files: 4,
            free_files: 5,
            available_files: 6,
            invariant_seconds: 7,
        }),
    );
    reply::<Fsstat>(&wire(&["00000005", NO]), Res::Fail(Status::Io, None));
}

#[test]
fn fsinfo() {
    arguments::<Fsinfo>(&wire(&[HANDLE]), FsArgs { object: handle() });
    reply::<Fsinfo>(
        &wire(&[
            OK,
            YES,
            FATTR,
            "00000001 00000002 00000003 00000004 00000005 00000006 00000007",
            "7fffffffffffffff 00000000 00000001 0000001b",
        ]),
        Res::Ok(FsinfoOk {
            attributes: Some(FATTR_VALUE),
            read_max: 1,
            read_preferred: 2,
            read_multiple: 3,
            write_max: 4,
            write_preferred: 5,
            write_multiple: 6,
            readdir_preferred: 7,
            max_file_bytes: (1 << 63) - 1,
            time_delta: Time { seconds: 0, nanoseconds: 1 },
            properties: FSF_LINK | FSF_SYMLINK | FSF_HOMOGENEOUS | FSF_CANSETTIME,
        }),
    );
    reply::<Fsinfo>(&wire(&["00002711", NO]), Res::Fail(Status::BadHandle, None));
}

#[test]
fn pathconf() {
    arguments::<Pathconf>(&wire(&[HANDLE]), FsArgs { object: handle() });
    reply::<Pathconf>(
        &wire(&[OK, NO, "00007d00 000000ff 00000001 00000000 00000000 00000001"]),
        Res::Ok(PathconfOk {
            attributes: None,
            max_links: 32000,
            max_name_bytes: 255,
            no_truncation: true,
            chown_restricted: false,
            case_insensitive: false,
            case_preserving: true,
        }),
    );
    reply::<Pathconf>(&wire(&[STALE, NO]), Res::Fail(Status::Stale, None));
}

#[test]
fn commit() {
    arguments::<Commit>(
        &wire(&[HANDLE, "0000000000000000 00000000"]),
        CommitArgs { file: handle(), offset: 0, count: 0 },
    );
    reply::<Commit>(
        &wire(&[OK, &wcc(), VERIFIER]),
        Res::Ok(CommitOk { file_wcc: WCC_VALUE, verifier: VERIFIER_VALUE }),
    );
    reply::<Commit>(&wire(&["00000005", NO_WCC]), Res::Fail(Status::Io, NO_WCC_VALUE));
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
    ];
    for (number, file_type) in (1..).zip(kinds) {
        let word = format!("{number:08x}");
        reply::<Getattr>(
            &wire(&[OK, &word, &FATTR[8..]]),
            Res::Ok(GetattrOk { attributes: Fattr { file_type, ..FATTR_VALUE } }),
        );
    }
    reply_bad::<Getattr>(&wire(&[OK, "00000000", &FATTR[8..]]));
    reply_bad::<Getattr>(&wire(&[OK, "00000008", &FATTR[8..]]));
}

#[test]
fn every_status_has_its_number() {
    let numbers = [
        (Status::Perm, 1),
        (Status::NoEnt, 2),
        (Status::Io, 5),
        (Status::NxIo, 6),
        (Status::Acces, 13),
        (Status::Exist, 17),
        (Status::XDev, 18),
        (Status::NoDev, 19),
        (Status::NotDir, 20),
        (Status::IsDir, 21),
        (Status::Inval, 22),
        (Status::FBig, 27),
        (Status::NoSpc, 28),
        (Status::RoFs, 30),
        (Status::MLink, 31),
        (Status::NameTooLong, 63),
        (Status::NotEmpty, 66),
        (Status::DQuot, 69),
        (Status::Stale, 70),
        (Status::Remote, 71),
        (Status::BadHandle, 10001),
        (Status::NotSync, 10002),
        (Status::BadCookie, 10003),
        (Status::NotSupp, 10004),
        (Status::TooSmall, 10005),
        (Status::ServerFault, 10006),
        (Status::BadType, 10007),
        (Status::Jukebox, 10008),
    ];
    for (status, number) in numbers {
        reply::<Getattr>(&u32::to_be_bytes(number), Res::Fail(status, ()));
    }
    for unknown in [3, 72, 10000, 10009, u32::MAX] {
        reply_bad::<Getattr>(&unknown.to_be_bytes());
    }
}

#[test]
fn handle_of_64_bytes_is_the_longest() {
    let bytes = [vec![0, 0, 0, 64], vec![7; 64]].concat();
    arguments::<Getattr>(&bytes, GetattrArgs { object: FileHandle::new(&[7; 64]).unwrap() });
    arguments_too_long::<Getattr>(&wire(&["00000041"]), 64);
    reply_too_long::<Lookup>(&wire(&[OK, "ffffffff"]), 64);
    assert_eq!(FileHandle::new(&[7; 65]), None);
}

#[test]
fn lengths_over_the_limits_are_refused() {
    arguments_too_long::<Lookup>(&wire(&[HANDLE, "00001001"]), MAX_NAME_BYTES);
    arguments_too_long::<Rename>(&wire(&[HANDLE, NAME, HANDLE, "00001001"]), MAX_NAME_BYTES);
    arguments_too_long::<Symlink>(&wire(&[HANDLE, NAME, SATTR, "00200001"]), proto::MAX_ARGUMENT_BYTES);
    arguments_too_long::<Write>(
        &wire(&[HANDLE, "0000000000000000 00000000 00000000 00200001"]),
        proto::MAX_ARGUMENT_BYTES,
    );
    reply_too_long::<Readlink>(&wire(&[OK, NO, "00001001"]), MAX_PATH_BYTES);
    reply_too_long::<Read>(&wire(&[OK, NO, "00100001", NO, "00100001"]), MAX_DATA_BYTES);
    reply_too_long::<Readdir>(&wire(&[OK, NO, VERIFIER, YES, "0000000000000002 00001001"]), MAX_NAME_BYTES);
    reply_too_long::<Readdirplus>(&wire(&[OK, NO, VERIFIER, YES, "0000000000000002 00001001"]), MAX_NAME_BYTES);
}

#[test]
fn directory_without_end_is_refused_at_the_limit() {
    let entry = wire(&[YES, "0000000000000002 00000000 0000000000000001"]);
    let mut bytes = wire(&[OK, NO, VERIFIER]);
    bytes.extend(entry.repeat(MAX_DIR_ENTRIES));
    bytes.extend(wire(&[YES]));
    reply_too_long::<Readdir>(&bytes, MAX_DIR_ENTRIES);
}
