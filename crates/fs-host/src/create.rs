//! Making regular files.
//!
//! An exclusive create makes a file without a name (O_TMPFILE), stores its attributes and the verifier in it, and links
//! it last. So a server that was killed in between recognises the retransmission. Where a file system has no files
//! without a name, the name comes first: a kill before the verifier is stored leaves a file that the client is refused.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use vfs::{Context, CreateMode, Entry, Error, FileKind, Place, Result, SetAttributes, race};

use crate::attributes::{stat_fd, stat_name};
use crate::failure::failed;
use crate::flush::Flush;
use crate::handles::NameAt;
use crate::host::HostFs;
use crate::link::link_fd;
use crate::node::{CName, HostNode};
use crate::set_attributes::apply;
use crate::verifier;

/// The mode of a file that is made without one.
const DEFAULT_MODE: u32 = 0o644;

impl HostFs {
    pub(crate) fn create_regular(
        &self,
        cx: &Context<'_>,
        place: Place<'_>,
        mode: CreateMode,
        set: &SetAttributes,
    ) -> Result<Entry> {
        let node = self.dir_to_change(cx, &place.dir)?;
        let name = CName::new(place.name);
        let site = NameAt { dir: &place.dir, node: &node, name: name.as_c_str() };
        let new_file = NewFile { mode, set };
        race::until_won(|| match self.make_regular(cx, site, new_file) {
            Err(Error::Exists) => race::unless_removed(self.take_existing(cx, site, new_file)),
            made => made,
        })
    }

    /// Makes the file; `None` when somebody removed it before it was known by its handle.
    fn make_regular(&self, cx: &Context<'_>, site: NameAt<'_>, new_file: NewFile<'_>) -> Result<Option<Entry>> {
        self.identity.assume(&cx.caller)?;
        if !self.needs_opening(new_file) {
            make_closed(site, new_file.set)?;
            return keep_or_undo(site, race::unless_removed(self.find_made(cx, site)));
        }
        if let Some(file) = self.make_unnamed(cx, site, new_file)? {
            return self.finish(site, file, new_file).map(Some);
        }
        let file = self.with_room(cx, || make_file(site, new_file.set))?;
        keep_or_undo(site, furnish(&file, new_file))?;
        self.finish(site, file, new_file).map(Some)
    }

    /// Makes the file of an exclusive create and gives it its name last, so that whatever has the name has the
    /// verifier, even if the server is killed in between. `None` where only a file with a name can be made. A file that
    /// has the name already counts more than whatever else is wrong: it may be this call's own (RFC 1813 §3.3.8).
    fn make_unnamed(&self, cx: &Context<'_>, site: NameAt<'_>, new_file: NewFile<'_>) -> Result<Option<OwnedFd>> {
        if !matches!(new_file.mode, CreateMode::Exclusive(_)) {
            return Ok(None);
        }
        match self.with_room(cx, || make_and_name(site, new_file)) {
            Err(_) if stat_name(site.node.fd(), site.name).is_ok() => Err(Error::Exists),
            made => made,
        }
    }

    fn find_made(&self, cx: &Context<'_>, site: NameAt<'_>) -> Result<Entry> {
        let entry = self.find(cx, site)?;
        self.keep_handles()?;
        Ok(entry)
    }

    /// Whether anything is left to do with a file once it has a name and a mode. In memory nothing is brought to
    /// storage.
    fn needs_opening(&self, new_file: NewFile<'_>) -> bool {
        let rest = SetAttributes {
            mode: None,
            size_bytes: new_file.set.size_bytes.filter(|&size| size != 0),
            ..*new_file.set
        };
        !self.volume.is_memory || matches!(new_file.mode, CreateMode::Exclusive(_)) || !rest.is_empty()
    }

    /// Brings a new file to storage, and keeps it open for the first write.
    fn finish(&self, site: NameAt<'_>, file: OwnedFd, new_file: NewFile<'_>) -> Result<Entry> {
        let entry = keep_or_undo(site, self.settle_and_identify(site, &file, new_file))?;
        self.made.keep(entry.handle, file);
        Ok(entry)
    }

    fn settle_and_identify(&self, site: NameAt<'_>, file: &OwnedFd, new_file: NewFile<'_>) -> Result<Entry> {
        let is_untouched = after_create(new_file.set).is_empty() && !matches!(new_file.mode, CreateMode::Exclusive(_));
        self.settle_new(file.as_fd(), site.node, is_untouched)?;
        let entry = self.identify(site, file)?;
        self.settle_handles()?;
        Ok(entry)
    }

    /// What to do with a file that is there already.
    fn take_existing(&self, cx: &Context<'_>, site: NameAt<'_>, new_file: NewFile<'_>) -> Result<Entry> {
        match new_file.mode {
            CreateMode::Guarded => Err(Error::Exists),
            CreateMode::Unchecked => self.take_any(cx, site, new_file.set.size_bytes),
            CreateMode::Exclusive(bytes) => self.take_own(cx, site, bytes, new_file.set.size_bytes.unwrap_or(0)),
        }
    }

