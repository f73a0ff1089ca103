//! Cookies of file systems that use all 64 bits: clients take cookies for signed numbers, so 63 are sent.

use std::collections::HashSet;
use std::sync::Arc;

use proto::nfs3::{FileHandle, Readdir, ReaddirArgs};
use proto::nfs4::{self, Attribute};
use vfs::FileSystem;

use testing::caller::nfs2::{self, Caller2};
use testing::caller::nfs3::success;
use testing::caller::{Caller, Directory, EXPORT, export, memory_with_files, server};
use testing::compound::{self, Compound};

use crate::programs::scrambled::Scrambled;

/// The largest cookie that a client can pass on as a signed number.
const LARGEST: u64 = i64::MAX.cast_unsigned();

const FILES: usize = 300;

/// Names and cookies, in the order of a listing.
type Listed = Vec<(Vec<u8>, u64)>;

/// The entries of one reply after a cookie, and whether it is the last one.
type Page<'p> = &'p dyn Fn(u64) -> (Listed, bool);

fn list_all(page: Page<'_>) -> Listed {
    let mut all = Listed::new();
    loop {
        let (listed, is_last) = page(all.last().map_or(0, |(_, cookie)| *cookie));
        all.extend(listed);
        assert!(all.len() < 2 * FILES, "the listing does not end");
        if is_last {
            return all;
        }
    }
}

fn v2(caller: Caller<'_>, after: u64) -> (Listed, bool) {
    let caller = Caller2(caller);
    let ok = nfs2::success(caller.readdir(&caller.mount(), after as u32, 512));
    (ok.entries.iter().map(|entry| (entry.name.to_vec(), entry.cookie.into())).collect(), ok.eof)
}

/// The verifier of cookies that both servers of a file system have.
fn verifier(files: &dyn FileSystem) -> [u8; 8] {
    files.properties().cookie_verifier.to_be_bytes()
}

fn v3(caller: Caller<'_>, verifier: [u8; 8], (dir, after): (FileHandle, u64)) -> (Listed, bool) {
    let args = ReaddirArgs { dir, cookie: after, verifier, count: 512 };
    let ok = success(caller.call::<Readdir>(&args));
    (ok.entries.iter().map(|entry| (entry.name.to_vec(), entry.cookie)).collect(), ok.eof)
}

fn v4(caller: Caller<'_>, verifier: [u8; 8], after: u64) -> (Listed, bool) {
    let request = Attribute::set(&[Attribute::FileId]);
    let args = nfs4::ReaddirArgs { cookie: after, verifier, dir_count: 512, max_count: 512, request };
    let mut results = caller.compound(&Compound::new(0).root().op::<nfs4::Readdir>(&args));
    let ok = compound::success(results.skip_root().take::<nfs4::Readdir>());
    (ok.entries.iter().map(|entry| (entry.name.0.to_vec(), entry.cookie)).collect(), ok.eof)
}

/// Asserts that each name is there once, each cookie fits, and that `again` goes on after each of them.
fn check(page: Page<'_>, again: Page<'_>) {
    let all = list_all(page);
    let stable: HashSet<_> = all.iter().filter(|(name, _)| name.starts_with(b"stable-")).collect();
    assert_eq!(stable.len(), FILES, "a name is missing or comes twice");
    let large: Vec<_> = all.iter().filter(|(_, cookie)| *cookie > LARGEST).collect();
    assert!(large.is_empty(), "cookies of more than 63 bits: {large:x?}");
    for (index, (name, cookie)) in all.iter().enumerate().step_by(7) {
        let next = again(*cookie).0.into_iter().next();
        assert_eq!(next.as_ref(), all.get(index + 1), "after {}", String::from_utf8_lossy(name));
    }
}

#[test]
fn cookies_of_64_bits_are_sent_in_63_and_every_name_is_listed_once_across_a_restart() {
    let files = Arc::new(Scrambled::downward(memory_with_files(FILES)));
    let start = || server(vec![export(EXPORT, files.clone())]);
    let (first, second) = (start(), start());
    let (first, second) = (Caller::root(&first), Caller::root(&second));
    let (dir, verifier) = (first.mount(), verifier(&*files));
    check(&|after| v2(first, after), &|after| v2(second, after));
    check(&|after| v3(first, verifier, (dir, after)), &|after| v3(second, verifier, (dir, after)));
    check(&|after| v4(first, verifier, after), &|after| v4(second, verifier, after));
}

#[test]
fn cookies_of_a_host_directory_fit_into_63_bits() {
    let directory = Directory::new();
    for number in 0..FILES {
        std::fs::write(directory.export().join(format!("stable-{number}")), b"").unwrap();
    }
    let files = directory.open();
    let server = server(vec![export(EXPORT, files.clone())]);
    let caller = Caller::root(&server).myself();
    let (dir, verifier) = (caller.mount(), verifier(&*files));
    let page = |after| v3(caller, verifier, (dir, after));
    check(&page, &page);
    let page = |after| v4(caller, verifier, after);
    check(&page, &page);
}
