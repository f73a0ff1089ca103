//! A file system whose cookies are large and in no order, as those of file systems that hash names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vfs::{Blocking, Context, DirEntry, EachEntry, Error, FileSystem, Listing, ReadDir, Result};

/// An odd factor, by which a product modulo 2⁶³ can be taken back.
const FACTOR: u64 = 0x1e37_79b9_7f4a_7c15;
const MASK: u64 = (1 << 63) - 1;

pub struct Scrambled<F> {
    inner: Arc<F>,
    scramble: fn(u64) -> u64,
    unscramble: fn(u64) -> u64,
    /// How many listings began at the start.
    pub from_start: AtomicU64,
}

impl<F> Scrambled<F> {
    pub fn new(inner: Arc<F>) -> Scrambled<F> {
        Scrambled { inner, scramble, unscramble, from_start: AtomicU64::new(0) }
    }

    /// The inner file system's cookies count down from the largest number, and its 100th is the largest signed one.
    pub fn downward(inner: Arc<F>) -> Scrambled<F> {
        Scrambled { scramble: downward, unscramble: downward, ..Scrambled::new(inner) }
    }
}

fn downward(cookie: u64) -> u64 {
    match cookie {
        0 => 0,
        100 => MASK,
        MASK => 100,
        cookie => u64::MAX - (cookie - 1),
    }
}

fn scramble(cookie: u64) -> u64 {
    cookie.wrapping_mul(FACTOR) & MASK
}

fn unscramble(cookie: u64) -> u64 {
    // Newton's iteration: each step doubles the number of right bits.
    let inverse =
        (0..6).fold(FACTOR, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(FACTOR.wrapping_mul(inverse))));
    cookie.wrapping_mul(inverse) & MASK
}

#[deny(clippy::missing_trait_methods)]
impl<F: FileSystem> FileSystem for Scrambled<F> {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, changes_wait, properties, is_read_only, attributes, access, set_attributes,
        lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time, lease, create,
        make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs, remove_xattr, acls,
        set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn blocking(&self) -> Blocking {
        Blocking::Sometimes
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        if list.after == 0 {
            self.from_start.fetch_add(1, Ordering::Relaxed);
        }
        let (scramble, after) = (self.scramble, (self.unscramble)(list.after));
        if scramble(after) != list.after {
            return Err(Error::BadCookie);
        }
        let mut scrambled = |entry: DirEntry<'_>| each(DirEntry { cookie: scramble(entry.cookie), ..entry });
        self.inner.read_dir(cx, ReadDir { after, ..list }, &mut scrambled)
    }
}

#[test]
fn scrambled_cookie_comes_back() {
    for cookie in [0, 1, 2, 100, 1000, 1 << 40, MASK] {
        assert_eq!(unscramble(scramble(cookie)), cookie);
        assert_eq!(downward(downward(cookie)), cookie);
    }
}
