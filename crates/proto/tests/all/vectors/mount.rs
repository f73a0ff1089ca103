//! MOUNT versions 1, 2 and 3 (RFC 1094 Appendix A, RFC 1813 §5).

use proto::mount::*;
use proto::{nfs2, nfs3};

use crate::vectors::vector::{arguments, arguments_too_long, identity, reply, reply_bad, reply_too_long, wire};

const OK: &str = "00000000";
const YES: &str = "00000001";
const NO: &str = "00000000";
/// The path `/export`.
const PATH: &str = "00000007 '/export' 00";
const EXPORT: DirPath<'static> = DirPath { path: b"/export" };

#[test]
fn procedures_have_the_numbers_of_the_rfcs() {
    let version_2 = [
        identity::<Null<2>>(),
        identity::<Mnt<2>>(),
        identity::<Dump<2>>(),
        identity::<Umnt<2>>(),
        identity::<Umntall<2>>(),
        identity::<Export<2>>(),
        identity::<Exportall<2>>(),
        identity::<Pathconf>(),
    ];
    for ((number, found), name) in (0..).zip(version_2).zip(PROCEDURES) {
        assert_eq!(found, (100_005, 2, number, name));
    }
    assert_eq!(version_2.len(), PROCEDURES.len());
    assert_eq!(identity::<Mnt<1>>(), (100_005, 1, 1, "MNT"));
    assert_eq!(identity::<Mnt3>(), (100_005, 3, 1, "MNT"));
    assert_eq!(identity::<Export<3>>(), (100_005, 3, 5, "EXPORT"));
}

#[test]
fn null_and_umntall_are_empty() {
    arguments::<Null<1>>(b"", ());
    reply::<Null<1>>(b"", ());
    arguments::<Umntall<3>>(b"", ());
    reply::<Umntall<3>>(b"", ());
}

#[test]
fn mnt_of_version_1_and_2_tells_a_handle_of_32_bytes_or_an_error_number() {
    arguments::<Mnt<1>>(&wire(&[PATH]), EXPORT);
    let handle = "0102030405060708090a0b0c0d0e0f10 1112131415161718191a1b1c1d1e1f20";
    let value = nfs2::FileHandle(std::array::from_fn(|index| index as u8 + 1));
    reply::<Mnt<1>>(&wire(&[OK, handle]), MntReply::Ok(value));
    reply::<Mnt<2>>(&wire(&[OK, handle]), MntReply::Ok(value));
    reply::<Mnt<2>>(&wire(&["0000000d"]), MntReply::Fail(Errno(13)));
    reply::<Mnt<2>>(&wire(&["ffffffff"]), MntReply::Fail(Errno(u32::MAX)));
}

#[test]
fn mnt_of_version_3_tells_a_handle_and_flavors() {
    arguments::<Mnt3>(&wire(&[PATH]), EXPORT);
    let ok = Mnt3Ok { handle: nfs3::FileHandle::new(b"abcde").unwrap(), flavors: vec![1, 390_003] };
    reply::<Mnt3>(&wire(&[OK, "00000005 'abcde' 000000 00000002 00000001 0005f373"]), Mnt3Reply::Ok(ok));
    let none = Mnt3Ok { handle: nfs3::FileHandle::new(b"").unwrap(), flavors: vec![] };
    reply::<Mnt3>(&wire(&[OK, "00000000 00000000"]), Mnt3Reply::Ok(none));
}

#[test]
fn every_status_of_version_3_has_its_number() {
    let numbers = [
        (Status::Perm, 1),
        (Status::NoEnt, 2),
        (Status::Io, 5),
        (Status::Acces, 13),
        (Status::NotDir, 20),
        (Status::Inval, 22),
        (Status::NameTooLong, 63),
        (Status::NotSupp, 10004),
        (Status::ServerFault, 10006),
    ];
    for (status, number) in numbers {
        reply::<Mnt3>(&u32::to_be_bytes(number), Mnt3Reply::Fail(status));
    }
    for unknown in [3, 10001, u32::MAX] {
        reply_bad::<Mnt3>(&unknown.to_be_bytes());
    }
}

