//! Access lists of NFSv2's and NFSv3's files through NFSACL.

use proto::nfs2;
use proto::nfs3::{
    ACCESS_EXECUTE, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ, CreateHow, FileHandle, PostOpAttr, Res, Sattr, Status,
};
use proto::nfs4::{Attribute, AttributeValue, Getattr, GetattrArgs};
use proto::nfsacl::*;
use rpc::{Procedure, Rejection};
use server::{ExportOptions, Squash};

use testing::caller::nfs2::Caller2;
use testing::caller::nfs3::{failure, mode, success};
use testing::caller::{Caller, EXPORT, export, export_with, memory, rejection, server};
use testing::compound::{self, Compound};

use crate::v42::place::Volume;

const USER: u32 = 1000;
const BOTH: u32 = ACL | ACL_COUNT | DEFAULT_ACL | DEFAULT_ACL_COUNT;

fn entry(tag: u32, id: u32, permissions: u32) -> AclEntry {
    AclEntry { tag, id, permissions }
}

fn list(entries: &[AclEntry]) -> AclList {
    AclList { count: entries.len() as u32, entries: entries.to_vec() }
}

/// User 1000 reads, and others nothing.
fn with_a_reader() -> [AclEntry; 5] {
    [
        entry(TAG_OWNER, 0, 6),
        entry(TAG_USER, USER, 4),
        entry(TAG_OWNING_GROUP, 0, 0),
        entry(TAG_MASK, 0, 4),
        entry(TAG_OTHER, 0, 0),
    ]
}

fn as_default(entries: &[AclEntry]) -> Vec<AclEntry> {
    entries.iter().map(|entry| AclEntry { tag: entry.tag | TAG_DEFAULT, ..*entry }).collect()
}

fn get(caller: &Caller<'_>, object: FileHandle, mask: u32) -> Secattr {
    success(caller.call::<Getacl3>(&Getacl3Args { object, mask })).acls
}

fn set(caller: &Caller<'_>, object: FileHandle, acls: Secattr) -> Res<PostOpAttr, PostOpAttr> {
    caller.call::<Setacl3>(&Setacl3Args { object, acls })
}

fn access(entries: &[AclEntry]) -> Secattr {
    Secattr { mask: ACL, access: list(entries), default: AclList::default() }
}

