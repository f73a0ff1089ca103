//! READDIR and READDIRPLUS.

use std::collections::{HashMap, HashSet};

use proto::Operation;
use proto::nfs3::{
    FileHandle, Readdir, ReaddirArgs, ReaddirOk, Readdirplus, ReaddirplusArgs, ReaddirplusOk, Res, Status,
};
use server::Server;

use testing::caller::nfs3::{failure, success};
use testing::caller::{Caller, EXPORT, export, memory_server, memory_with_files, procedure, results, server};

const MANY: usize = 100_000;

fn readdir(caller: &Caller<'_>, dir: &FileHandle, from: ([u8; 8], u64), count: u32) -> Res<ReaddirOk<'static>, ()> {
    let args = ReaddirArgs { dir: *dir, cookie: from.1, verifier: from.0, count };
    match caller.call::<Readdir>(&args) {
        Res::Ok(ok) => Res::Ok(ok),
        Res::Fail(status, _) => Res::Fail(status, ()),
    }
}

fn plus_args(dir: &FileHandle, from: ([u8; 8], u64), (dir_count, max_count): (u32, u32)) -> ReaddirplusArgs {
    ReaddirplusArgs { dir: *dir, cookie: from.1, verifier: from.0, dir_count, max_count }
}

fn readdirplus(
    caller: &Caller<'_>,
    dir: &FileHandle,
    from: ([u8; 8], u64),
    counts: (u32, u32),
) -> ReaddirplusOk<'static> {
    success(caller.call::<Readdirplus>(&plus_args(dir, from, counts)))
}

/// Where a listing goes on.
fn next(ok: &ReaddirOk<'_>) -> ([u8; 8], u64) {
    (ok.head.verifier, ok.entries.last().expect("an entry").cookie)
}

/// Lists everything in replies of `count` bytes, and lets something `happen` before each call.
fn list_all(caller: &Caller<'_>, dir: &FileHandle, count: u32, mut happen: impl FnMut(usize)) -> Vec<String> {
    let mut names = Vec::new();
    let mut from = ([0; 8], 0);
    for number in 0.. {
        happen(number);
        let part = success(readdir(caller, dir, from, count));
        names.extend(part.entries.iter().map(|entry| String::from_utf8_lossy(entry.name).into_owned()));
        if part.eof {
            break;
        }
        from = next(&part);
    }
    names
}

fn with_files(count: usize) -> Server {
    server(vec![export(EXPORT, memory_with_files(count))])
}

fn start(server: &Server) -> (Caller<'_>, FileHandle) {
    let caller = Caller::root(server);
    (caller, caller.mount())
}

#[test]
fn empty_directory_lists_its_dots() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let dir = caller.make_dir(&root, "dir");
    let listed = success(readdir(&caller, &dir, ([0; 8], 0), 4096));
    let entries: Vec<_> = listed.entries.iter().map(|entry| (entry.name, entry.fileid)).collect();
    let fileid = |handle| caller.attributes(handle).fileid;
    assert_eq!(entries, [(&b"."[..], fileid(&dir)), (b"..", fileid(&root))]);
    assert!(listed.eof);
}

#[test]
fn listing_goes_on_after_any_cookie() {
    let server = with_files(20);
    let (caller, root) = start(&server);
    let all = success(readdir(&caller, &root, ([0; 8], 0), 1 << 16));
    assert_eq!(all.entries.len(), 22);
    for (index, entry) in all.entries.iter().enumerate() {
        let rest = success(readdir(&caller, &root, (all.head.verifier, entry.cookie), 1 << 16));
        assert_eq!(rest.entries, all.entries[index + 1..], "after entry {index}");
        assert!(rest.eof);
    }
}

#[test]
fn reply_is_never_longer_than_the_client_wants_and_too_small_a_wish_is_refused() {
    let server = with_files(50);
    let (caller, root) = start(&server);
    for count in (0..2000).step_by(4) {
        let args = ReaddirArgs { dir: root, cookie: 0, verifier: [0; 8], count };
        let reply = caller.reply_to(&caller.message::<Readdir>(&args));
        match results::<Readdir>(&reply) {
            // 24 bytes of the RPC header and the status do not count: the RFC's limit is for READDIR3resok.
            Res::Ok(ok) => {
                assert!(reply.len() - 28 <= count as usize, "{} bytes for {count}", reply.len() - 28);
                assert!(!ok.entries.is_empty());
            }
            Res::Fail(status, _) => {
                assert_eq!(status, Status::TooSmall);
                assert!(count < 150, "{count} bytes hold an entry");
            }
        }
    }
    assert_eq!(failure(readdir(&caller, &root, ([0; 8], 0), 100)), Status::TooSmall);
}

