//! A file system whose cookies are large and in no order, as those of file systems that hash names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vfs::{
    Access, Attributes, Blocking, Context, CreateMode, DirEntry, EachEntry, Entry, Error, FileSystem, Handle, Listing,
    NewNode, OpenFile, OpenMode, Place, Properties, ReadDir, Result, SetAttributes, Space,
};

/// An odd factor, by which a product modulo 2⁶³ can be taken back.
const FACTOR: u64 = 0x1e37_79b9_7f4a_7c15;
const MASK: u64 = (1 << 63) - 1;

pub struct Scrambled<F> {
    inner: Arc<F>,
    /// How many listings began at the start.
    pub from_start: AtomicU64,
}

impl<F> Scrambled<F> {
    pub fn new(inner: Arc<F>) -> Scrambled<F> {
        Scrambled { inner, from_start: AtomicU64::new(0) }
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

impl<F: FileSystem> FileSystem for Scrambled<F> {
    fn root(&self) -> Handle {
        self.inner.root()
    }

    fn blocking(&self) -> Blocking {
        Blocking::Sometimes
    }

    fn properties(&self) -> Properties {
        self.inner.properties()
    }

    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        self.inner.attributes(cx, node)
    }

    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        self.inner.access(cx, node, attributes, wanted)
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        self.inner.set_attributes(cx, node, set)
    }

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        self.inner.lookup(cx, place)
    }

    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        self.inner.parent(cx, dir)
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        self.inner.open(cx, node, mode)
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        if list.after == 0 {
            self.from_start.fetch_add(1, Ordering::Relaxed);
        }
        let after = unscramble(list.after);
        if scramble(after) != list.after {
            return Err(Error::BadCookie);
        }
        let mut scrambled = |entry: DirEntry<'_>| each(DirEntry { cookie: scramble(entry.cookie), ..entry });
        self.inner.read_dir(cx, ReadDir { after, ..list }, &mut scrambled)
    }

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.inner.create(cx, place, mode, set)
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        self.inner.make_node(cx, place, node, set)
    }

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.inner.remove(cx, place)
    }

    fn space(&self, cx: &Context<'_>, node: &Handle) -> Result<Space> {
        self.inner.space(cx, node)
    }
}

#[test]
fn scrambled_cookie_comes_back() {
    for cookie in [0, 1, 2, 1000, 1 << 40, MASK] {
        assert_eq!(unscramble(scramble(cookie)), cookie);
    }
}
