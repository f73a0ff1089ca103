//! An export inside another one, with other clients: nobody gets into it by way of the outer one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use proto::mount::{DirPath, Mnt, Mnt3, Mnt3Reply, MntReply, Status as MountStatus};
use proto::nfs2;
use proto::nfs3::{FileHandle, Readdirplus, ReaddirplusArgs, Status};
use server::{AccessRule, Export, ExportTableError, Server};

use testing::Scratch;
use testing::caller::nfs2::Caller2;
use testing::caller::nfs3::{at, failure, success};
use testing::caller::{Caller, WORKERS, export, server, settings};

const OUTER: &str = "/srv";
const INNER: &str = "/srv/secret";
/// Where the inner export's only client is.
const FRIEND: &str = "192.0.2.7:700";

/// A directory with another one in it, and what belongs to the server beside it.
pub struct Nest(Scratch);

impl Nest {
    pub fn new() -> Nest {
        let base = Scratch::new();
        base.dir("top/secret/sub/deep");
        std::fs::create_dir(base.path("top/beside")).unwrap();
        std::fs::write(base.path("top/secret/sub/inside"), "secret").unwrap();
        std::fs::write(base.path("top/open"), "open").unwrap();
        std::os::unix::fs::symlink("secret", base.path("top/link")).unwrap();
        Nest(base)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn open(&self, dir: &Path, form: HandleForm) -> Option<HostFs> {
        let options = HostOptions {
            handle_form: form,
            state_dir: Some(self.path("state")),
            workers: WORKERS,
            sync_metadata: false,
            ..HostOptions::default()
        };
        HostFs::open(dir, options).ok()
    }

    fn outer(&self, form: HandleForm) -> Option<Export> {
        Some(export(OUTER, Arc::new(self.open(&self.path("top"), form)?)))
    }

    fn inner(&self, dir: &Path, form: HandleForm) -> Option<Export> {
        let whole = export(INNER, Arc::new(self.open(dir, form)?));
        Some(Export { rules: friends_only(&whole), ..whole })
    }

    /// Both exports, or `None` where there are no handles of this form.
    fn serve(&self, form: HandleForm) -> Option<Server> {
        Some(server(vec![self.outer(form)?, self.inner(&self.path("top/secret"), form)?]))
    }
}

fn friends_only(export: &Export) -> Vec<AccessRule> {
    vec![AccessRule { clients: "192.0.2.7".parse().unwrap(), ..export.rules[0].clone() }]
}

/// Runs `test` with each form of handles that is available here.
fn with_each_form(test: impl Fn(&Nest, HandleForm)) {
    for form in [HandleForm::Store, HandleForm::Kernel] {
        let nest = Nest::new();
        if nest.outer(form).is_some() {
            test(&nest, form);
        } else {
            println!("skipped: no handles of the form {form:?} here");
        }
    }
}

fn mnt3(caller: &Caller<'_>, path: &str) -> Result<FileHandle, MountStatus> {
    match caller.call::<Mnt3>(&DirPath { path: path.as_bytes() }) {
        Mnt3Reply::Ok(ok) => Ok(ok.handle),
        Mnt3Reply::Fail(status) => Err(status),
    }
}

#[test]
fn lookup_of_an_inner_export_gives_its_root_to_its_clients_and_to_no_others() {
    with_each_form(|nest, form| {
        let server = nest.serve(form).unwrap();
        let stranger = Caller::root(&server);
        let outer = stranger.mount_path(OUTER);
        assert_eq!(failure(stranger.lookup(&outer, "secret")), Status::Acces);
        let friend = stranger.from(FRIEND);
        let found = success(friend.lookup(&outer, "secret"));
        assert_eq!(found.object, friend.mount_path(INNER));
        assert_eq!(found.attributes.unwrap().fsid, friend.attributes(&found.object).fsid);
        assert_ne!(found.attributes.unwrap().fsid, friend.attributes(&outer).fsid);
        assert_eq!(failure(stranger.getattr(&found.object)), Status::Acces);
        // There is no way out of it upwards.
        assert_eq!(friend.handle_of(&found.object, ".."), found.object);
    });
}

/// A subvolume has another device than the file system around it, and is reached by the same mount.
#[test]
fn subvolume_of_btrfs_is_closed_until_it_is_exported_and_then_entered_from_the_outer_export() {
    let nest = Nest::new();
    let (image, top) = (nest.path("image"), nest.path("top"));
    std::fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
    let run = |program: &str, arguments: &[&Path]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let is_mounted =
        run("mkfs.btrfs", &["-q".as_ref(), &image]) && run("mount", &["-o".as_ref(), "loop".as_ref(), &image, &top]);
    if !is_mounted {
        println!("skipped: it takes root, mkfs.btrfs and loop devices");
        return;
    }
    assert!(run("btrfs", &["subvolume".as_ref(), "create".as_ref(), &top.join("secret")]));
    std::fs::write(top.join("secret/inside"), "inside").unwrap();
    for form in [HandleForm::Store, HandleForm::Kernel] {
        let alone = server(vec![nest.outer(form).unwrap()]);
        let caller = Caller::root(&alone);
        assert_eq!(failure(caller.lookup(&caller.mount_path(OUTER), "secret")), Status::Acces);
        drop(alone);
        let both = nest.serve(form).unwrap();
        let friend = Caller::root(&both).from(FRIEND);
        let subvolume = friend.handle_of(&friend.mount_path(OUTER), "secret");
        assert_eq!(success(friend.read(&friend.handle_of(&subvolume, "inside"), 0, 10)).data, b"inside");
    }
    assert!(run("umount", &[&top]));
}

#[test]
fn lookup_of_version_2_keeps_to_the_rules_of_the_inner_export_too() {
    with_each_form(|nest, form| {
        let server = nest.serve(form).unwrap();
        let stranger = Caller::root(&server);
        let mount = |caller: &Caller<'_>, path: &str| match caller.call::<Mnt<1>>(&DirPath { path: path.as_bytes() }) {
            MntReply::Ok(handle) => Ok(handle),
            MntReply::Fail(errno) => Err(errno.0),
        };
        let outer = mount(&stranger, OUTER).unwrap();
        let found = Caller2(stranger).lookup(&outer, "secret");
        assert_eq!(testing::caller::nfs2::failure(found), nfs2::Status::Acces);
        let friend = stranger.from(FRIEND);
        let found = testing::caller::nfs2::success(Caller2(friend).lookup(&outer, "secret"));
        assert_eq!(Ok(found.file), mount(&friend, INNER));
        assert_eq!(mount(&stranger, INNER).unwrap_err(), 13);
    });
}

