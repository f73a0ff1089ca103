//! Who may do what: permission bits, squashing, client lists and read-only exports.

use std::net::IpAddr;
use std::sync::Arc;

use proto::nfs3::{
    ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_EXTEND, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ, CreateHow, FileHandle,
    FsArgs, Fsinfo, Getattr, GetattrArgs, Sattr, SetTime, StableHow, Status, Time,
};
use proto::nfs4::{self, Component, Remove, RemoveArgs};
use rpc::{AuthStat, Rejection};
use server::{AccessRule, ClientPattern, Export, ExportOptions, Server, Squash};

use testing::caller::nfs2::{self, Caller2};
use testing::caller::nfs3::{at, failure, mode, size, success};
use testing::caller::{Caller, EXPORT, export, export_with, memory, memory_server, server};
use testing::compound::{self, Compound};

const ALICE: (u32, u32) = (1000, 100);
const BOB: (u32, u32) = (2000, 200);

struct Users<'s> {
    root: Caller<'s>,
    alice: Caller<'s>,
    bob: Caller<'s>,
    /// In Alice's group by a further group of his.
    colleague: Caller<'s>,
    export: FileHandle,
}

fn users(server: &Server) -> Users<'_> {
    let root = Caller::root(server);
    Users {
        root,
        alice: root.user(ALICE.0, ALICE.1, &[]),
        bob: root.user(BOB.0, BOB.1, &[]),
        colleague: root.user(3000, 300, &[7, ALICE.1]),
        export: root.mount(),
    }
}

/// A file of Alice's with some bytes and a mode.
fn file_of_alice(users: &Users<'_>, name: &str, bits: u32) -> FileHandle {
    let file = users.alice.make_file(&users.export, name);
    success(users.alice.write(&file, 0, StableHow::Unstable, b"bytes"));
    success(users.alice.setattr(&file, mode(bits)));
    file
}

#[test]
fn permission_bits_decide_who_reads_and_writes() {
    let server = memory_server();
    let users = users(&server);
    let file = file_of_alice(&users, "file", 0o640);
    success(users.alice.write(&file, 0, StableHow::Unstable, b"x"));
    success(users.colleague.read(&file, 0, 5));
    assert_eq!(failure(users.colleague.write(&file, 0, StableHow::Unstable, b"x")), Status::Acces);
    assert_eq!(failure(users.bob.read(&file, 0, 5)), Status::Acces);
    assert_eq!(failure(users.bob.write(&file, 0, StableHow::Unstable, b"x")), Status::Acces);
    success(users.root.write(&file, 0, StableHow::Unstable, b"x"));
}

#[test]
fn owner_goes_on_reading_and_writing_a_file_without_permission_bits() {
    let server = memory_server();
    let users = users(&server);
    let file = file_of_alice(&users, "file", 0);
    success(users.alice.write(&file, 0, StableHow::Unstable, b"x"));
    assert_eq!(success(users.alice.read(&file, 0, 5)).data, b"xytes");
    success(users.alice.commit(&file));
    success(users.alice.setattr(&file, size(1)));
    assert_eq!(users.alice.access(&file, ACCESS_READ | ACCESS_MODIFY), 0, "ACCESS tells what the bits say");
}

#[test]
fn permission_taken_away_holds_for_the_very_next_call() {
    let server = memory_server();
    let users = users(&server);
    let file = file_of_alice(&users, "file", 0o666);
    success(users.bob.read(&file, 0, 5));
    success(users.bob.write(&file, 0, StableHow::Unstable, b"x"));
    success(users.alice.setattr(&file, mode(0o600)));
    assert_eq!(failure(users.bob.read(&file, 0, 5)), Status::Acces);
    assert_eq!(failure(users.bob.write(&file, 0, StableHow::Unstable, b"x")), Status::Acces);
    assert_eq!(failure(users.bob.commit(&file)), Status::Acces);
}

#[test]
fn who_may_run_a_file_reads_it_too() {
    let server = memory_server();
    let users = users(&server);
    let file = file_of_alice(&users, "file", 0o711);
    success(users.bob.read(&file, 0, 5));
    assert_eq!(users.bob.access(&file, ACCESS_READ | ACCESS_EXECUTE), ACCESS_EXECUTE);
}

