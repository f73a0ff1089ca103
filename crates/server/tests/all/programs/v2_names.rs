//! NFSv2 on names: everything that changes a directory, and listings.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fs_mem::MemFs;
use proto::nfs2::{
    DirOp, FileHandle, FileType, Link, LinkArgs, Readdir, ReaddirArgs, Rename, RenameArgs, Res, Rmdir, RmdirArgs,
    Sattr, Status, Symlink, SymlinkArgs,
};
use server::{Answer, Server};

use crate::programs::scrambled::Scrambled;
use testing::caller::nfs2::{Caller2, at, failure, mode, success};
use testing::caller::{Caller, EXPORT, Said, export, memory_server, memory_with_files, results, server, settings};

const MANY: usize = 100_000;

fn rename(caller: &Caller2<'_>, from: DirOp<'_>, to: DirOp<'_>) -> Res<()> {
    caller.0.call::<Rename>(&RenameArgs { from, to })
}

fn rmdir(caller: &Caller2<'_>, dir: &FileHandle, name: &str) -> Res<()> {
    caller.0.call::<Rmdir>(&RmdirArgs { object: at(dir, name) })
}

#[test]
fn names_are_made_found_moved_and_removed() {
    let server = memory_server();
    let caller = Caller2(Caller::root(&server));
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    let dir = success(caller.mkdir(&root, "dir"));
    assert_eq!((dir.attributes.file_type, dir.attributes.mode), (FileType::Directory, 0o040_755));
    assert_eq!(success(caller.lookup(&root, "file")).file, file);
    assert_eq!(success(caller.lookup(&dir.file, "..")).file, root);
    success(caller.0.call::<Link>(&LinkArgs { file, link: at(&dir.file, "again") }));
    success(rename(&caller, at(&root, "file"), at(&dir.file, "moved")));
    assert_eq!(success(caller.getattr(&file)).links, 2);
    assert_eq!(failure(rmdir(&caller, &root, "dir")), Status::NotEmpty);
    success(caller.remove(&dir.file, "again"));
    success(caller.remove(&dir.file, "moved"));
    success(rmdir(&caller, &root, "dir"));
    assert_eq!(failure(caller.getattr(&file)), Status::Stale);
}

#[test]
fn failures_have_the_numbers_of_unix() {
    let server = memory_server();
    let caller = Caller2(Caller::root(&server));
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    let dir = success(caller.mkdir(&root, "dir")).file;
    assert_eq!(failure(caller.lookup(&root, "nothing")), Status::NoEnt);
    assert_eq!(failure(caller.lookup(&file, "x")), Status::NotDir);
    assert_eq!(failure(caller.mkdir(&root, "dir")), Status::Exist);
    assert_eq!(failure(caller.remove(&root, "dir")), Status::IsDir);
    assert_eq!(failure(caller.remove(&root, "nothing")), Status::NoEnt);
    assert_eq!(failure(rmdir(&caller, &root, "file")), Status::NotDir);
    assert_eq!(failure(rename(&caller, at(&root, "dir"), at(&dir, "x"))), Status::Inval);
    assert_eq!(failure(caller.0.call::<Link>(&LinkArgs { file: dir, link: at(&root, "x") })), Status::IsDir);
    assert_eq!(failure(caller.getattr(&FileHandle([7; 32]))), Status::Stale);
    assert_eq!(failure(Caller2(caller.0.user(1, 1, &[])).setattr(&file, mode(0o777))), Status::Perm);
    let symlink = SymlinkArgs { place: at(&root, "file"), target: b"x", attributes: Sattr::default() };
    assert_eq!(failure(caller.0.call::<Symlink>(&symlink)), Status::Exist);
}

#[test]
fn create_takes_a_file_that_is_there_and_cuts_it_if_asked() {
    let server = memory_server();
    let caller = Caller2(Caller::root(&server));
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    success(caller.write(&file, 0, b"0123456789"));
    let again = success(caller.create(&root, "file", mode(0o100_777)));
    assert_eq!((again.file, again.attributes.size, again.attributes.mode), (file, 10, 0o100_644));
    let cut = Sattr { size: Some(0), ..mode(0o100_644) };
    assert_eq!(success(caller.create(&root, "file", cut)).attributes.size, 0);
    success(caller.mkdir(&root, "dir"));
    assert_eq!(failure(caller.create(&root, "dir", cut)), Status::Exist);
}