#[test]
fn mount_of_an_inner_export_is_refused_however_its_path_is_written() {
    with_each_form(|nest, form| {
        let server = nest.serve(form).unwrap();
        let stranger = Caller::root(&server);
        let friend = stranger.from(FRIEND);
        let root = friend.mount_path(INNER);
        for path in ["/srv/secret", "/srv//secret", "/srv/./secret/", "//srv///secret/."] {
            assert_eq!(mnt3(&stranger, path), Err(MountStatus::Acces), "{path}");
            assert_eq!(mnt3(&friend, path), Ok(root), "{path}");
        }
        for path in ["/srv/secret/sub", "/srv//secret//sub", "/srv/secret/nothing"] {
            assert_eq!(mnt3(&stranger, path), Err(MountStatus::Acces), "{path}");
        }
        for (path, status) in [
            ("/srv/beside/../secret", MountStatus::Inval),
            ("/srv/link", MountStatus::NotDir),
            ("/srv/link/sub", MountStatus::NotDir),
        ] {
            assert_eq!(mnt3(&stranger, path), Err(status), "{path}");
        }
    });
}

#[test]
fn client_of_the_inner_export_alone_mounts_it_by_every_writing_of_its_path() {
    with_each_form(|nest, form| {
        let outer = nest.outer(form).unwrap();
        let outer = Export { rules: friends_only(&outer), ..outer };
        let inner = export(INNER, Arc::new(nest.open(&nest.path("top/secret"), form).unwrap()));
        let server = server(vec![outer, inner]);
        let stranger = Caller::root(&server);
        assert_eq!(mnt3(&stranger, OUTER), Err(MountStatus::Acces));
        assert!(mnt3(&stranger, "/srv//secret").is_ok());
        assert!(mnt3(&stranger, "/srv/./secret/sub").is_ok());
    });
}

#[test]
fn listing_of_the_outer_export_names_the_inner_one_and_says_no_more() {
    with_each_form(|nest, form| {
        let server = nest.serve(form).unwrap();
        let caller = Caller::root(&server);
        let dir = caller.mount_path(OUTER);
        let args = ReaddirplusArgs { dir, cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 65536 };
        let listed = success(caller.call::<Readdirplus>(&args));
        let entry = |name: &[u8]| listed.entries.iter().find(|entry| entry.entry.name == name).unwrap();
        assert!(entry(b"secret").handle.is_none() && entry(b"secret").attributes.is_none());
        assert!(entry(b"beside").handle.is_some() && entry(b"beside").attributes.is_some());
    });
}

#[test]
fn names_neither_cross_the_border_nor_take_it_away() {
    with_each_form(|nest, form| {
        let server = nest.serve(form).unwrap();
        let friend = Caller::root(&server).from(FRIEND);
        let (outer, inner) = (friend.mount_path(OUTER), friend.mount_path(INNER));
        let open = friend.handle_of(&outer, "open");
        assert_eq!(failure(friend.rename(at(&outer, "open"), at(&inner, "open"))), Status::XDev);
        assert_eq!(failure(friend.link(&open, &inner, "open")), Status::XDev);
        assert_eq!(failure(friend.rename(at(&outer, "secret"), at(&outer, "moved"))), Status::Acces);
        assert_eq!(failure(friend.rename(at(&outer, "beside"), at(&outer, "secret"))), Status::Acces);
        assert_eq!(failure(friend.rmdir(&outer, "secret")), Status::Acces);
        assert_eq!(failure(friend.mkdir(&outer, "secret")), Status::Exist);
        assert!(nest.path("top/secret").is_dir() && nest.path("top/open").is_file());
    });
}

