//! A directory of this machine behind the programs: what a file system in memory cannot show.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs3::{CreateHow, StableHow, Status};
use server::Server;

use crate::caller::nfs2::{self, Caller2};
use crate::caller::nfs3::{at, failure, size, success};
use crate::caller::{Caller, EXPORT, WORKERS, export, server};

const MANY: usize = 20_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory that is removed at the end, and beside it one for the handles.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("wharf-server-{}-{number}", std::process::id()));
        std::fs::create_dir_all(base.join("export")).unwrap();
        Directory(base)
    }

    fn export(&self) -> PathBuf {
        self.0.join("export")
    }

    /// A server of the directory, with handles that need no privileges; what it syncs is not what these tests are about.
    fn serve(&self) -> Server {
        let options = HostOptions {
            handle_form: HandleForm::Store,
            state_dir: Some(self.0.join("state")),
            workers: WORKERS,
            sync_metadata: false,
            ..HostOptions::default()
        };
        server(vec![export(EXPORT, Arc::new(HostFs::open(&self.export(), options).unwrap()))])
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The user that the tests run as, so that they need no privileges.
fn caller(server: &Server) -> Caller<'_> {
    use std::os::unix::fs::MetadataExt;
    let me = std::fs::metadata("/proc/self").unwrap();
    Caller::root(server).user(me.uid(), me.gid(), &[])
}

#[test]
fn handles_and_exclusive_creates_outlive_the_server() {
    let directory = Directory::new();
    let first = directory.serve();
    let root = caller(&first).mount();
    let file = success(caller(&first).create(&root, "file", CreateHow::Exclusive([3; 8]))).object.unwrap();
    drop(first);
    let restarted = directory.serve();
    let caller = caller(&restarted);
    assert_eq!(success(caller.create(&root, "file", CreateHow::Exclusive([3; 8]))).object, Some(file));
    assert_eq!(failure(caller.create(&root, "file", CreateHow::Exclusive([4; 8]))), Status::Exist);
    success(caller.write(&file, 0, StableHow::FileSync, b"bytes"));
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"bytes");
}

#[test]
fn export_is_not_left_by_links_or_dots() {
    let directory = Directory::new();
    std::fs::write(directory.0.join("secret"), b"secret").unwrap();
    std::os::unix::fs::symlink("../secret", directory.export().join("link")).unwrap();
    std::os::unix::fs::symlink("..", directory.export().join("up")).unwrap();
    let server = directory.serve();
    let caller = caller(&server);
    let root = caller.mount();
    assert_eq!(caller.handle_of(&root, ".."), root);
    let link = caller.handle_of(&root, "link");
    assert_eq!(failure(caller.read(&link, 0, 10)), Status::Inval);
    assert_eq!(failure(caller.write(&link, 0, StableHow::Unstable, b"x")), Status::Inval);
    assert_eq!(failure(caller.setattr(&link, size(0))), Status::Inval);
    assert_eq!(failure(caller.lookup(&caller.handle_of(&root, "up"), "secret")), Status::NotDir);
    assert_eq!(failure(caller.create(&root, "link", CreateHow::Unchecked(size(0)))), Status::Exist);
    assert_eq!(std::fs::read(directory.0.join("secret")).unwrap(), b"secret");
}

#[test]
fn twenty_thousand_names_are_listed_once_in_version_2_across_a_restart() {
    let directory = Directory::new();
    for number in 0..MANY {
        std::fs::write(directory.export().join(format!("name-{number}")), b"").unwrap();
    }
    let mut server = directory.serve();
    let root = Caller2(caller(&server)).mount();
    let (mut names, mut cookie) = (Vec::new(), 0);
    for number in 0.. {
        if number == 20 {
            drop(server);
            server = directory.serve();
        }
        let part = nfs2::success(Caller2(caller(&server)).readdir(&root, cookie, 8192));
        names.extend(part.entries.iter().map(|entry| entry.name.to_vec()));
        if part.eof {
            break;
        }
        cookie = part.entries.last().unwrap().cookie;
        assert!(number < MANY, "the listing does not end");
    }
    assert_eq!(names.len(), MANY + 2);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), MANY + 2);
}

#[test]
fn file_follows_its_name_and_goes_stale_when_it_is_replaced() {
    let directory = Directory::new();
    let server = directory.serve();
    let caller = caller(&server);
    let root = caller.mount();
    let (first, second) = (caller.make_file(&root, "first"), caller.make_file(&root, "second"));
    success(caller.write(&first, 0, StableHow::Unstable, b"first"));
    success(caller.read(&second, 0, 1));
    success(caller.rename(at(&root, "first"), at(&root, "second")));
    assert_eq!(success(caller.read(&first, 0, 10)).data, b"first");
    assert_eq!(failure(caller.read(&second, 0, 10)), Status::Stale);
    assert_eq!(caller.handle_of(&root, "second"), first);
}