#[test]
fn directory_needs_search_to_look_up_read_to_list_and_both_write_and_search_to_change() {
    let server = memory_server();
    let users = users(&server);
    let dir = users.alice.make_dir(&users.export, "dir");
    users.alice.make_file(&dir, "file");
    let list = |caller: &Caller<'_>| {
        caller.call::<proto::nfs3::Readdir>(&proto::nfs3::ReaddirArgs { dir, cookie: 0, verifier: [0; 8], count: 4096 })
    };
    let may = |bits| {
        success(users.alice.setattr(&dir, mode(bits)));
        let bob = &users.bob;
        let looks_up = matches!(bob.lookup(&dir, "file"), proto::nfs3::Res::Ok(_));
        let lists = matches!(list(bob), proto::nfs3::Res::Ok(_));
        let changes = matches!(bob.link(&users.export, &dir, "x"), proto::nfs3::Res::Fail(Status::IsDir, _));
        (looks_up, lists, changes)
    };
    assert_eq!(may(0o701), (true, false, false));
    assert_eq!(may(0o704), (false, true, false));
    assert_eq!(may(0o702), (false, false, false));
    assert_eq!(may(0o703), (true, false, true));
    assert_eq!(may(0o700), (false, false, false));
}

#[test]
fn sticky_directory_keeps_names_for_their_owners_with_perm_as_linux_says() {
    let server = memory_server();
    let users = users(&server);
    success(users.root.setattr(&users.export, mode(0o1777)));
    file_of_alice(&users, "hers", 0o666);
    users.bob.make_file(&users.export, "his");
    users.alice.make_dir(&users.export, "her-dir");
    assert_eq!(failure(users.bob.remove(&users.export, "hers")), Status::Perm);
    assert_eq!(failure(users.bob.rmdir(&users.export, "her-dir")), Status::Perm);
    let v2 = Caller2(users.bob);
    assert_eq!(nfs2::failure(v2.remove(&v2.mount(), "hers")), proto::nfs2::Status::Perm);
    let remove = RemoveArgs { target: Component(b"hers") };
    let mut v4 = users.bob.compound(&Compound::new(0).root().op::<Remove>(&remove));
    assert_eq!(compound::failure(v4.skip_root().take::<Remove>()), nfs4::Status::Perm);
    let rename = |caller: &Caller<'_>, from, to| caller.rename(at(&users.export, from), at(&users.export, to));
    assert_eq!(failure(rename(&users.bob, "hers", "stolen")), Status::Perm);
    assert_eq!(failure(rename(&users.bob, "his", "hers")), Status::Perm, "nor may he put his own in its place");
    success(rename(&users.alice, "hers", "renamed"));
    success(users.alice.remove(&users.export, "renamed"));
    success(users.root.remove(&users.export, "his"));
}

#[test]
fn owner_changes_mode_and_gives_the_file_to_groups_of_hers_only() {
    let server = memory_server();
    let users = users(&server);
    let file = file_of_alice(&users, "file", 0o644);
    let owner = |uid| Sattr { uid: Some(uid), ..Sattr::default() };
    let group = |gid| Sattr { gid: Some(gid), ..Sattr::default() };
    assert_eq!(failure(users.bob.setattr(&file, mode(0o777))), Status::Perm);
    assert_eq!(failure(users.alice.setattr(&file, owner(BOB.0))), Status::Perm);
    assert_eq!(failure(users.alice.setattr(&file, group(BOB.1))), Status::Perm);
    success(users.root.user(ALICE.0, ALICE.1, &[BOB.1]).setattr(&file, group(BOB.1)));
    success(users.root.setattr(&file, owner(BOB.0)));
    assert_eq!(failure(users.alice.setattr(&file, mode(0o777))), Status::Perm);
}

#[test]
fn writer_sets_times_to_now_and_only_the_owner_to_anything() {
    let server = memory_server();
    let users = users(&server);
    let file = file_of_alice(&users, "file", 0o666);
    let to = |modified| Sattr { modified, ..Sattr::default() };
    let past = SetTime::ClientTime(Time { seconds: 5, nanoseconds: 0 });
    success(users.bob.setattr(&file, to(SetTime::ServerTime)));
    assert_eq!(failure(users.bob.setattr(&file, to(past))), Status::Perm);
    success(users.alice.setattr(&file, to(past)));
    success(users.alice.setattr(&file, mode(0o644)));
    assert_eq!(failure(users.bob.setattr(&file, to(SetTime::ServerTime))), Status::Acces);
}

fn squashing(squash: Squash) -> Server {
    let options = ExportOptions { squash, anonymous_uid: 77, anonymous_gid: 88, ..ExportOptions::default() };
    server(vec![export_with(EXPORT, memory(), options)])
}

/// Whom a new file belongs to.
fn owner_of_new_file(caller: &Caller<'_>) -> (u32, u32) {
    let attributes = caller.attributes(&caller.make_file(&caller.mount(), "new"));
    (attributes.uid, attributes.gid)
}