#[test]
fn handles_of_directories_from_before_the_inner_export_lead_no_further() {
    with_each_form(|nest, form| {
        let outer = nest.outer(form).unwrap();
        let server = server(vec![outer.clone()]);
        let caller = Caller::root(&server);
        let root = caller.mount_path(OUTER);
        let [secret, beside] = ["secret", "beside"].map(|name| caller.handle_of(&root, name));
        let sub = caller.handle_of(&secret, "sub");
        let deep = caller.handle_of(&sub, "deep");
        server.reload(vec![outer, nest.inner(&nest.path("top/secret"), form).unwrap()]).unwrap();
        for (handle, name) in [(&secret, "sub"), (&sub, "inside"), (&deep, "..")] {
            assert_eq!(failure(caller.lookup(handle, name)), Status::Stale, "{form:?} {name}");
            assert_eq!(failure(caller.getattr(handle)), Status::Stale, "{form:?} {name}");
        }
        success(caller.getattr(&beside));
        assert_eq!(caller.mount_path(OUTER), root, "the outer export's handles stay");
    });
}

#[test]
fn directory_that_is_moved_into_the_inner_export_behind_the_server_is_not_entered_by_the_outer_one() {
    with_each_form(|nest, form| {
        let server = nest.serve(form).unwrap();
        let caller = Caller::root(&server);
        let beside = caller.handle_of(&caller.mount_path(OUTER), "beside");
        drop(server);
        std::fs::rename(nest.path("top/beside"), nest.path("top/secret/beside")).unwrap();
        std::fs::write(nest.path("top/secret/beside/new"), "new").unwrap();
        let server = nest.serve(form).unwrap();
        assert_eq!(failure(Caller::root(&server).lookup(&beside, "new")), Status::Stale, "{form:?}");
    });
}

#[test]
fn outer_export_is_whole_again_when_the_inner_one_goes() {
    with_each_form(|nest, form| {
        let outer = nest.outer(form).unwrap();
        let server = server(vec![outer.clone(), nest.inner(&nest.path("top/secret"), form).unwrap()]);
        let caller = Caller::root(&server);
        let root = caller.mount_path(OUTER);
        assert_eq!(failure(caller.lookup(&root, "secret")), Status::Acces);
        server.reload(vec![outer]).unwrap();
        let secret = caller.handle_of(&root, "secret");
        success(caller.lookup(&secret, "sub"));
    });
}

#[test]
fn inner_export_that_is_reached_by_a_link_is_a_border_all_the_same() {
    with_each_form(|nest, form| {
        std::os::unix::fs::symlink(nest.path("top/secret"), nest.path("elsewhere")).unwrap();
        let inner = Export { name: "/private".to_owned(), ..nest.inner(&nest.path("elsewhere"), form).unwrap() };
        let server = server(vec![nest.outer(form).unwrap(), inner]);
        let stranger = Caller::root(&server);
        assert_eq!(failure(stranger.lookup(&stranger.mount_path(OUTER), "secret")), Status::Acces);
        assert_eq!(mnt3(&stranger, "/srv/secret/sub"), Err(MountStatus::Acces));
    });
}

#[test]
fn directory_that_is_exported_twice_has_one_set_of_rules() {
    let nest = Nest::new();
    let Some(first) = nest.outer(HandleForm::Kernel) else { return };
    std::os::unix::fs::symlink(nest.path("top"), nest.path("again")).unwrap();
    let file_system = Arc::new(nest.open(&nest.path("again"), HandleForm::Kernel).unwrap());
    let second = Export { name: "/again".to_owned(), file_system, ..first.clone() };
    let narrow = Export { rules: friends_only(&second), ..second.clone() };
    let refused = Server::new(settings(), vec![first.clone(), narrow]).err();
    let names = (OUTER.to_owned(), "/again".to_owned());
    assert_eq!(refused, Some(ExportTableError::SameDirectory { first: names.0, second: names.1 }));
    assert!(Server::new(settings(), vec![first, second]).is_ok());
}

#[test]
fn handles_of_a_directory_are_stale_when_another_one_is_exported_in_its_place() {
    with_each_form(|nest, form| {
        let server = server(vec![nest.outer(form).unwrap()]);
        let caller = Caller::root(&server);
        let root = caller.mount_path(OUTER);
        let open = caller.handle_of(&root, "open");
        std::fs::rename(nest.path("top"), nest.path("old")).unwrap();
        std::fs::create_dir(nest.path("top")).unwrap();
        server.reload(vec![nest.outer(form).unwrap()]).unwrap();
        for handle in [&root, &open] {
            assert_eq!(failure(caller.getattr(handle)), Status::Stale, "{form:?}");
        }
        assert_eq!(failure(caller.lookup(&caller.mount_path(OUTER), "open")), Status::NoEnt);
    });
}
