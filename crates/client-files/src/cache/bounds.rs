//! Feeds every cache with many times its limit: it keeps the most recently used entries up to the limit, and its
//! answers are right.

use std::sync::Arc;
use std::time::Duration;

use client_calls::{DirPosition, Page, Principal};
use tokio::time::Instant;
use vfs::{Attributes, FileKind};

use super::directories::{BYTES_PER_ENTRY, DirectoryCache, Part};
use super::version::DirVersion;
use super::{AccessCache, AttributeCache, FileState, NameAt, NameCache, SymlinkCache, symlinks};
use crate::{Caching, Credentials, Detail, DirEntry, Handle, Rights};

const MANY: u64 = 100_000;

fn handle(number: u64) -> Handle {
    Handle::new(&number.to_be_bytes()).unwrap()
}

fn attributes(number: u64) -> Attributes {
    Attributes { fileid: number, change: 1, ..Attributes::new(FileKind::Regular, number) }
}

fn state() -> FileState {
    FileState::of(&attributes(1))
}

fn version() -> DirVersion {
    DirVersion::of(&attributes(1))
}

/// Panics unless exactly the newest `most` of [`MANY`] are known.
fn assert_newest_are_known(most: u64, is_known: impl Fn(u64) -> bool) {
    let known: Vec<u64> = (0..MANY).filter(|number| is_known(*number)).collect();
    assert_eq!((known.len() as u64, known.first()), (most, Some(&(MANY - most))));
}

fn most() -> u64 {
    Caching::default().max_entries as u64
}

#[test]
fn attributes_of_many_files() {
    // Long validity, so that nothing expires on a slow machine.
    let believed = Duration::from_secs(3600);
    let cache = AttributeCache::new(&Caching { file_min: believed, file_max: believed, ..Caching::default() });
    (0..MANY).for_each(|number| cache.learn(cache.ask(Instant::now()), &handle(number), &attributes(number)));
    assert_newest_are_known(most(), |number| match cache.get(Instant::now(), &handle(number)) {
        Some(known) => known == attributes(number),
        None => false,
    });
}

#[test]
fn many_names_of_one_directory_and_a_name_of_each_of_many() {
    for is_one in [true, false] {
        let (cache, clock) = (NameCache::new(&Caching::default()), AttributeCache::new(&Caching::default()));
        let look = |number: u64| {
            let (dir, name) = if is_one { (0, number.to_string()) } else { (number, "name".into()) };
            cache.look(Instant::now(), NameAt { dir: &handle(dir), name: name.as_bytes() }, version())
        };
        for number in 0..MANY {
            let (dir, name) = if is_one { (0, number.to_string()) } else { (number, "name".into()) };
            // Every other name is cached as absent.
            let file = (number % 2 == 0).then(|| handle(number));
            cache.learn(
                clock.ask(Instant::now()),
                NameAt { dir: &handle(dir), name: name.as_bytes() },
                version(),
                file,
            );
        }
        assert_newest_are_known(most(), |number| match look(number) {
            Some(found) => found == (number % 2 == 0).then(|| handle(number)),
            None => false,
        });
    }
}

#[test]
fn names_of_a_directory_that_changes_all_the_time() {
    let (cache, clock) = (NameCache::new(&Caching::default()), AttributeCache::new(&Caching::default()));
    for change in 0..MANY {
        let version = DirVersion { change, ..version() };
        cache.learn(
            clock.ask(Instant::now()),
            NameAt { dir: &handle(0), name: b"name" },
            version,
            Some(handle(change)),
        );
    }
    assert!(cache.kept() <= most() as usize, "answers of old versions go, too");
    let newest = DirVersion { change: MANY - 1, ..version() };
    assert_eq!(
        cache.look(Instant::now(), NameAt { dir: &handle(0), name: b"name" }, newest),
        Some(Some(handle(MANY - 1)))
    );
}

