//! A directory of this machine behind the programs: what a file system in memory cannot show.

use std::collections::HashSet;

use proto::nfs3::{CreateHow, StableHow, Status};
use server::Server;

use testing::caller::nfs2::{self, Caller2};
use testing::caller::nfs3::{at, failure, size, success};
use testing::caller::{Caller, Directory, EXPORT, export, server};

const MANY: usize = 20_000;

fn serve(directory: &Directory) -> Server {
    server(vec![export(EXPORT, directory.open())])
}

fn caller(server: &Server) -> Caller<'_> {
    Caller::root(server).myself()
}

#[test]
fn handles_and_exclusive_creates_outlive_the_server() {
    let directory = Directory::new();
    let first = serve(&directory);
    let root = caller(&first).mount();
    let file = success(caller(&first).create(&root, "file", CreateHow::Exclusive([3; 8]))).object.unwrap();
    drop(first);
    let restarted = serve(&directory);
    let caller = caller(&restarted);
    assert_eq!(success(caller.create(&root, "file", CreateHow::Exclusive([3; 8]))).object, Some(file));
    assert_eq!(failure(caller.create(&root, "file", CreateHow::Exclusive([4; 8]))), Status::Exist);
    success(caller.write(&file, 0, StableHow::FileSync, b"bytes"));
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"bytes");
}

#[test]
fn export_is_not_left_by_links_or_dots() {
    let directory = Directory::new();
    std::fs::write(directory.beside("secret"), b"secret").unwrap();
    std::os::unix::fs::symlink("../secret", directory.export().join("link")).unwrap();
    std::os::unix::fs::symlink("..", directory.export().join("up")).unwrap();
    let server = serve(&directory);
    let caller = caller(&server);
    let root = caller.mount();
    assert_eq!(caller.handle_of(&root, ".."), root);
    let link = caller.handle_of(&root, "link");
    assert_eq!(failure(caller.read(&link, 0, 10)), Status::Inval);
    assert_eq!(failure(caller.write(&link, 0, StableHow::Unstable, b"x")), Status::Inval);
    assert_eq!(failure(caller.setattr(&link, size(0))), Status::Inval);
    assert_eq!(failure(caller.lookup(&caller.handle_of(&root, "up"), "secret")), Status::NotDir);
    assert_eq!(failure(caller.create(&root, "link", CreateHow::Unchecked(size(0)))), Status::Exist);
    assert_eq!(std::fs::read(directory.beside("secret")).unwrap(), b"secret");
}

#[test]
fn twenty_thousand_names_are_listed_once_in_version_2_across_a_restart() {
    let directory = Directory::new();
    for number in 0..MANY {
        std::fs::write(directory.export().join(format!("name-{number}")), b"").unwrap();
    }
    let mut server = serve(&directory);
    let root = Caller2(caller(&server)).mount();
    let (mut names, mut cookie) = (Vec::new(), 0);
    for number in 0.. {
        if number == 20 {
            drop(server);
            server = serve(&directory);
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
    let server = serve(&directory);
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
