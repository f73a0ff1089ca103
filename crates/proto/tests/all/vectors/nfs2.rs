//! NFS version 2 (RFC 1094).

use proto::nfs2::*;

use crate::vectors::vector::{arguments, arguments_too_long, identity, reply, reply_bad, reply_too_long, wire};

const OK: &str = "00000000";
const YES: &str = "00000001";
const NO: &str = "00000000";
/// A handle has no length.
const HANDLE: &str = "000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f";
/// The name `etc`.
const NAME: &str = "00000003 'etc' 00";
/// `fattr`, 17 words.
const FATTR: &str = "00000001 000081a4 00000002 000003e8 00000064 00002001 00001000 00000801 00000011 00000009 \
                     00000099 00000001 00000002 00000003 00000004 00000005 00000006";
/// `sattr` with everything in it.
const SATTR: &str = "000001ed 00000001 00000002 00001000 00000003 00000004 00000005 00000006";
/// `sattr` with nothing in it.
const NO_SATTR: &str = "ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff";

const FATTR_VALUE: Fattr = Fattr {
    file_type: FileType::Regular,
    mode: 0o100_644,
    links: 2,
    uid: 1000,
    gid: 100,
    size: 8193,
    block_bytes: 4096,
    device: 0x801,
    blocks: 17,
    fsid: 9,
    fileid: 0x99,
    accessed: Time { seconds: 1, microseconds: 2 },
    modified: Time { seconds: 3, microseconds: 4 },
    changed: Time { seconds: 5, microseconds: 6 },
};
const SATTR_VALUE: Sattr = Sattr {
    mode: Some(0o755),
    uid: Some(1),
    gid: Some(2),
    size: Some(4096),
    accessed: SetTime::ClientTime(Time { seconds: 3, microseconds: 4 }),
    modified: SetTime::ClientTime(Time { seconds: 5, microseconds: 6 }),
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
    FileHandle(std::array::from_fn(|index| index as u8))
}

fn etc() -> DirOp<'static> {
    DirOp { dir: handle(), name: b"etc" }
}

#[test]
fn procedures_have_the_numbers_of_the_rfc() {
    let all = [
        identity::<Null>(),
        identity::<Getattr>(),
        identity::<Setattr>(),
        identity::<Root>(),
        identity::<Lookup>(),
        identity::<Readlink>(),
        identity::<Read>(),
        identity::<Writecache>(),
        identity::<Write>(),
        identity::<Create>(),
        identity::<Remove>(),
        identity::<Rename>(),
        identity::<Link>(),
        identity::<Symlink>(),
        identity::<Mkdir>(),
        identity::<Rmdir>(),
        identity::<Readdir>(),
        identity::<Statfs>(),
    ];
    for ((number, found), name) in (0..).zip(all).zip(PROCEDURES) {
        assert_eq!(found, (100_003, 2, number, name));
    }
    assert_eq!(all.len(), PROCEDURES.len());
}

#[test]
fn null_and_the_obsolete_procedures_are_empty() {
    arguments::<Null>(b"", ());
    reply::<Null>(b"", ());
    arguments::<Root>(b"", ());
    reply::<Root>(b"", ());
    arguments::<Writecache>(b"", ());
    reply::<Writecache>(b"", ());
}

#[test]
fn getattr() {
    arguments::<Getattr>(&wire(&[HANDLE]), GetattrArgs { file: handle() });
    reply::<Getattr>(&wire(&[OK, FATTR]), Res::Ok(FATTR_VALUE));
    reply::<Getattr>(&wire(&["00000046"]), Res::Fail(Status::Stale));
}

#[test]
fn setattr() {
    arguments::<Setattr>(&wire(&[HANDLE, SATTR]), SetattrArgs { file: handle(), attributes: SATTR_VALUE });
    arguments::<Setattr>(&wire(&[HANDLE, NO_SATTR]), SetattrArgs { file: handle(), attributes: NO_SATTR_VALUE });
    reply::<Setattr>(&wire(&[OK, FATTR]), Res::Ok(FATTR_VALUE));
    reply::<Setattr>(&wire(&["00000001"]), Res::Fail(Status::Perm));
}

#[test]
fn a_million_microseconds_ask_for_the_servers_time() {
    let attributes = Sattr { modified: SetTime::ServerTime { seconds: 5 }, ..SATTR_VALUE };
    arguments::<Setattr>(
        &wire(&[HANDLE, "000001ed 00000001 00000002 00001000 00000003 00000004 00000005 000f4240"]),
        SetattrArgs { file: handle(), attributes },
    );
}