#[test]
fn squashing_decides_whom_a_new_file_belongs_to() {
    for (squash, root, alice) in
        [(Squash::None, (0, 0), ALICE), (Squash::Root, (77, 88), ALICE), (Squash::All, (77, 88), (77, 88))]
    {
        assert_eq!(owner_of_new_file(&Caller::root(&squashing(squash))), root, "{squash:?}");
        let server = squashing(squash);
        assert_eq!(owner_of_new_file(&Caller::root(&server).user(ALICE.0, ALICE.1, &[])), alice, "{squash:?}");
    }
}

#[test]
fn caller_without_a_credential_is_anonymous() {
    for squash in [Squash::None, Squash::Root, Squash::All] {
        assert_eq!(owner_of_new_file(&Caller::root(&squashing(squash)).nobody()), (77, 88), "{squash:?}");
    }
}

#[test]
fn squashed_superuser_is_stopped_by_permission_bits() {
    let file_system = memory();
    let open = server(vec![export(EXPORT, file_system.clone())]);
    let (users, squashed) = (users(&open), server(vec![export_with(EXPORT, file_system, ExportOptions::default())]));
    let file = file_of_alice(&users, "file", 0o600);
    let root = Caller::root(&squashed);
    assert_eq!(failure(root.read(&file, 0, 5)), Status::Acces);
    assert_eq!(failure(root.setattr(&file, mode(0o777))), Status::Perm);
}

#[test]
fn unknown_flavor_and_nonsense_in_a_credential_are_refused() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let object = caller.mount();
    let message = caller.message::<Getattr>(&GetattrArgs { object });
    let with_byte = |index: usize, byte| {
        let mut message = message.clone();
        message[index] = byte;
        testing::caller::rejection(&caller.reply_to(&message))
    };
    // Bytes 24 to 28 are the flavour, and the name's length is at 36 of the credential's body.
    assert_eq!(with_byte(27, 6), Rejection::AuthError(AuthStat::TooWeak));
    assert_eq!(with_byte(38, 7), Rejection::AuthError(AuthStat::BadCredential));
}

#[test]
fn nothing_is_changed_on_a_read_only_export() {
    let file_system = memory();
    let open = server(vec![export(EXPORT, file_system.clone())]);
    let caller = Caller::root(&open);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    let options = ExportOptions { read_only: true, squash: Squash::None, ..ExportOptions::default() };
    let read_only = server(vec![export_with(EXPORT, file_system, options)]);
    let caller = Caller::root(&read_only);
    let refused = [
        failure(caller.write(&file, 0, StableHow::Unstable, b"x")),
        failure(caller.setattr(&file, mode(0o600))),
        failure(caller.create(&root, "new", CreateHow::Guarded(Sattr::default()))),
        failure(caller.create(&root, "file", CreateHow::Unchecked(size(0)))),
        failure(caller.create(&root, "new", CreateHow::Exclusive([1; 8]))),
        failure(caller.mkdir(&root, "new")),
        failure(caller.symlink(&root, "new", b"x")),
        failure(caller.link(&file, &root, "new")),
        failure(caller.remove(&root, "file")),
        failure(caller.rmdir(&root, "file")),
        failure(caller.rename(at(&root, "file"), at(&root, "new"))),
        failure(caller.commit(&file)),
    ];
    assert_eq!(refused, [Status::RoFs; 12]);
    let changes = ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE;
    assert_eq!(caller.access(&root, changes | ACCESS_LOOKUP), ACCESS_LOOKUP);
    success(caller.read(&file, 0, 5));
    let v2 = Caller2(caller);
    let root = v2.mount();
    assert_eq!(nfs2::failure(v2.create(&root, "new", nfs2::mode(0o644))), proto::nfs2::Status::RoFs);
    assert_eq!(nfs2::failure(v2.remove(&root, "file")), proto::nfs2::Status::RoFs);
}

#[test]
fn first_rule_that_matches_a_client_decides() {
    let rule = |text: &str, read_only| AccessRule {
        clients: text.parse::<ClientPattern>().unwrap(),
        options: ExportOptions { read_only, ..ExportOptions::default() },
    };
    let rules = vec![rule("192.0.2.7", true), rule("192.0.2.0/24", false), rule("2001:db8::/32", true)];
    let server = server(vec![Export { rules, ..export(EXPORT, memory()) }]);
    let caller = Caller::root(&server).user(ALICE.0, ALICE.1, &[]);
    let root = caller.from("192.0.2.8:700").mount();
    let make = |address: &str, name| caller.from(address).create(&root, name, CreateHow::Guarded(Sattr::default()));
    success(make("192.0.2.8:700", "a"));
    success(make("[::ffff:192.0.2.8]:700", "b"));
    assert_eq!(failure(make("192.0.2.7:700", "c")), Status::RoFs);
    assert_eq!(failure(make("[2001:db8::1]:700", "c")), Status::RoFs);
    assert_eq!(failure(make("192.0.3.8:700", "c")), Status::Acces, "a handle is no permission");
}