    fn find_regular(&self, cx: &Context<'_>, site: NameAt<'_>) -> Result<Entry> {
        self.identity.own()?;
        let found = self.find(cx, site)?;
        self.keep_handles()?;
        if found.attributes.kind == FileKind::Regular { Ok(found) } else { Err(Error::Exists) }
    }

    fn take_any(&self, cx: &Context<'_>, site: NameAt<'_>, size_bytes: Option<u64>) -> Result<Entry> {
        let found = self.find_regular(cx, site)?;
        // A call that made the file may have failed to bring it to storage, and to remove it then.
        if self.flushes.losses() > 0 {
            self.settle_existing(cx, site, &*self.node(cx, &found.handle)?)?;
        }
        if size_bytes.is_none() {
            return Ok(found);
        }
        let set = SetAttributes { size_bytes, ..SetAttributes::default() };
        Ok(Entry { attributes: self.set(cx, &found.handle, &set)?, ..found })
    }

    /// The file of an exclusive create that was sent again. The first call may have been interrupted by a crash of the
    /// server before anything was synced, so that is done again too.
    fn take_own(&self, cx: &Context<'_>, site: NameAt<'_>, verifier: [u8; 8], size_bytes: u64) -> Result<Entry> {
        let found = self.find_regular(cx, site)?;
        let node = self.node(cx, &found.handle)?;
        if !verifier::matches(&stat_fd(node.fd())?, verifier, size_bytes) {
            return Err(Error::Exists);
        }
        self.settle_existing(cx, site, &node)?;
        Ok(found)
    }

    fn settle_existing(&self, cx: &Context<'_>, site: NameAt<'_>, node: &HostNode) -> Result<()> {
        if !self.syncs() {
            return Ok(());
        }
        let file = self.with_room(cx, || node.reopen(OFlags::RDONLY))?;
        self.settle_with_dir(Flush::all(file.as_fd()), site.node)
    }
}

/// A file that could not be finished is not left behind.
fn keep_or_undo<T>(site: NameAt<'_>, finished: Result<T>) -> Result<T> {
    if finished.is_err() {
        // The reason why it failed says more than whether it could be taken back.
        let _ = rustix::fs::unlinkat(site.node.fd(), site.name, AtFlags::empty());
    }
    finished
}

/// What a caller wants of a new file.
#[derive(Clone, Copy)]
struct NewFile<'a> {
    mode: CreateMode,
    set: &'a SetAttributes,
}

/// Makes the file, gives it what was asked for, and then its name. `None` where the file system, or this process in it,
/// has no files without a name or cannot give them one.
fn make_and_name(site: NameAt<'_>, new_file: NewFile<'_>) -> Result<Option<OwnedFd>> {
    let Some(file) = unless_unsupported(make_nameless(site, new_file.set))? else { return Ok(None) };
    furnish(&file, new_file)?;
    Ok(unless_unsupported(link_fd(file.as_fd(), site.node, site.name))?.map(|()| file))
}

/// Makes a file in a directory without naming it there; it inherits what a file with a name would.
fn make_nameless(site: NameAt<'_>, set: &SetAttributes) -> Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(site.node.fd(), c".", flags, first_mode(set)).map_err(failed)
}

/// Kernels, file systems and sandboxes differ in how they say that they do not know files without a name (open(2),
/// linkat(2)); project quotas on XFS and ext4 refuse some links by [`Error::CrossDevice`].
fn unless_unsupported<T>(done: Result<T>) -> Result<Option<T>> {
    use Error::{CrossDevice, IsDirectory, NoEntry, NotPermitted, NotSupported};
    match done {
        Err(NotSupported | IsDirectory | NoEntry | NotPermitted | CrossDevice) => Ok(None),
        done => done.map(Some),
    }
}

/// Gives a new file what was asked for.
fn furnish(file: &OwnedFd, new_file: NewFile<'_>) -> Result<()> {
    let file = file.as_fd();
    apply(file, Some(file), &after_create(new_file.set))?;
    match new_file.mode {
        CreateMode::Exclusive(bytes) => verifier::store(file, bytes),
        CreateMode::Unchecked | CreateMode::Guarded => Ok(()),
    }
}

/// Makes the file and opens it; a name that is there already is not touched, whatever it is.
fn make_file(site: NameAt<'_>, set: &SetAttributes) -> Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(site.node.fd(), site.name, flags, first_mode(set)).map_err(failed)
}

/// Makes the file and does not open it, which costs less.
fn make_closed(site: NameAt<'_>, set: &SetAttributes) -> Result<()> {
    rustix::fs::mknodat(site.node.fd(), site.name, FileType::RegularFile, first_mode(set), 0).map_err(failed)
}

fn first_mode(set: &SetAttributes) -> Mode {
    Mode::from_raw_mode(set.mode.unwrap_or(DEFAULT_MODE) & 0o7777)
}

/// The mode is there from the start, and a size of 0 too; set-id bits are set again if a change of owner took them.
fn after_create(set: &SetAttributes) -> SetAttributes {
    let changes_owner = set.uid.is_some() || set.gid.is_some();
    SetAttributes {
        mode: set.mode.filter(|mode| changes_owner && mode & 0o6000 != 0),
        size_bytes: set.size_bytes.filter(|&size| size != 0),
        ..*set
    }
}