#[test]
fn time_with_one_half_of_minus_one_is_not_set() {
    for half in ["ffffffff 00000000", "00000000 ffffffff"] {
        let bytes = wire(&["ffffffff ffffffff ffffffff ffffffff", half, half]);
        assert_eq!(xdr::Decode::decode(&mut xdr::Decoder::new(&bytes)), Ok(NO_SATTR_VALUE));
    }
}

#[test]
fn lookup() {
    arguments::<Lookup>(&wire(&[HANDLE, NAME]), LookupArgs { what: etc() });
    reply::<Lookup>(&wire(&[OK, HANDLE, FATTR]), Res::Ok(DirOpOk { file: handle(), attributes: FATTR_VALUE }));
    reply::<Lookup>(&wire(&["00000002"]), Res::Fail(Status::NoEnt));
}

#[test]
fn readlink() {
    arguments::<Readlink>(&wire(&[HANDLE]), ReadlinkArgs { symlink: handle() });
    reply::<Readlink>(&wire(&[OK, "00000006 '../lib' 0000"]), Res::Ok(ReadlinkOk { target: b"../lib" }));
    reply::<Readlink>(&wire(&["00000006"]), Res::Fail(Status::NxIo));
}

#[test]
fn read() {
    arguments::<Read>(
        &wire(&[HANDLE, "00001000 00002000 00000000"]),
        ReadArgs { file: handle(), offset: 4096, count: 8192, total_count: 0 },
    );
    let head = ReadHead { attributes: FATTR_VALUE };
    reply::<Read>(&wire(&[OK, FATTR, "00000005 'hello' 000000"]), Res::Ok(ReadOk { head, data: b"hello" }));
    reply::<Read>(&wire(&["00000015"]), Res::Fail(Status::IsDir));
}

#[test]
fn write() {
    arguments::<Write>(
        &wire(&[HANDLE, "00000001 00000200 00000002 00000003 'abc' 00"]),
        WriteArgs { file: handle(), begin_offset: 1, offset: 512, total_count: 2, data: b"abc" },
    );
    reply::<Write>(&wire(&[OK, FATTR]), Res::Ok(FATTR_VALUE));
    reply::<Write>(&wire(&["0000001c"]), Res::Fail(Status::NoSpc));
}

#[test]
fn create_and_mkdir() {
    let made = Res::Ok(DirOpOk { file: handle(), attributes: FATTR_VALUE });
    arguments::<Create>(&wire(&[HANDLE, NAME, SATTR]), CreateArgs { place: etc(), attributes: SATTR_VALUE });
    reply::<Create>(&wire(&[OK, HANDLE, FATTR]), made);
    reply::<Create>(&wire(&["00000011"]), Res::Fail(Status::Exist));
    arguments::<Mkdir>(&wire(&[HANDLE, NAME, NO_SATTR]), CreateArgs { place: etc(), attributes: NO_SATTR_VALUE });
    reply::<Mkdir>(&wire(&[OK, HANDLE, FATTR]), made);
    reply::<Mkdir>(&wire(&["0000003f"]), Res::Fail(Status::NameTooLong));
}

#[test]
fn remove_and_rmdir() {
    arguments::<Remove>(&wire(&[HANDLE, NAME]), RemoveArgs { object: etc() });
    reply::<Remove>(&wire(&[OK]), Res::Ok(()));
    reply::<Remove>(&wire(&["0000000d"]), Res::Fail(Status::Acces));
    arguments::<Rmdir>(&wire(&[HANDLE, NAME]), RmdirArgs { object: etc() });
    reply::<Rmdir>(&wire(&[OK]), Res::Ok(()));
    reply::<Rmdir>(&wire(&["00000042"]), Res::Fail(Status::NotEmpty));
}

#[test]
fn rename() {
    let to = DirOp { dir: FileHandle([9; 32]), name: b"a" };
    let to_dir = "09090909".repeat(8);
    arguments::<Rename>(&wire(&[HANDLE, NAME, &to_dir, "00000001 'a' 000000"]), RenameArgs { from: etc(), to });
    reply::<Rename>(&wire(&[OK]), Res::Ok(()));
    reply::<Rename>(&wire(&["0000001e"]), Res::Fail(Status::RoFs));
}

#[test]
fn link() {
    let file = "09090909".repeat(8);
    arguments::<Link>(&wire(&[&file, HANDLE, NAME]), LinkArgs { file: FileHandle([9; 32]), link: etc() });
    reply::<Link>(&wire(&[OK]), Res::Ok(()));
    reply::<Link>(&wire(&["00000045"]), Res::Fail(Status::DQuot));
}

