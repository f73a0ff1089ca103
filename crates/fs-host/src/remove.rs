//! Removing names, and letting go of files whose last name is gone.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::AtFlags;
use vfs::{Attributes, Context, Entry, Handle, Place, Result};

use crate::attributes::{from_statx, stat_fd};
use crate::failure::failed;
use crate::flush::FileId;
use crate::handles::{FileAt, NameAt};
use crate::host::HostFs;
use crate::lookup::open_path;
use crate::node::CName;
use crate::sync::check_space;

/// A file that is about to lose a name, held so that nothing else can take its number meanwhile.
pub(crate) struct Victim {
    handle: Handle,
    fd: OwnedFd,
    attributes: Attributes,
}

impl Victim {
    /// Refuses to free a large file on a thread that may not wait.
    pub(crate) fn check_space(&self, cx: &Context<'_>) -> Result<()> {
        if self.attributes.links > 1 { Ok(()) } else { check_space(cx, self.attributes.used_bytes) }
    }
}

impl HostFs {
    /// Removes a name; `flags` say whether it must be a directory's or must not.
    pub(crate) fn remove_name(&self, cx: &Context<'_>, place: Place<'_>, flags: AtFlags) -> Result<()> {
        let node = self.dir_to_change(cx, &place.dir)?;
        let name = CName::new(place.name);
        let site = NameAt { dir: &place.dir, node: &node, name: name.as_c_str() };
        self.identity.own()?;
        let victim = self.with_room(cx, || self.victim(site))?;
        victim.check_space(cx)?;
        self.identity.assume(&cx.caller)?;
        rustix::fs::unlinkat(node.fd(), site.name, flags).map_err(failed)?;
        self.settle_dir(&node)?;
        self.bury(victim)
    }

    /// Removes the name that `seen` was found under just now.
    ///
    /// The descriptors at hand of `seen` are let go. Should the name have passed to another file in between, that one
    /// is gone, and what is held of it is noticed by [`HostFs::release_removed`].
    pub(crate) fn remove_seen_name(&self, cx: &Context<'_>, place: Place<'_>, seen: &Entry) -> Result<()> {
        // Records and listeners are told of the very file that is gone, and among several names only the kernel knows
        // the last.
        let is_exact = self.handles.stored().is_some() || self.options.on_gone.is_some();
        let is_told_apart = !is_exact || self.volume.keeps_times();
        if !is_told_apart || seen.attributes.links > 1 {
            return self.remove_name(cx, place, AtFlags::empty());
        }
        check_space(cx, seen.attributes.used_bytes)?;
        let node = self.dir_to_change(cx, &place.dir)?;
        let name = CName::new(place.name);
        if is_exact {
            return self.remove_exactly(cx, NameAt { dir: &place.dir, node: &node, name: name.as_c_str() }, seen);
        }
        self.identity.assume(&cx.caller)?;
        rustix::fs::unlinkat(node.fd(), name.as_c_str(), AtFlags::empty()).map_err(failed)?;
        self.nodes.forget(&seen.handle);
        self.held.lose_name(&seen.handle);
        self.uncommitted.drop_gone(FileId::new(self.volume.device, seen.attributes.fileid));
        if let Some(known) = &self.known {
            known.drop_gone(cx, seen.attributes.fileid);
        }
        self.settle_dir(&node)
    }

    /// Removes a name and finds out whether it was the last one of `seen`.
    ///
    /// The descriptor keeps the inode's number from being used again. So when the file of the descriptor has no name
    /// left, any earlier file with the same number is gone too: `seen` need not be identified a second time. This holds
    /// where all files of a directory are on one device.
    fn remove_exactly(&self, cx: &Context<'_>, site: NameAt<'_>, seen: &Entry) -> Result<()> {
        self.identity.own()?;
        let fd = self.with_room(cx, || open_path(site.node.fd(), site.name))?;
        self.identity.assume(&cx.caller)?;
        rustix::fs::unlinkat(site.node.fd(), site.name, AtFlags::empty()).map_err(failed)?;
        self.settle_dir(site.node)?;
        let stat = stat_fd(fd.as_fd())?;
        if stat.stx_nlink > 0 {
            return Ok(());
        }
        let gone = from_statx(&stat, self.volume.device);
        if (gone.fileid, gone.created) == (seen.attributes.fileid, seen.attributes.created) {
            return self.let_go(&seen.handle, gone.fileid);
        }
        // Nobody asks for the handle of a file that is gone and has none.
        self.handles.make(site, FileAt::of_fd(&fd, &stat)).map_or(Ok(()), |handle| self.let_go(&handle, gone.fileid))
    }

    /// The file that a name stands for and that may lose it.
    pub(crate) fn victim(&self, site: NameAt<'_>) -> Result<Victim> {
        let fd = open_path(site.node.fd(), site.name)?;
        let Entry { handle, attributes } = self.identify(site, &fd)?;
        Ok(Victim { handle, fd, attributes })
    }

    /// Lets go of a file everywhere if it has no name left: the descriptors at hand would keep its space.
    pub(crate) fn bury(&self, victim: Victim) -> Result<()> {
        if stat_fd(victim.fd.as_fd())?.stx_nlink > 0 {
            return self.keep_handles();
        }
        self.let_go(&victim.handle, victim.attributes.fileid)
    }

    /// Lets go of a file that has no name left.
    fn let_go(&self, handle: &Handle, fileid: u64) -> Result<()> {
        self.uncommitted.drop_gone(FileId::new(self.volume.device, fileid));
        self.nodes.forget(handle);
        self.held.lose_name(handle);
        drop(self.made.take(handle));
        if let Some(stored) = self.handles.stored() {
            stored.gone(handle)?;
        }
        if let Some(heard) = &self.options.on_gone {
            heard(handle);
        }
        self.keep_handles()
    }
}