#[test]
fn rights_of_one_user_to_many_files_and_of_many_users_to_one() {
    for is_one_user in [true, false] {
        let cache = AccessCache::new(&Caching::default());
        let user = |uid: u64| Principal::new(&Credentials::Sys { uid: uid as u32, gid: 0, groups: Vec::new() });
        let users: Vec<_> = (0..if is_one_user { 1 } else { MANY }).map(user).collect();
        let user = |number: u64| Arc::clone(&users[number as usize % users.len()]);
        let file = |number: u64| handle(if is_one_user { number } else { 0 });
        let rights = |number: u64| Rights::from_bits(number as u32);
        (0..MANY).for_each(|number| cache.learn(&file(number), &user(number), state(), rights(number)));
        assert_newest_are_known(most(), |number| match cache.look(&file(number), &user(number), state()) {
            Some(known) => known == rights(number),
            None => false,
        });
    }
}

#[test]
fn targets_of_many_links_and_of_long_ones() {
    for target_bytes in [8, 1000] {
        let cache = SymlinkCache::new(&Caching::default());
        let target = |number: u64| Arc::<[u8]>::from([&number.to_be_bytes()[..], &vec![0; target_bytes - 8]].concat());
        (0..MANY).for_each(|number| cache.learn(&handle(number), state(), target(number)));
        let most = most().min((symlinks::MAX_BYTES / target_bytes) as u64);
        assert_newest_are_known(most, |number| match cache.look(&handle(number), state()) {
            Some(known) => known == target(number),
            None => false,
        });
    }
}

fn page(dir: u64, cookies: std::ops::Range<u64>, is_last: bool) -> Page {
    let entry = |cookie: u64| {
        let name = format!("a name of some length, {dir} {cookie}").into_bytes().into();
        DirEntry::new(name, cookie, cookie, None)
    };
    let next = DirPosition { cookie: cookies.end - 1, verifier: [1; 8] };
    Page { entries: cookies.map(entry).collect(), next, is_last }
}

fn part(dir: &Handle, from: DirPosition) -> Part<'_> {
    Part { dir, version: version(), from, detail: Detail::Names }
}

#[test]
fn listings_of_many_directories() {
    const ENTRIES: u64 = 20;
    let (cache, clock) = (DirectoryCache::new(&Caching::default()), AttributeCache::new(&Caching::default()));
    for dir in 0..MANY {
        cache.learn(
            clock.ask(Instant::now()),
            part(&handle(dir), DirPosition::default()),
            &page(dir, 1..ENTRIES + 1, true),
        );
    }
    let known = |dir: &u64| cache.look(Instant::now(), part(&handle(*dir), DirPosition::default()));
    let kept: Vec<u64> = (0..MANY).filter(|dir| known(dir).is_some()).collect();
    assert_eq!(kept, (MANY - kept.len() as u64..MANY).collect::<Vec<_>>(), "the oldest have gone");
    let size = |dir: &u64| {
        let names = known(dir).map_or(0, |kept| kept.page.entries.iter().map(|entry| entry.name.len()).sum());
        names + ENTRIES as usize * size_of::<super::directories::KeptEntry>()
    };
    let (bytes, most_bytes) = (kept.iter().map(size).sum::<usize>(), most() as usize * BYTES_PER_ENTRY);
    assert!(bytes <= most_bytes && bytes > most_bytes / 2, "{bytes} bytes of {} directories", kept.len());
    assert_eq!(known(&(MANY - 1)).unwrap().page.entries.len() as u64, ENTRIES);
}

#[test]
fn listing_of_one_directory_of_many_names() {
    const PAGE: u64 = 1000;
    let (cache, clock) = (DirectoryCache::new(&Caching::default()), AttributeCache::new(&Caching::default()));
    let dir = handle(0);
    let from = |cookie: u64| DirPosition { cookie, verifier: [u8::from(cookie > 0); 8] };
    for first in (0..MANY).step_by(PAGE as usize) {
        let is_last = first + PAGE == MANY;
        cache.learn(clock.ask(Instant::now()), part(&dir, from(first)), &page(0, first + 1..first + PAGE + 1, is_last));
    }
    assert!(cache.is_whole(Instant::now(), part(&dir, from(0))), "they are fewer bytes than may be kept");
    let named = |cookie: u64| {
        cache.look(Instant::now(), part(&dir, from(cookie))).map(|kept| kept.page.entries[kept.skipped].cookie)
    };
    assert!((0..MANY).step_by(777).all(|cookie| named(cookie) == Some(cookie + 1)));
}