#[test]
fn symlink() {
    arguments::<Symlink>(
        &wire(&[HANDLE, NAME, "00000004 '/etc'", SATTR]),
        SymlinkArgs { place: etc(), target: b"/etc", attributes: SATTR_VALUE },
    );
    reply::<Symlink>(&wire(&[OK]), Res::Ok(()));
    reply::<Symlink>(&wire(&["00000014"]), Res::Fail(Status::NotDir));
}

#[test]
fn readdir() {
    arguments::<Readdir>(
        &wire(&[HANDLE, "01020304 00001000"]),
        ReaddirArgs { dir: handle(), cookie: 0x0102_0304, count: 4096 },
    );
    let entries =
        vec![DirEntry { fileid: 2, name: b".", cookie: 1 }, DirEntry { fileid: 7, name: b"etc", cookie: u32::MAX }];
    reply::<Readdir>(
        &wire(&[OK, YES, "00000002 00000001 '.' 000000 00000001", YES, "00000007", NAME, "ffffffff", NO, YES]),
        Res::Ok(ReaddirOk { entries, eof: true }),
    );
    reply::<Readdir>(&wire(&[OK, NO, NO]), Res::Ok(ReaddirOk { entries: vec![], eof: false }));
    reply::<Readdir>(&wire(&["00000014"]), Res::Fail(Status::NotDir));
}

#[test]
fn statfs() {
    arguments::<Statfs>(&wire(&[HANDLE]), StatfsArgs { file: handle() });
    reply::<Statfs>(
        &wire(&[OK, "00002000 00001000 00000003 00000002 00000001"]),
        Res::Ok(StatfsOk {
            transfer_bytes: 8192,
            block_bytes: 4096,
            total_blocks: 3,
            free_blocks: 2,
            available_blocks: 1,
        }),
    );
    reply::<Statfs>(&wire(&["00000005"]), Res::Fail(Status::Io));
}

#[test]
fn every_kind_of_file_has_its_number() {
    let kinds = [
        (FileType::Non, 0),
        (FileType::Regular, 1),
        (FileType::Directory, 2),
        (FileType::BlockDevice, 3),
        (FileType::CharDevice, 4),
        (FileType::Symlink, 5),
        (FileType::Socket, 6),
        (FileType::Fifo, 8),
    ];
    for (file_type, number) in kinds {
        let word = format!("{number:08x}");
        reply::<Getattr>(&wire(&[OK, &word, &FATTR[8..]]), Res::Ok(Fattr { file_type, ..FATTR_VALUE }));
    }
    for unknown in ["00000007", "00000009"] {
        reply_bad::<Getattr>(&wire(&[OK, unknown, &FATTR[8..]]));
    }
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
        (Status::OpNotSupp, 45),
        (Status::NameTooLong, 63),
        (Status::NotEmpty, 66),
        (Status::DQuot, 69),
        (Status::Stale, 70),
        (Status::Remote, 71),
        (Status::WFlush, 99),
    ];
    for (status, number) in numbers {
        reply::<Remove>(&u32::to_be_bytes(number), Res::Fail(status));
    }
    for unknown in [3, 98, 100, 10001, u32::MAX] {
        reply_bad::<Remove>(&unknown.to_be_bytes());
    }
}

#[test]
fn lengths_over_the_limits_are_refused() {
    arguments_too_long::<Lookup>(&wire(&[HANDLE, "00000100"]), 255);
    arguments_too_long::<Create>(&wire(&[HANDLE, "ffffffff"]), 255);
    arguments_too_long::<Rename>(&wire(&[HANDLE, NAME, HANDLE, "00000100"]), 255);
    arguments_too_long::<Link>(&wire(&[HANDLE, HANDLE, "00000100"]), 255);
    arguments_too_long::<Symlink>(&wire(&[HANDLE, NAME, "00200001"]), proto::MAX_ARGUMENT_BYTES);
    arguments_too_long::<Write>(&wire(&[HANDLE, "00000000 00000000 00000000 00002001"]), 8192);
    reply_too_long::<Readlink>(&wire(&[OK, "00000401"]), 1024);
    reply_too_long::<Read>(&wire(&[OK, FATTR, "00002001"]), 8192);
    reply_too_long::<Readdir>(&wire(&[OK, YES, "00000002 00000100"]), 255);
}

#[test]
fn directory_without_end_is_refused_at_the_limit() {
    let entry = wire(&[YES, "00000002 00000000 00000001"]);
    let bytes = [wire(&[OK]), entry.repeat(MAX_DIR_ENTRIES), wire(&[YES])].concat();
    reply_too_long::<Readdir>(&bytes, MAX_DIR_ENTRIES);
}