#[test]
fn readdirplus_keeps_to_both_of_its_limits() {
    let server = with_files(50);
    let (caller, root) = start(&server);
    for max_count in (400..20_000).step_by(100) {
        let reply = caller.reply_to(&caller.message::<Readdirplus>(&plus_args(&root, ([0; 8], 0), (8192, max_count))));
        assert!(reply.len() - 28 <= max_count as usize, "{} bytes for {max_count}", reply.len() - 28);
        let Res::Ok(ok) = results::<Readdirplus>(&reply) else { panic!("refused at {max_count}") };
        assert!(!ok.entries.is_empty());
    }
    for dir_count in [1, 100, 500] {
        let ok = readdirplus(&caller, &root, ([0; 8], 0), (dir_count, 1 << 16));
        let names: usize = ok.entries.iter().map(|plus| 20 + plus.entry.name.len().next_multiple_of(4)).sum();
        assert!(names <= dir_count as usize || ok.entries.len() == 1, "{names} bytes for {dir_count}");
    }
}

#[test]
fn readdirplus_tells_what_lookup_would() {
    let server = with_files(5);
    let (caller, root) = start(&server);
    caller.make_dir(&root, "dir");
    let listed = readdirplus(&caller, &root, ([0; 8], 0), (1 << 16, 1 << 16));
    assert_eq!((listed.entries.len(), listed.eof), (8, true));
    for plus in listed.entries {
        let name = String::from_utf8_lossy(plus.entry.name).into_owned();
        let found = success(caller.lookup(&root, &name));
        assert_eq!((plus.handle, plus.attributes), (Some(found.object), found.attributes), "{name}");
        assert_eq!(plus.entry.fileid, found.attributes.unwrap().fileid);
    }
}

#[test]
fn cookie_with_another_verifier_or_from_nowhere_is_bad() {
    let server = with_files(5);
    let (caller, root) = start(&server);
    let listed = success(readdir(&caller, &root, ([0; 8], 0), 200));
    let (verifier, cookie) = next(&listed);
    let mut other = verifier;
    other[0] ^= 1;
    assert_eq!(failure(readdir(&caller, &root, (other, cookie), 1000)), Status::BadCookie);
    assert_eq!(failure(readdir(&caller, &root, (verifier, u64::MAX), 1000)), Status::BadCookie);
    assert_eq!(failure(readdir(&caller, &root, (verifier, 1 << 40), 1000)), Status::BadCookie);
}

#[test]
fn file_is_no_directory() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    assert_eq!(failure(readdir(&caller, &file, ([0; 8], 0), 1000)), Status::NotDir);
}

#[test]
fn hundred_thousand_stable_names_are_listed_once_while_others_come_and_go() {
    let server = with_files(MANY);
    let (caller, root) = start(&server);
    let mut present = Vec::new();
    let names = list_all(&caller, &root, 8192, |number| {
        for step in 0..20 {
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
    names.iter().for_each(|name| *times.entry(name).or_default() += 1);
    let stable: HashSet<String> = (0..MANY).map(|number| format!("stable-{number}")).collect();
    assert!(stable.iter().all(|name| times.get(name.as_str()) == Some(&1)), "a stable name was left out or doubled");
    assert!(times.values().all(|times| *times == 1), "a passing name was doubled");
}

#[test]
fn directory_that_is_emptied_while_it_is_listed_ends() {
    let server = with_files(1000);
    let (caller, root) = start(&server);
    let names = list_all(&caller, &root, 1024, |number| {
        for index in number * 40..(number + 1) * 40 {
            let _ = caller.remove(&root, &format!("stable-{index}"));
        }
    });
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
}

#[test]
fn largest_listing_fits_into_a_datagram_over_udp() {
    let server = with_files(3000);
    let (caller, root) = start(&server);
    let args = plus_args(&root, ([0; 8], 0), (u32::MAX, u32::MAX));
    let udp = caller.over_udp();
    let reply = udp.reply_to(&udp.message_of(procedure::<Readdirplus>(), &args));
    assert!(reply.len() < 65_507, "{} bytes of {}", reply.len(), Readdirplus::NAME);
}