/// Runs `test` on every file system that has access lists, as the superuser, and says which has none.
fn on_each(test: impl Fn(Caller<'_>, FileHandle)) {
    for volume in Volume::both() {
        if !volume.fs.properties().acls {
            println!("skipped: the directory for temporary files has no access lists");
            continue;
        }
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let caller = Caller::root(&server);
        test(caller, caller.mount());
    }
}

fn made(caller: &Caller<'_>, dir: &FileHandle, name: &str, bits: u32) -> FileHandle {
    success(caller.create(dir, name, CreateHow::Guarded(mode(bits)))).object.unwrap()
}

#[test]
fn list_that_is_set_decides_shows_in_the_mode_and_comes_back() {
    on_each(|caller, root| {
        let file = made(&caller, &root, "file", 0o600);
        let user = caller.user(USER, USER, &[]);
        assert_eq!(user.access(&file, ACCESS_READ), 0);
        let after = success(set(&caller, file, access(&with_a_reader()))).unwrap();
        assert_eq!(after.mode, 0o640);
        assert_eq!(user.access(&file, ACCESS_READ | ACCESS_MODIFY), ACCESS_READ);
        assert_eq!(get(&caller, file, ACL | ACL_COUNT), Secattr { mask: 3, ..access(&with_a_reader()) });
        assert_eq!(get(&user, file, BOTH).default, AclList::default(), "everybody may read the lists");
    });
}

#[test]
fn list_of_the_permission_bits_has_a_mask_on_the_wire_and_none_where_it_is_kept() {
    on_each(|caller, root| {
        let file = made(&caller, &root, "file", 0o640);
        let with_mask =
            [entry(TAG_OWNER, 0, 6), entry(TAG_OWNING_GROUP, 0, 4), entry(TAG_MASK, 0, 4), entry(TAG_OTHER, 0, 0)];
        assert_eq!(get(&caller, file, ACL).access, list(&with_mask));
        success(set(&caller, file, access(&with_a_reader())));
        success(set(&caller, file, access(&with_mask)));
        success(caller.setattr(&file, mode(0o660)));
        let group = get(&caller, file, ACL).access.entries[1];
        assert_eq!(group, entry(TAG_OWNING_GROUP, 0, 6), "chmod sets the group's own entry: no mask was kept");
        success(set(&caller, file, access(&with_a_reader())));
        success(set(&caller, file, access(&[])));
        assert_eq!(get(&caller, file, ACL).access.entries.len(), 4, "an empty list stands for the permission bits");
    });
}

#[test]
fn number_of_entries_is_told_without_them() {
    on_each(|caller, root| {
        let file = made(&caller, &root, "file", 0o640);
        success(set(&caller, file, access(&with_a_reader())));
        let counted =
            Secattr { mask: ACL_COUNT, access: AclList { count: 5, entries: Vec::new() }, ..Secattr::default() };
        assert_eq!(get(&caller, file, ACL_COUNT), counted);
        assert_eq!(get(&caller, file, 0), Secattr::default());
        let refused = caller.call::<Getacl3>(&Getacl3Args { object: file, mask: 0x10 });
        assert_eq!(failure(refused), Status::Inval);
    });
}

#[test]
fn new_files_inherit_the_default_list_of_their_directory() {
    on_each(|caller, root| {
        let dir = caller.make_dir(&root, "dir");
        let default = as_default(&with_a_reader());
        let args = Secattr { mask: DEFAULT_ACL, access: AclList::default(), default: list(&default) };
        let before = get(&caller, dir, ACL).access;
        success(set(&caller, dir, args));
        assert_eq!(get(&caller, dir, BOTH).default, list(&default));
        assert_eq!(get(&caller, dir, ACL).access, before, "a list that is not in the mask stays");
        let file = made(&caller, &dir, "file", 0o666);
        assert_eq!(get(&caller, file, ACL).access, list(&with_a_reader()));
        let below = caller.make_dir(&dir, "below");
        assert_eq!(get(&caller, below, BOTH).default, list(&default));
        success(set(&caller, dir, Secattr { mask: DEFAULT_ACL, ..Secattr::default() }));
        assert_eq!(get(&caller, dir, BOTH).default, AclList::default());
        let of_a_file = Secattr { mask: DEFAULT_ACL, access: AclList::default(), default: list(&default) };
        assert_eq!(failure(set(&caller, file, of_a_file)), Status::Inval);
    });
}

#[test]
fn lists_that_make_no_sense_are_refused_and_change_nothing() {
    on_each(|caller, root| {
        let file = made(&caller, &root, "file", 0o640);
        let before = get(&caller, file, BOTH);
        let whole = with_a_reader();
        let twice = [&whole[..], &whole[1..2]].concat();
        let strange = [&whole[..], &[entry(0x40, 0, 4)]].concat();
        let large = [&[entry(TAG_OWNER, 0, 8)], &whole[1..]].concat();
        for entries in [&whole[1..], &twice, &strange, &large] {
            assert_eq!(failure(set(&caller, file, access(entries))), Status::Inval, "{entries:?}");
        }
        let miscounted = AclList { count: 4, entries: whole.to_vec() };
        let refused = set(&caller, file, Secattr { mask: ACL, access: miscounted, default: AclList::default() });
        assert_eq!(failure(refused), Status::Inval);
        assert_eq!(get(&caller, file, BOTH), before);
    });
}

#[test]
fn owner_alone_sets_lists_and_nobody_on_a_read_only_export_or_as_a_squashed_root() {
    let files = memory();
    let read_only = ExportOptions { read_only: true, squash: Squash::None, ..ExportOptions::default() };
    let server = server(vec![
        export(EXPORT, files.clone()),
        export_with("/read-only", files.clone(), read_only),
        export_with("/squashed", files, ExportOptions::default()),
    ]);
    let root = Caller::root(&server);
    let file = made(&root, &root.mount(), "file", 0o644);
    let by_path = |path: &str| root.handle_of(&root.mount_path(path), "file");
    let refused = |caller: &Caller<'_>, file| failure(set(caller, file, access(&with_a_reader())));
    assert_eq!(refused(&root.user(USER, USER, &[]), file), Status::Perm);
    assert_eq!(refused(&root, by_path("/read-only")), Status::RoFs);
    assert_eq!(refused(&root, by_path("/squashed")), Status::Perm);
    let own = Sattr { uid: Some(USER), ..Sattr::default() };
    success(root.setattr(&file, own));
    success(set(&root.user(USER, USER, &[]), file, access(&with_a_reader())));
}

#[test]
fn lists_that_an_export_hides_still_decide_and_clients_see_and_set_the_permission_bits_alone() {
    let files = memory();
    let hidden = ExportOptions { offers_acls: false, squash: Squash::None, ..ExportOptions::default() };
    let server = server(vec![export(EXPORT, files.clone()), export_with("/hidden", files, hidden)]);
    let root = Caller::root(&server);
    let file = made(&root, &root.mount(), "file", 0o600);
    success(set(&root, file, access(&with_a_reader())));
    let same = root.handle_of(&root.mount_path("/hidden"), "file");
    assert_eq!(root.user(USER, USER, &[]).access(&same, ACCESS_READ), ACCESS_READ);
    assert_eq!(get(&root, same, ACL).access.entries.len(), 4);
    assert_eq!(failure(set(&root, same, access(&with_a_reader()))), Status::NotSupp);
    let supported = |path: &str| {
        let args = GetattrArgs { request: Attribute::set(&[Attribute::SupportedAttrs]) };
        let mut results = root.compound(&Compound::new(0).path(path).op::<Getattr>(&args));
        let fattr = compound::success(results.skip_path(path).take::<Getattr>());
        match fattr.values().next() {
            Some(Ok(AttributeValue::SupportedAttrs(supported))) => supported,
            other => panic!("{other:?}"),
        }
    };
    let of_acls = Attribute::set(&[Attribute::Acl, Attribute::AclSupport]);
    assert_eq!(supported(EXPORT).intersection(of_acls), of_acls);
    assert_eq!(supported("/hidden"), supported(EXPORT).difference(of_acls));
}

#[test]
fn retransmitted_setacl_does_not_undo_a_later_one() {
    let server = server(vec![export(EXPORT, memory())]);
    let caller = Caller::root(&server);
    let file = made(&caller, &caller.mount(), "file", 0o644);
    let udp = caller.over_udp();
    let args = Setacl3Args { object: file, acls: access(&with_a_reader()) };
    let message = udp.message::<Setacl3>(&args);
    let first = udp.reply_to(&message);
    success(set(&caller, file, access(&[])));
    assert_eq!(udp.reply_to(&message), first);
    assert_eq!(get(&caller, file, ACL).access.entries.len(), 4, "the list was set again");
}

#[test]
fn version_2_gets_and_sets_lists_and_tells_rights() {
    on_each(|caller, root| {
        let file = made(&caller, &root, "file", 0o600);
        let v2 = Caller2(caller);
        let file2 = testing::caller::nfs2::success(v2.lookup(&v2.mount(), "file")).file;
        let set = caller.call::<Setacl2>(&Setacl2Args { file: file2, acls: access(&with_a_reader()) });
        assert!(matches!(set, nfs2::Res::Ok(fattr) if fattr.mode & 0o777 == 0o640), "{set:?}");
        let got = caller.call::<Getacl2>(&Getacl2Args { file: file2, mask: ACL });
        assert!(matches!(&got, nfs2::Res::Ok(ok) if ok.acls == get(&caller, file, ACL)), "{got:?}");
        let user = caller.user(USER, USER, &[]);
        let asked = Access2Args { file: file2, access: ACCESS_READ | ACCESS_MODIFY | ACCESS_EXECUTE | ACCESS_LOOKUP };
        let granted = user.call::<Access2>(&asked);
        assert!(matches!(granted, nfs2::Res::Ok(ok) if ok.access == ACCESS_READ), "{granted:?}");
        let attributes = caller.call::<Getattr2>(&nfs2::GetattrArgs { file: file2 });
        assert!(matches!(attributes, nfs2::Res::Ok(fattr) if fattr.mode & 0o777 == 0o640), "{attributes:?}");
    });
}

#[test]
fn each_version_has_its_procedures_and_no_others() {
    let server = server(vec![export(EXPORT, memory())]);
    let caller = Caller::root(&server);
    let call = |version, number| {
        let procedure = Procedure { program: PROGRAM, version, number };
        caller.reply_to(&caller.message_of(procedure, &()))
    };
    for version in [VERSION_2, VERSION_3] {
        let reply = call(version, 0);
        assert!(matches!(rpc::Reply::parse(&reply).unwrap().outcome, rpc::CallResult::Success(_)));
    }
    for (version, number) in [(VERSION_2, 5), (VERSION_3, 3), (VERSION_3, 4)] {
        assert_eq!(rejection(&call(version, number)), Rejection::ProcedureUnavailable, "{version}, {number}");
    }
    for version in [1, 4] {
        assert_eq!(rejection(&call(version, 0)), Rejection::ProgramMismatch { low: 2, high: 3 });
    }
}
