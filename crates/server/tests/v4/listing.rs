//! READDIR and its cookies (RFC 7530 §16.24, RFC 8881 §18.23).

use std::collections::BTreeSet;

use proto::nfs4::{Attribute, Bitmap, Readdir, ReaddirArgs, ReaddirOk, Res, Status};

use crate::caller::{Caller, EXPORT, export, memory_with_files, server};
use crate::compound::{Compound, failure, success};

/// How many files there are.
const FILES: usize = 100;
/// Room for a few entries.
const FEW: u32 = 512;

fn read(caller: Caller<'_>, (cookie, verifier): (u64, [u8; 8]), max_count: u32) -> Res<ReaddirOk<'static>> {
    let request = Attribute::set(&[Attribute::FileId]);
    let arguments = ReaddirArgs { cookie, verifier, dir_count: max_count, max_count, request };
    caller.compound(&Compound::new(0).root().op::<Readdir>(&arguments)).skip_root().take::<Readdir>()
}

#[test]
fn pages_of_a_directory_give_every_name_once() {
    let server = server(vec![export(EXPORT, memory_with_files(FILES))]);
    let (mut place, mut seen, mut pages) = ((0, [0; 8]), BTreeSet::new(), 0);
    loop {
        let page = success(read(Caller::root(&server), place, FEW));
        pages += 1;
        for entry in &page.entries {
            assert!(seen.insert(entry.name.0.to_vec()), "{:?} came twice", entry.name);
            assert!(entry.cookie > 2, "0, 1 and 2 are no cookies of entries");
            assert_eq!(entry.attributes.mask, Attribute::set(&[Attribute::FileId]));
            place = (entry.cookie, page.head.verifier);
        }
        if page.eof {
            break;
        }
    }
    assert_eq!(seen.len(), FILES);
    assert!(pages > 5, "{pages} pages");
}

#[test]
fn cookies_one_and_two_are_bad_and_another_directorys_verifier_is_not_the_same() {
    let server = server(vec![export(EXPORT, memory_with_files(FILES))]);
    let caller = Caller::root(&server);
    let page = success(read(caller, (0, [0; 8]), FEW));
    for cookie in [1, 2] {
        assert_eq!(failure(read(caller, (cookie, page.head.verifier), FEW)), Status::BadCookie);
    }
    let cookie = page.entries[0].cookie;
    assert_eq!(failure(read(caller, (cookie, [0xaa; 8]), FEW)), Status::NotSame);
}

#[test]
fn room_for_no_entry_is_too_small() {
    let server = server(vec![export(EXPORT, memory_with_files(FILES))]);
    assert_eq!(failure(read(Caller::root(&server), (0, [0; 8]), 20)), Status::TooSmall);
}

#[test]
fn entries_without_attributes_have_an_empty_mask() {
    let server = server(vec![export(EXPORT, memory_with_files(1))]);
    let arguments = ReaddirArgs { cookie: 0, verifier: [0; 8], dir_count: FEW, max_count: FEW, request: Bitmap::EMPTY };
    let mut results = Caller::root(&server).compound(&Compound::new(0).root().op::<Readdir>(&arguments));
    let listed = success(results.skip_root().take::<Readdir>());
    assert!(listed.entries[0].attributes.mask.is_empty());
}
