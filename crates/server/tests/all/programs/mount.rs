//! MOUNT.

use std::sync::Arc;

use proto::mount::{
    DirPath, Dump, Export as ExportOp, Exportall, Mnt, Mnt3, Mnt3Reply, MntReply, Null, PC_ERROR, Pathconf, Status,
    Umnt, Umntall,
};
use proto::nfs3::CreateHow;
use rpc::Rejection;
use server::{AccessRule, ClientPattern, Export, ExportOptions, Server, Squash};

use testing::caller::nfs3::{mode, success};
use testing::caller::{Caller, EXPORT, export, export_with, memory, memory_server, procedure, server};

fn mnt3(caller: &Caller<'_>, path: &str) -> Result<Vec<u32>, Status> {
    match caller.call::<Mnt3>(&DirPath { path: path.as_bytes() }) {
        Mnt3Reply::Ok(ok) => Ok(ok.flavors),
        Mnt3Reply::Fail(status) => Err(status),
    }
}

/// The client and the directory of each mount that DUMP tells of.
fn dumped(caller: &Caller<'_>) -> Vec<(String, String)> {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    caller.call::<Dump<3>>(&()).mounts.iter().map(|mount| (text(mount.host_name), text(mount.directory))).collect()
}

#[test]
fn path_with_and_without_slashes_is_one() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    for path in ["/srv/export", "/srv/export/", "/srv/export//", "/srv/export/.", "/"] {
        assert_eq!(caller.mount_path(path), root, "{path}");
    }
}

#[test]
fn root_stands_for_an_export_only_when_it_is_the_single_one() {
    let server = server(vec![export(EXPORT, memory()), export("/srv/other", memory())]);
    let caller = Caller::root(&server);
    assert_eq!(mnt3(&caller, "/"), Err(Status::NoEnt));
    assert_ne!(caller.mount_path(EXPORT), caller.mount_path("/srv/other"));
    assert_eq!(mnt3(&caller, "/srv"), Err(Status::NoEnt));
    assert_eq!(mnt3(&caller, "/srv/export2"), Err(Status::NoEnt), "an export's name is no prefix of another name");
    assert_eq!(mnt3(&caller, ""), Err(Status::NoEnt));
}

#[test]
fn directory_below_an_export_is_mounted_and_nothing_beside_it() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let inner = caller.make_dir(&caller.make_dir(&root, "dir"), "inner");
    caller.make_file(&root, "file");
    success(caller.symlink(&root, "link", b"dir"));
    for path in ["/srv/export/dir/inner", "/srv/export//dir/./inner/", "/dir/inner"] {
        assert_eq!(caller.mount_path(path), inner, "{path}");
    }
    for (path, status) in [
        ("/srv/export/nothing", Status::NoEnt),
        ("/srv/export/file", Status::NotDir),
        ("/srv/export/file/x", Status::NotDir),
        ("/srv/export/link", Status::NotDir),
        ("/srv/export/link/inner", Status::NotDir),
        ("/srv/export/dir/..", Status::Inval),
        ("/srv/export/../export", Status::Inval),
    ] {
        assert_eq!(mnt3(&caller, path), Err(status), "{path}");
    }
    assert_eq!(mnt3(&caller, &format!("/srv/export/{}", "x".repeat(256))), Err(Status::NameTooLong));
}

#[test]
fn directory_that_the_caller_may_not_search_hides_what_is_below() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let dir = caller.make_dir(&caller.mount(), "dir");
    caller.make_dir(&dir, "inner");
    success(caller.setattr(&dir, mode(0o700)));
    let user = caller.user(1000, 100, &[]);
    assert_eq!(mnt3(&user, "/srv/export/dir/inner"), Err(Status::Acces));
    assert!(mnt3(&user, "/srv/export/dir").is_ok());
    assert!(mnt3(&caller, "/srv/export/dir/inner").is_ok());
}