#[test]
fn create_makes_special_files_as_clients_since_sunos_ask_for_them() {
    let server = memory_server();
    let caller = Caller2(Caller::root(&server));
    let root = caller.mount();
    let sattr = |mode, size| Sattr { mode: Some(mode), size, ..Sattr::default() };
    let fifo_device = proto::nfs2::Fattr::FIFO_DEVICE;
    for (name, asked, file_type, mode, device) in [
        ("block", sattr(0o060_600, Some(0x0811)), FileType::BlockDevice, 0o060_600, 0x0811),
        ("char", sattr(0o020_600, Some(0x0103)), FileType::CharDevice, 0o020_600, 0x0103),
        ("fifo as Linux asks", sattr(0o020_600, None), FileType::CharDevice, 0o010_600, fifo_device),
        ("fifo by its name", sattr(0o010_600, None), FileType::CharDevice, 0o010_600, fifo_device),
        ("socket", sattr(0o140_600, None), FileType::Socket, 0o140_600, 0),
    ] {
        let made = success(caller.create(&root, name, asked)).attributes;
        assert_eq!((made.file_type, made.mode, made.device), (file_type, mode, device), "{name}");
        assert_eq!(failure(caller.create(&root, name, asked)), Status::Exist, "{name}");
        let opened = success(caller.create(&root, name, sattr(0o600, Some(0))));
        assert_eq!(opened.attributes.mode, mode, "{name} is opened by CREATE");
        let user = Caller2(caller.0.user(1000, 100, &[]));
        assert_eq!(failure(user.create(&root, name, sattr(0o600, Some(0)))), Status::Acces, "{name}");
    }
    assert_eq!(failure(caller.create(&root, "dir", sattr(0o040_755, None))), Status::Inval);
}

/// Lists everything, and lets something `happen` before each call.
fn list_all(caller: &Caller2<'_>, dir: &FileHandle, mut happen: impl FnMut(usize)) -> Vec<(String, u32)> {
    let (mut entries, mut cookie) = (Vec::new(), 0);
    for number in 0.. {
        happen(number);
        let part = success(caller.readdir(dir, cookie, 8192));
        entries
            .extend(part.entries.iter().map(|entry| (String::from_utf8_lossy(entry.name).into_owned(), entry.cookie)));
        if part.eof {
            break;
        }
        cookie = part.entries.last().unwrap().cookie;
    }
    entries
}

fn start(server: &Server) -> (Caller2<'_>, FileHandle) {
    let caller = Caller2(Caller::root(server));
    (caller, caller.mount())
}

/// A server of many files whose cookies are large.
fn scrambled_server(count: usize) -> (Server, Arc<Scrambled<MemFs>>) {
    let file_system = Arc::new(Scrambled::new(memory_with_files(count)));
    (server(vec![export(EXPORT, file_system.clone())]), file_system)
}

/// Lists many names while others come and go, and asserts that each stable one is there once.
fn list_busy_directory(server: &Server) {
    let (caller, root) = start(server);
    let mut present = Vec::new();
    let listed = list_all(&caller, &root, |number| {
        for step in 0..10 {
            let name = format!("passing-{number}-{step}");
            caller.make_file(&root, &name);
            present.push(name);
            if present.len() > 50 {
                success(caller.remove(&root, &present.remove(number * 7 % 50)));
            }
        }
        assert!(number < 10 * MANY, "the listing does not end");
    });
    let mut times: HashMap<&str, u32> = HashMap::new();
    listed.iter().for_each(|(name, _)| *times.entry(name).or_default() += 1);
    let is_once = |number| times.get(format!("stable-{number}").as_str()) == Some(&1);
    assert!((0..MANY).all(is_once), "a stable name was left out or doubled");
}

#[test]
fn hundred_thousand_stable_names_are_listed_once_while_others_come_and_go() {
    list_busy_directory(&server(vec![export(EXPORT, memory_with_files(MANY))]));
}