#[test]
fn privileged_ports_are_asked_for_at_every_call() {
    let options = ExportOptions { privileged_ports_only: true, ..ExportOptions::default() };
    let server = server(vec![export_with(EXPORT, memory(), options)]);
    let caller = Caller::root(&server);
    let root = caller.mount();
    success(caller.from("192.0.2.1:1023").getattr(&root));
    assert_eq!(failure(caller.from("192.0.2.1:1024").getattr(&root)), Status::Acces);
    assert_eq!(failure(caller.from("192.0.2.1:1024").call::<Fsinfo>(&FsArgs { object: root })), Status::Acces);
}

#[test]
fn change_of_a_host_names_addresses_holds_for_the_very_next_call() {
    let pattern = ClientPattern::host("build.example.org");
    let ClientPattern::Host { addresses, .. } = &pattern else { panic!("not a host") };
    let addresses = Arc::clone(addresses);
    let rules = vec![AccessRule { clients: pattern, options: ExportOptions::default() }];
    let server = server(vec![Export { rules, ..export(EXPORT, memory()) }]);
    let caller = Caller::root(&server);
    addresses.store(Arc::new(vec![IpAddr::from([192, 0, 2, 1])]));
    let root = caller.mount();
    addresses.store(Arc::new(Vec::new()));
    assert_eq!(failure(caller.getattr(&root)), Status::Acces);
}

#[test]
fn mode_of_a_symbolic_link_is_ignored_and_the_owner_is_set() {
    let server = memory_server();
    let users = users(&server);
    let link = success(users.alice.symlink(&users.export, "link", b"target")).object.unwrap();
    let before = users.root.attributes(&link).mode;
    success(users.root.setattr(&link, Sattr { uid: Some(BOB.0), ..mode(0o600) }));
    let after = users.root.attributes(&link);
    assert_eq!((after.mode, after.uid), (before, BOB.0));
    success(users.bob.setattr(&link, mode(0o600)));
    assert_eq!(failure(users.alice.setattr(&link, mode(0o600))), Status::Perm);
    let v2 = Caller2(users.root);
    let link2 = nfs2::success(v2.lookup(&v2.mount(), "link")).file;
    assert_eq!(nfs2::success(v2.setattr(&link2, nfs2::mode(0o600))).mode & 0o7777, before);
}

#[test]
fn file_that_exists_is_taken_by_an_unchecked_create_where_no_names_can_be_added() {
    let server = memory_server();
    let users = users(&server);
    let dir = users.alice.make_dir(&users.export, "dir");
    let file = users.alice.make_file(&dir, "file");
    success(users.alice.write(&file, 0, StableHow::Unstable, b"bytes"));
    success(users.alice.setattr(&file, mode(0o622)));
    let bob = users.bob;
    let create = |name, attributes| bob.create(&dir, name, CreateHow::Unchecked(attributes));
    assert_eq!(success(create("file", mode(0o600))).object, Some(file));
    assert_eq!(failure(create("new", mode(0o600))), Status::Acces);
    assert_eq!(failure(bob.create(&dir, "file", CreateHow::Guarded(mode(0o600)))), Status::Acces);
    let v2 = Caller2(bob);
    let dir2 = nfs2::success(v2.lookup(&v2.mount(), "dir")).file;
    nfs2::success(v2.create(&dir2, "file", nfs2::mode(0o600)));
    assert_eq!(nfs2::failure(v2.create(&dir2, "new", nfs2::mode(0o600))), proto::nfs2::Status::Acces);
    assert_eq!((users.root.attributes(&file).size, users.root.attributes(&file).mode), (5, 0o622));
    assert_eq!(success(create("file", size(0))).attributes.unwrap().size, 0);
    success(users.alice.setattr(&file, mode(0o644)));
    assert_eq!(failure(create("file", size(0))), Status::Acces);
    success(users.alice.setattr(&dir, mode(0o766)));
    assert_eq!(failure(create("file", mode(0o600))), Status::Acces, "nor may he look it up");
}