#[test]
fn client_without_a_rule_gets_acces() {
    let rule = |clients: &str, options| AccessRule { clients: clients.parse().unwrap(), options };
    let privileged = ExportOptions { privileged_ports_only: true, ..ExportOptions::default() };
    let rules = vec![rule("192.0.2.0/24", privileged), rule("2001:db8::7", ExportOptions::default())];
    let server = server(vec![Export { rules, ..export(EXPORT, memory()) }]);
    let caller = Caller::root(&server);
    assert!(mnt3(&caller.from("192.0.2.9:1023"), EXPORT).is_ok());
    assert!(mnt3(&caller.from("[::ffff:192.0.2.9]:1023"), EXPORT).is_ok());
    assert!(mnt3(&caller.from("[2001:db8::7]:5000"), EXPORT).is_ok());
    assert_eq!(mnt3(&caller.from("192.0.2.9:1024"), EXPORT), Err(Status::Acces));
    assert_eq!(mnt3(&caller.from("192.0.3.9:1023"), EXPORT), Err(Status::Acces));
    assert_eq!(mnt3(&caller.from("[2001:db8::8]:1023"), EXPORT), Err(Status::Acces));
    let refused = caller.from("192.0.3.9:1023").call::<Mnt<1>>(&DirPath { path: EXPORT.as_bytes() });
    assert_eq!(refused, MntReply::Fail(proto::mount::Errno(13)));
}

#[test]
fn flavors_are_those_that_make_a_difference() {
    let options = |squash| ExportOptions { squash, ..ExportOptions::default() };
    for (squash, flavors) in [(Squash::Root, vec![1]), (Squash::None, vec![1]), (Squash::All, vec![1, 0])] {
        let server = server(vec![export_with(EXPORT, memory(), options(squash))]);
        assert_eq!(mnt3(&Caller::root(&server), EXPORT), Ok(flavors), "{squash:?}");
    }
}

#[test]
fn handles_of_all_versions_name_one_directory() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let path = DirPath { path: EXPORT.as_bytes() };
    let (first, second) = (caller.call::<Mnt<1>>(&path), caller.call::<Mnt<2>>(&path));
    assert_eq!(first, second);
    let MntReply::Ok(handle) = first else { panic!("{first:?}") };
    assert_eq!(&handle.0[..root.as_bytes().len()], root.as_bytes());
    assert!(handle.0[root.as_bytes().len()..].iter().all(|byte| *byte == 0));
}

#[test]
fn mounts_are_listed_until_they_are_given_up() {
    let server = memory_server();
    let (first, second) = (Caller::root(&server), Caller::root(&server).from("[2001:db8::7]:700"));
    first.make_dir(&first.mount(), "dir");
    second.mount_path("/srv/export/dir/");
    let entry = |client: &str, path: &str| (client.to_owned(), path.to_owned());
    let all = [entry("192.0.2.1", EXPORT), entry("2001:db8::7", "/srv/export/dir")];
    assert_eq!(dumped(&first), all);
    first.call::<Umnt<3>>(&DirPath { path: b"/srv/export/dir" });
    assert_eq!(dumped(&first), all, "another client's mount is not given up");
    second.call::<Umnt<1>>(&DirPath { path: b"/srv/export/dir" });
    assert_eq!(dumped(&first), all[..1]);
    first.call::<Umntall<2>>(&());
    assert_eq!(dumped(&first), []);
}

#[test]
fn refused_mount_is_not_listed() {
    let server = memory_server();
    let caller = Caller::root(&server);
    assert_eq!(mnt3(&caller, "/srv/export/nothing"), Err(Status::NoEnt));
    assert_eq!(dumped(&caller), []);
}

#[test]
fn exports_are_listed_with_who_may_mount_them() {
    let rules = |patterns: &[&str]| {
        let rule = |text: &&str| AccessRule { clients: text.parse().unwrap(), options: ExportOptions::default() };
        patterns.iter().map(rule).collect::<Vec<_>>()
    };
    let named = |name: &str, patterns: &[&str]| Export { rules: rules(patterns), ..export(name, memory()) };
    let server = server(vec![
        named("/all", &["10.0.0.0/8", "*"]),
        named("/some", &["10.0.0.0/8", "192.0.2.1", "build.example.org"]),
        named("/none", &[]),
    ]);
    let caller = Caller::root(&server);
    let listed: Vec<(String, Vec<String>)> = caller
        .call::<ExportOp<3>>(&())
        .exports
        .iter()
        .map(|export| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            (text(export.directory), export.groups.iter().map(|group| text(group.name)).collect())
        })
        .collect();
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let some = ("/some".to_owned(), strings(&["10.0.0.0/8", "192.0.2.1", "build.example.org"]));
    assert_eq!(listed, [("/all".to_owned(), vec![]), some]);
    assert_eq!(caller.call::<Exportall<1>>(&()), caller.call::<ExportOp<1>>(&()));
}