#[test]
fn hundred_thousand_names_with_cookies_of_64_bits_are_listed_once_without_starting_over() {
    let (server, file_system) = scrambled_server(MANY);
    list_busy_directory(&server);
    assert_eq!(file_system.from_start.load(Ordering::Relaxed), 1, "the directory was listed from its start again");
}

#[test]
fn listing_with_cookies_of_64_bits_goes_on_after_any_cookie_and_after_a_restart() {
    let (first, file_system) = scrambled_server(1000);
    let (caller, root) = start(&first);
    let all = list_all(&caller, &root, |_| {});
    let restarted = server(vec![export(EXPORT, file_system)]);
    for server in [&first, &restarted] {
        let caller = Caller2(Caller::root(server));
        for index in (0..all.len()).step_by(37) {
            let rest = success(caller.readdir(&root, all[index].1, 8192));
            let next = rest.entries.first().map(|entry| String::from_utf8_lossy(entry.name).into_owned());
            assert_eq!(next.as_ref(), all.get(index + 1).map(|(name, _)| name), "after entry {index}");
        }
    }
}

#[test]
fn search_for_a_forgotten_cookie_does_not_hold_up_the_event_loop() {
    let (first, file_system) = scrambled_server(100);
    let (caller, root) = start(&first);
    let cookie = list_all(&caller, &root, |_| {})[50].1;
    let restarted = server(vec![export(EXPORT, file_system)]);
    let on_loop = Caller::root(&restarted).on_event_loop();
    let args = ReaddirArgs { dir: root, cookie, count: 8192 };
    let said = on_loop.send(&on_loop.message::<Readdir>(&args));
    assert!(matches!(said, Said::Nothing(Answer::WouldBlock(_))), "{said:?}");
    success(Caller2(Caller::root(&restarted)).readdir(&root, cookie, 8192));
    success(Caller2(on_loop).readdir(&root, cookie, 8192));
}

#[test]
fn cookie_of_an_entry_that_was_removed_still_has_its_place_and_one_from_nowhere_is_an_error() {
    let (server, _) = scrambled_server(100);
    let (caller, root) = start(&server);
    let all = list_all(&caller, &root, |_| {});
    success(caller.remove(&root, &all[50].0));
    let rest = success(caller.readdir(&root, all[50].1, 8192));
    assert_eq!(String::from_utf8_lossy(rest.entries[0].name), all[51].0);
    assert_eq!(failure(caller.readdir(&root, 0x8000_0001, 8192)), Status::Io);
}

#[test]
fn other_key_makes_other_cookies() {
    let (first, file_system) = scrambled_server(50);
    let mut settings = settings();
    settings.handle_key = server::HandleKey::new([8; 16]);
    let second = Server::new(settings, vec![export(EXPORT, file_system)]).unwrap();
    let cookies = |server| {
        let caller = Caller2(Caller::root(server));
        list_all(&caller, &caller.mount(), |_| {}).into_iter().map(|(_, cookie)| cookie).collect::<HashSet<_>>()
    };
    assert_eq!(cookies(&first).intersection(&cookies(&second)).count(), 2, "those of the dots");
}

#[test]
fn reply_is_never_longer_than_the_client_wants() {
    let server = server(vec![export(EXPORT, memory_with_files(500))]);
    let (caller, root) = start(&server);
    for count in (0..9000).step_by(12) {
        let message = caller.0.message::<Readdir>(&ReaddirArgs { dir: root, cookie: 0, count });
        let reply = caller.0.reply_to(&message);
        match results::<Readdir>(&reply) {
            Res::Ok(ok) => {
                assert!(reply.len() - 24 <= (count as usize).min(8192), "{} bytes for {count}", reply.len() - 24);
                assert!(!ok.entries.is_empty());
            }
            Res::Fail(status) => {
                assert_eq!(status, Status::Inval);
                assert!(count < 40, "{count} bytes hold an entry");
            }
        }
    }
}

#[test]
fn file_is_no_directory() {
    let server = memory_server();
    let (caller, root) = start(&server);
    let file = caller.make_file(&root, "file");
    assert_eq!(failure(caller.readdir(&file, 0, 8192)), Status::NotDir);
}
