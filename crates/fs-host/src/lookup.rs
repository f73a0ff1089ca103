//! Names below a directory, the directory above one, and the targets of symbolic links.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;
use vfs::{Context, Entry, Error, FileKind, Handle, Place, Result};

use crate::attributes::{device, from_statx, stat_fd, stat_name};
use crate::failure::failed;
use crate::handles::{FileAt, Handles, NameAt};
use crate::host::HostFs;
use crate::metadata::{KnownFile, Moment};
use crate::node::CName;

/// How far up a directory is followed to see whether it is still inside of the export: deeper than any path that a
/// program can name in one call (`PATH_MAX` / 2).
const MAX_DEPTH: usize = 2048;

/// Attributes, with a moment before they were read.
struct TimedStat<'s> {
    before: Moment,
    stat: &'s Statx,
}

impl HostFs {
    pub(crate) fn look_up(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        let dir = self.dir_node(cx, &place.dir)?;
        self.identity.own()?;
        let name = CName::new(place.name);
        let entry = self.find(cx, NameAt { dir: &place.dir, node: &dir, name: name.as_c_str() })?;
        self.keep_handles()?;
        Ok(entry)
    }

    /// What a name stands for now.
    pub(crate) fn find(&self, cx: &Context<'_>, site: NameAt<'_>) -> Result<Entry> {
        let before = self.clock.earlier();
        if !cx.may_block && !self.lookup_pace.is_quick() {
            let fd = self.with_room(cx, || open_cached_path(site.node.fd(), site.name))?;
            return self.identify_known(cx, site, before, &fd);
        }
        let stat = self.lookup_pace.time(|| stat_name(site.node.fd(), site.name))?;
        self.volume.check(&stat)?;
        let circumstances = self.handles.circumstances(site);
        if let Some(handle) = self.known_handle(cx, &stat, circumstances) {
            return Ok(self.entry(handle, &stat));
        }
        if let Some(handle) = self.handles.make_by_name(site, &stat)? {
            self.keep_known(cx, TimedStat { before, stat: &stat }, circumstances, handle);
            return Ok(self.entry(handle, &stat));
        }
        let fd = self.with_room(cx, || open_path(site.node.fd(), site.name))?;
        self.identify_known(cx, site, before, &fd)
    }

    /// The handle and attributes of what a descriptor, opened at this site after a moment, stands for.
    fn identify_known(&self, cx: &Context<'_>, site: NameAt<'_>, before: Moment, fd: &impl AsFd) -> Result<Entry> {
        let stat = stat_fd(fd.as_fd())?;
        self.volume.check(&stat)?;
        let circumstances = self.handles.circumstances(site);
        if let Some(handle) = self.known_handle(cx, &stat, circumstances) {
            return Ok(self.entry(handle, &stat));
        }
        let handle = self.handles.make(site, FileAt::of_fd(fd, &stat))?;
        self.keep_known(cx, TimedStat { before, stat: &stat }, circumstances, handle);
        Ok(self.entry(handle, &stat))
    }

    /// The handle that was given out before for a file with these attributes.
    fn known_handle(&self, cx: &Context<'_>, stat: &Statx, circumstances: u64) -> Option<Handle> {
        self.known.as_ref()?.handle(cx, stat, circumstances).filter(|_| device(stat) == self.volume.device)
    }

    fn keep_known(&self, cx: &Context<'_>, read: TimedStat<'_>, circumstances: u64, handle: Handle) {
        let TimedStat { before, stat } = read;
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let may_be_known = has_birth && device(stat) == self.volume.device && self.handles.may_be_known(stat);
        let Some(known) = self.known.as_ref().filter(|_| may_be_known) else { return };
        let file = KnownFile::new(stat, circumstances, handle);
        if self.volume.counts_inodes() {
            known.keep(cx, stat.stx_ino, file);
        } else if !file.is_identified(before) {
            self.clock.note_newer();
        } else if before <= self.clock.read() {
            known.keep(cx, stat.stx_ino, file);
        }
    }

    /// The handle and attributes of what a descriptor, opened at this site, stands for.
    pub(crate) fn identify(&self, site: NameAt<'_>, fd: &impl AsFd) -> Result<Entry> {
        let stat = stat_fd(fd.as_fd())?;
        self.volume.check(&stat)?;
        Ok(self.entry(self.handles.make(site, FileAt::of_fd(fd, &stat))?, &stat))
    }

    pub(crate) fn entry(&self, handle: Handle, stat: &Statx) -> Entry {
        Entry { handle, attributes: from_statx(stat, self.volume.device) }
    }

    pub(crate) fn parent_of(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        let node = self.dir_node(cx, dir)?;
        self.identity.own()?;
        let stat = self.stat_living(dir, &node)?;
        if self.volume.is_root(&stat) {
            return Ok(self.entry(vfs::FileSystem::root(self), &stat));
        }
        let parent = self.with_room(cx, || open_path(node.fd(), c".."))?;
        let stat = stat_fd(parent.as_fd())?;
        if self.volume.is_root(&stat) {
            return Ok(self.entry(vfs::FileSystem::root(self), &stat));
        }
        self.check_inside(parent.as_fd(), &stat)?;
        let handle = match &self.handles {
            Handles::Kernel(kernel) => kernel.make(parent.as_fd(), c"", FileKind::Directory)?,
            Handles::Stored(stored) => self.adopt(stored, parent.as_fd(), 0)?,
        };
        self.keep_handles()?;
        Ok(self.entry(handle, &stat))
    }

    /// Refuses a directory that the export's root is not above, or not before another export begins: somebody on the
    /// host has moved it out, or it is another export's, and its parents are none of this one's.
    pub(crate) fn check_inside(&self, dir: BorrowedFd<'_>, stat: &Statx) -> Result<()> {
        let (mut here, mut stat): (Option<OwnedFd>, _) = (None, *stat);
        for _ in 0..MAX_DEPTH {
            if self.volume.is_root(&stat) {
                return Ok(());
            }
            if !self.volume.holds(&stat) {
                break;
            }
            let above = open_path(here.as_ref().map_or(dir, AsFd::as_fd), c"..")?;
            let next = stat_fd(above.as_fd())?;
            // Only the topmost directory of all is its own parent.
            if next.stx_ino == stat.stx_ino {
                break;
            }
            (here, stat) = (Some(above), next);
        }
        Err(Error::Stale)
    }

    pub(crate) fn target_of(&self, cx: &Context<'_>, handle: &Handle) -> Result<Vec<u8>> {
        let node = self.node(cx, handle)?;
        if node.kind() != FileKind::Symlink {
            return Err(Error::WrongKind);
        }
        let target = rustix::fs::readlinkat(node.fd(), c"", Vec::new()).map_err(failed)?;
        Ok(target.into_bytes())
    }
}

/// Opens a name as a descriptor that does nothing but name it; a symbolic link is not followed.
pub(crate) fn open_path(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).map_err(failed)
}

/// The same for a name that the kernel has in memory; for one that it would have to look for on a disk, the thread
/// would wait.
fn open_cached_path(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(dir, name, flags, Mode::empty(), ResolveFlags::CACHED) {
        Err(Errno::AGAIN) => Err(Error::WouldBlock),
        // Kernels before Linux 5.12 cannot tell, and some sandboxes do not know the call.
        Err(Errno::INVAL | Errno::NOSYS) => open_path(dir, name),
        opened => opened.map_err(failed),
    }
}