#[test]
fn dump() {
    arguments::<Dump<3>>(b"", ());
    reply::<Dump<3>>(&wire(&[NO]), DumpReply { mounts: vec![] });
    let mounts =
        vec![Mount { host_name: b"box", directory: b"/export" }, Mount { host_name: b"10.0.0.1", directory: b"/" }];
    reply::<Dump<1>>(
        &wire(&[YES, "00000003 'box' 00", PATH, YES, "00000008 '10.0.0.1' 00000001 '/' 000000", NO]),
        DumpReply { mounts },
    );
}

#[test]
fn umnt() {
    arguments::<Umnt<1>>(&wire(&[PATH]), EXPORT);
    reply::<Umnt<1>>(b"", ());
}

#[test]
fn export_and_exportall() {
    let bytes =
        wire(&[YES, PATH, YES, "00000003 'box' 00", YES, "00000002 '@g' 0000", NO, YES, "00000001 '/' 000000", NO, NO]);
    let groups = vec![Group { name: b"box" }, Group { name: b"@g" }];
    let exports = vec![ExportNode { directory: b"/export", groups }, ExportNode { directory: b"/", groups: vec![] }];
    arguments::<Export<3>>(b"", ());
    reply::<Export<3>>(&bytes, ExportReply { exports: exports.clone() });
    arguments::<Exportall<2>>(b"", ());
    reply::<Exportall<2>>(&bytes, ExportReply { exports });
    reply::<Export<1>>(&wire(&[NO]), ExportReply { exports: vec![] });
}

#[test]
fn pathconf() {
    arguments::<Pathconf>(&wire(&[PATH]), EXPORT);
    reply::<Pathconf>(
        &wire(&["00007d00 000000fe 000000fd 000000ff 00001000 00001001 00000001 00000000 00000280 00000000"]),
        PathconfReply {
            max_links: 32000,
            max_canonical_bytes: 254,
            max_input_bytes: 253,
            max_name_bytes: 255,
            max_path_bytes: 4096,
            pipe_buffer_bytes: 4097,
            disabling_character: 1,
            padding: 0,
            mask: [PC_NO_TRUNC | PC_CHOWN_RESTRICTED, 0],
        },
    );
}

#[test]
fn path_of_1024_bytes_is_the_longest() {
    let bytes = [vec![0, 0, 4, 0], vec![b'p'; 1024]].concat();
    arguments::<Mnt3>(&bytes, DirPath { path: &[b'p'; 1024] });
    arguments_too_long::<Mnt3>(&wire(&["00000401"]), 1024);
    arguments_too_long::<Mnt<1>>(&wire(&["00000401"]), 1024);
    arguments_too_long::<Umnt<2>>(&wire(&["ffffffff"]), 1024);
    arguments_too_long::<Pathconf>(&wire(&["00000401"]), 1024);
}

#[test]
fn lengths_over_the_limits_are_refused() {
    reply_too_long::<Mnt3>(&wire(&[OK, "00000041"]), 64);
    reply_too_long::<Mnt3>(&wire(&[OK, "00000000 00000041"]), MAX_FLAVORS);
    reply_too_long::<Dump<3>>(&wire(&[YES, "00000100"]), 255);
    reply_too_long::<Dump<3>>(&wire(&[YES, "00000000 00000401"]), 1024);
    reply_too_long::<Export<3>>(&wire(&[YES, "00000401"]), 1024);
    reply_too_long::<Export<3>>(&wire(&[YES, "00000000", YES, "00000100"]), 255);
}

#[test]
fn lists_without_end_are_refused_at_their_limits() {
    let mounts = [wire(&[YES, "00000000 00000000"]).repeat(MAX_MOUNTS), wire(&[YES])].concat();
    reply_too_long::<Dump<3>>(&mounts, MAX_MOUNTS);
    let exports = [wire(&[YES, "00000000", NO]).repeat(MAX_EXPORTS), wire(&[YES])].concat();
    reply_too_long::<Export<3>>(&exports, MAX_EXPORTS);
    let groups = [wire(&[YES, "00000000"]), wire(&[YES, "00000000"]).repeat(MAX_GROUPS), wire(&[YES])].concat();
    reply_too_long::<Export<3>>(&groups, MAX_GROUPS);
}
