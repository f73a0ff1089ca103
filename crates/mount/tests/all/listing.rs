//! Listings of a file system that repeats its cookies: they end with an error.

use std::fs;
use std::sync::Arc;

use fs_mem::{MemFs, MemOptions};
use mount::Options;
use vfs::{Context, DirEntry, EachEntry, FileKind, FileSystem, Listing, ReadDir, Result};

use crate::support::Site;

/// A file system whose directory has one entry behind each cookie, and cookies that go round in a circle.
struct Circle {
    inner: MemFs,
    length: u64,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Circle {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time,
        lease, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn read_dir(&self, _: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        let cookie = list.after % self.length + 1;
        let name = format!("{cookie}");
        let kind = Some(FileKind::Regular);
        let _ = each(DirEntry { name: name.as_bytes(), fileid: cookie, cookie, kind, entry: None });
        Ok(Listing::Stopped)
    }
}

#[test]
fn directory_whose_cookies_go_round_in_a_circle_is_not_listed_for_ever() {
    for length in [1, 7, 3000] {
        let inner = MemFs::new(MemOptions::default());
        let Some(site) = Site::new(Arc::new(Circle { inner, length }), Options::default()) else { return };
        let most = 2 * usize::try_from(length).unwrap() + 10;
        let listed: Vec<_> = fs::read_dir(site.dir()).unwrap().take(most).collect();
        assert!(listed.last().unwrap().is_err(), "{length}: {} names without an error", listed.len());
    }
}
