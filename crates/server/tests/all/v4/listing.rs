//! READDIR and its cookies (RFC 7530 §16.24, RFC 8881 §18.23).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proto::nfs4::{Attribute, AttributeValue, Bitmap, Fattr, Readdir, ReaddirArgs, ReaddirOk, Res, Status};
use vfs::{Context, Detail, EachEntry, FileSystem, Listing, ReadDir, Result};

use testing::caller::{Caller, EXPORT, export, memory_with_files, server};
use testing::compound::{Compound, failure, success};

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

/// A file system that remembers in how much detail it was listed.
struct Listed {
    inner: Arc<dyn FileSystem>,
    details: Arc<Mutex<Vec<Detail>>>,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Listed {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time,
        lease, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        self.details.lock().unwrap().push(list.detail);
        self.inner.read_dir(cx, list, each)
    }
}

#[test]
fn files_are_looked_at_only_when_the_client_asks_for_more_than_a_listing_has() {
    let details = Arc::default();
    let fs = Arc::new(Listed { inner: memory_with_files(3), details: Arc::clone(&details) });
    let server = server(vec![export(EXPORT, fs)]);
    let caller = Caller::root(&server);
    let list = |path: &str, request| {
        let arguments = ReaddirArgs { cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 4096, request };
        let mut results = caller.compound(&Compound::new(0).path(path).op::<Readdir>(&arguments));
        success(results.skip_path(path).take::<Readdir>())
    };
    let numbers = Attribute::set(&[Attribute::Type, Attribute::RdattrError, Attribute::MountedOnFileId]);
    let all = numbers.union(Attribute::set(&[Attribute::FileId]));
    let (bare, full) = (list(EXPORT, numbers), list(EXPORT, all));
    assert_eq!(*details.lock().unwrap(), [Detail::Kinds, Detail::Entries]);
    assert_eq!(bare.entries.len(), 3);
    for (bare, full) in bare.entries.iter().zip(&full.entries) {
        let values = |fattr: Fattr<'static>| -> Vec<AttributeValue<'static>> {
            let asked = |value: &AttributeValue<'_>| numbers.contains(value.attribute().number());
            fattr.values().map(std::result::Result::unwrap).filter(asked).collect()
        };
        assert_eq!((bare.name, bare.cookie, bare.attributes.mask), (full.name, full.cookie, numbers));
        assert_eq!(values(bare.attributes), values(full.attributes));
    }
    let above = list("/srv", numbers);
    let number = above.entries[0].attributes.values().find_map(|value| match value {
        Ok(AttributeValue::MountedOnFileId(number)) => Some(number),
        _ => None,
    });
    assert!(number.is_some_and(|number| number != 1), "an export's root covers a directory of the tree");
}
