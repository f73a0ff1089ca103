//! NFSACL, put together from `acl_prot.x` of Solaris and what Linux's client sends.

use proto::nfs2;
use proto::nfs3;
use proto::nfsacl::*;

use crate::vectors::vector::{arguments, arguments_too_long, identity, reply, reply_too_long, wire};

const OK: &str = "00000000";
/// Of NFSv2, without a length.
const HANDLE_2: &str = "000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f";
const HANDLE_3: &str = "00000005 'fh-ab' 000000";
/// The attributes of an NFSv2 file, 17 words.
const FATTR: &str = "00000001 000081a0 00000001 000003e8 00000064 00000005 00001000 00000000 00000001 00000009 \
                     00000099 00000001 00000002 00000003 00000004 00000005 00000006";
/// The owner 1000 reads and writes, user 7 reads, the group 100 and others nothing, and the mask is to read.
const ENTRIES: &str = "00000005 00000001 000003e8 00000006 00000002 00000007 00000004 00000004 00000064 00000000 \
                       00000010 00000000 00000004 00000020 00000000 00000000";
/// A default list of as many entries, which are not sent.
const COUNTED: &str = "00000003 00000000";

fn secattr() -> Secattr {
    let entry = |tag, id, permissions| AclEntry { tag, id, permissions };
    let entries = vec![
        entry(TAG_OWNER, 1000, 6),
        entry(TAG_USER, 7, 4),
        entry(TAG_OWNING_GROUP, 100, 0),
        entry(TAG_MASK, 0, 4),
        entry(TAG_OTHER, 0, 0),
    ];
    Secattr {
        mask: ACL | DEFAULT_ACL_COUNT,
        access: AclList { count: 5, entries },
        default: AclList { count: 3, entries: Vec::new() },
    }
}

/// The mask, the access list and the default list.
fn lists() -> String {
    ["00000009", "00000005", ENTRIES, COUNTED].concat()
}

fn attributes() -> nfs2::Fattr {
    nfs2::Fattr {
        file_type: nfs2::FileType::Regular,
        mode: 0o100_640,
        links: 1,
        uid: 1000,
        gid: 100,
        size: 5,
        block_bytes: 4096,
        device: 0,
        blocks: 1,
        fsid: 9,
        fileid: 0x99,
        accessed: nfs2::Time { seconds: 1, microseconds: 2 },
        modified: nfs2::Time { seconds: 3, microseconds: 4 },
        changed: nfs2::Time { seconds: 5, microseconds: 6 },
    }
}

fn file_2() -> nfs2::FileHandle {
    nfs2::FileHandle(std::array::from_fn(|index| index as u8))
}

#[test]
fn numbers_of_the_procedures() {
    assert_eq!(identity::<Getacl2>(), (100_227, 2, 1, "GETACL"));
    assert_eq!(identity::<Setacl2>(), (100_227, 2, 2, "SETACL"));
    assert_eq!(identity::<Getattr2>(), (100_227, 2, 3, "GETATTR"));
    assert_eq!(identity::<Access2>(), (100_227, 2, 4, "ACCESS"));
    assert_eq!(identity::<Getacl3>(), (100_227, 3, 1, "GETACL"));
    assert_eq!(identity::<Setacl3>(), (100_227, 3, 2, "SETACL"));
}

#[test]
fn version_2() {
    arguments::<Getacl2>(&wire(&[HANDLE_2, "0000000f"]), Getacl2Args { file: file_2(), mask: 15 });
    let ok = Getacl2Ok { attributes: attributes(), acls: secattr() };
    reply::<Getacl2>(&wire(&[OK, FATTR, &lists()]), nfs2::Res::Ok(ok));
    reply::<Getacl2>(&wire(&["0000000d"]), nfs2::Res::Fail(nfs2::Status::Acces));
    let args = Setacl2Args { file: file_2(), acls: secattr() };
    arguments::<Setacl2>(&wire(&[HANDLE_2, &lists()]), args);
    reply::<Setacl2>(&wire(&[OK, FATTR]), nfs2::Res::Ok(attributes()));
    arguments::<Getattr2>(&wire(&[HANDLE_2]), nfs2::GetattrArgs { file: file_2() });
    reply::<Getattr2>(&wire(&[OK, FATTR]), nfs2::Res::Ok(attributes()));
    arguments::<Access2>(&wire(&[HANDLE_2, "0000003f"]), Access2Args { file: file_2(), access: 0x3f });
    let ok = Access2Ok { attributes: attributes(), access: 1 };
    reply::<Access2>(&wire(&[OK, FATTR, "00000001"]), nfs2::Res::Ok(ok));
}

#[test]
fn version_3() {
    let object = nfs3::FileHandle::new(b"fh-ab").unwrap();
    arguments::<Getacl3>(&wire(&[HANDLE_3, "00000005"]), Getacl3Args { object, mask: 5 });
    let ok = Getacl3Ok { attributes: None, acls: secattr() };
    reply::<Getacl3>(&wire(&[OK, "00000000", &lists()]), nfs3::Res::Ok(ok));
    reply::<Getacl3>(&wire(&["00000046", "00000000"]), nfs3::Res::Fail(nfs3::Status::Stale, None));
    arguments::<Setacl3>(&wire(&[HANDLE_3, &lists()]), Setacl3Args { object, acls: secattr() });
    reply::<Setacl3>(&wire(&[OK, "00000000"]), nfs3::Res::Ok(None));
    reply::<Setacl3>(&wire(&["0000001e", "00000000"]), nfs3::Res::Fail(nfs3::Status::RoFs, None));
}

#[test]
fn lists_of_more_than_1024_entries_are_refused() {
    arguments_too_long::<Setacl3>(&wire(&[HANDLE_3, "00000001", "00000401", "00000401"]), MAX_ENTRIES);
    reply_too_long::<Getacl2>(&wire(&[OK, FATTR, "00000001", "00000401", "00000401"]), MAX_ENTRIES);
}