#[test]
fn long_lists_are_cut_to_what_a_datagram_holds() {
    let exports = (0..200).map(|number| export(&format!("/{number}/{}", "x".repeat(1000)), memory())).collect();
    let server = server(exports);
    let caller = Caller::root(&server);
    for index in 0..200 {
        caller.mount_path(&format!("/{index}/{}", "x".repeat(1000)));
    }
    let listed =
        |caller: &Caller<'_>| (caller.call::<ExportOp<3>>(&()).exports.len(), caller.call::<Dump<3>>(&()).mounts.len());
    assert_eq!(listed(&caller), (200, 200));
    let (exports, mounts) = listed(&caller.over_udp());
    assert!((20..40).contains(&exports) && (20..40).contains(&mounts), "{exports} exports and {mounts} mounts");
}

#[test]
fn pathconf_of_version_2_tells_the_limits_or_that_it_cannot() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let limits = caller.call::<Pathconf>(&DirPath { path: EXPORT.as_bytes() });
    assert_eq!((limits.max_name_bytes, limits.mask[0] & PC_ERROR), (255, 0));
    let unknown = caller.call::<Pathconf>(&DirPath { path: b"/nothing" });
    assert_eq!(unknown.mask[0], PC_ERROR);
}

#[test]
fn each_version_has_its_procedures_and_no_others() {
    let server = memory_server();
    let caller = Caller::root(&server);
    caller.call::<Null<1>>(&());
    for (version, last) in [(1, 6), (2, 7), (3, 5)] {
        for number in 0..10 {
            let procedure = rpc::Procedure { version, number, ..procedure::<Null<1>>() };
            let message = caller.message_of(procedure, &DirPath { path: EXPORT.as_bytes() });
            let rejected = caller.reply_to(&message)[20..24] == [0, 0, 0, 3];
            assert_eq!(rejected, number > last, "procedure {number} of version {version}");
        }
    }
    let beyond = rpc::Procedure { version: 4, ..procedure::<Null<1>>() };
    let rejection = testing::caller::rejection(&caller.reply_to(&caller.message_of(beyond, &())));
    assert_eq!(rejection, Rejection::ProgramMismatch { low: 1, high: 3 });
}

#[test]
fn name_that_is_not_utf8_is_mounted_below_an_export() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let args = proto::nfs3::MkdirArgs {
        place: proto::nfs3::DirOp { dir: root, name: b"\xff\xfe" },
        attributes: proto::nfs3::Sattr::default(),
    };
    let dir = success(caller.call::<proto::nfs3::Mkdir>(&args)).object;
    let Mnt3Reply::Ok(ok) = caller.call::<Mnt3>(&DirPath { path: b"/srv/export/\xff\xfe" }) else { panic!("refused") };
    assert_eq!(Some(ok.handle), dir);
}

#[test]
fn handle_of_a_directory_below_works_like_any_other() {
    let server = memory_server();
    let caller = Caller::root(&server);
    caller.make_dir(&caller.mount(), "dir");
    let dir = caller.mount_path("/srv/export/dir");
    success(caller.create(&dir, "file", CreateHow::Guarded(mode(0o600))));
}

#[test]
fn host_name_gets_its_addresses_when_they_are_known() {
    let pattern = ClientPattern::host("build.example.org");
    let ClientPattern::Host { addresses, .. } = &pattern else { panic!("not a host") };
    let addresses = Arc::clone(addresses);
    let rules = vec![AccessRule { clients: pattern, options: ExportOptions::default() }];
    let server: Server = server(vec![Export { rules, ..export(EXPORT, memory()) }]);
    let caller = Caller::root(&server);
    assert_eq!(mnt3(&caller, EXPORT), Err(Status::Acces));
    addresses.store(Arc::new(vec!["192.0.2.1".parse().unwrap()]));
    assert!(mnt3(&caller, EXPORT).is_ok());
}
