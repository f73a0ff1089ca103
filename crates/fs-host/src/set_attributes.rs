//! Setting attributes, all or none: whatever can be refused is checked first. Then the owner changes, the size, the
//! mode and the times. When a change fails, those before it are undone, but for the size: bytes that were cut off do
//! not come back. The owner is in front of it because quotas and permissions may refuse a new one, and behind it the
//! kernel refuses nothing that was checked; only failing storage still stops a SETATTR half-way.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Statx, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid};
use vfs::{Access, Attributes, Context, Error, FileKind, Handle, Result, SetAttributes, SetTime, Timestamp};

use crate::attributes::{check_regular, from_statx, kind, stat_fd};
use crate::failure::failed;
use crate::host::HostFs;
use crate::node::HostNode;
use crate::proc_path::proc_path;
use crate::sync::check_space;

const NANOSECONDS_PER_SECOND: u32 = 1_000_000_000;

/// What `stx_blocks` counts (statx(2)).
const BLOCK_BYTES: u64 = 512;

impl HostFs {
    pub(crate) fn set(&self, cx: &Context<'_>, handle: &Handle, set: &SetAttributes) -> Result<Attributes> {
        self.check_may_change(cx)?;
        let (node, before) = self.living(cx, handle)?;
        if set.is_empty() {
            return Ok(from_statx(&before, self.volume.device));
        }
        self.check_set(cx, &before, set)?;
        if let Some(size_bytes) = set.size_bytes {
            check_space(cx, (before.stx_blocks * BLOCK_BYTES).saturating_sub(size_bytes))?;
        }
        self.identity.own()?;
        let opened = self.with_room(cx, || self.open_to_set(&node, set))?;
        self.identity.assume(&cx.caller)?;
        let change = AttributeChange { named: node.fd(), opened: opened.as_ref().map(AsFd::as_fd), before: &before };
        if let Err(error) = self.change(cx, handle, &change, set) {
            self.undo(&change, set);
            return Err(error);
        }
        self.settle_attributes(opened)?;
        self.reaffirm(handle, &node)?;
        Ok(from_statx(&stat_fd(node.fd())?, self.volume.device))
    }

    fn change(
        &self,
        cx: &Context<'_>,
        handle: &Handle,
        change: &AttributeChange<'_>,
        set: &SetAttributes,
    ) -> Result<()> {
        if has_explicit_time(set) {
            return apply(change.named, change.opened, set);
        }
        apply(change.named, change.opened, &SetAttributes { accessed: None, modified: None, ..*set })?;
        // The kernel has set this one with the size.
        let modified = set.modified.filter(|_| set.size_bytes.is_none());
        self.touch(cx, handle, change, &SetAttributes { modified, ..*set })
    }

    /// Sets times to now, which is allowed to who may write (RFC 1813 §3.3.2, utimensat(2)). To the kernel, one time
    /// alone is the owner's to set: so the server sets it, or, where it has no rights of its own, both.
    fn touch(
        &self,
        cx: &Context<'_>,
        handle: &Handle,
        change: &AttributeChange<'_>,
        set: &SetAttributes,
    ) -> Result<()> {
        match set_times(change.named, set) {
            Err(Error::NotPermitted) => {}
            done => return done,
        }
        let before = from_statx(change.before, self.volume.device);
        if !self.allowed(cx, handle, &before)?.contains(Access::WRITE) {
            return Err(Error::AccessDenied);
        }
        self.identity.own()?;
        let now = Some(SetTime::Now);
        let both = SetAttributes { accessed: now, modified: now, ..*set };
        set_times(change.named, if self.identity.switches() { set } else { &both })
    }

    /// Gives the file back the owner and the mode that it had. The reason why the change failed says more than whether
    /// this does.
    fn undo(&self, change: &AttributeChange<'_>, set: &SetAttributes) {
        let Ok(now) = stat_fd(change.named) else { return };
        let earlier = earlier(change.before, &now, set);
        if !earlier.is_empty() {
            let _ = self.identity.own().and_then(|()| apply(change.named, None, &earlier));
        }
    }

    /// What the kernel would refuse half-way through is refused here.
    pub(crate) fn check_set(&self, cx: &Context<'_>, now: &Statx, set: &SetAttributes) -> Result<()> {
        if set.size_bytes.is_some() {
            check_regular(kind(now))?;
        }
        for time in [set.accessed, set.modified].into_iter().flatten() {
            check_time(time)?;
        }
        if set.size_bytes.is_some_and(|size| i64::try_from(size).is_err()) {
            return Err(Error::FileTooBig);
        }
        check_ids(set)?;
        // Linux keeps no mode for a symbolic link.
        if set.mode.is_some() && kind(now) == FileKind::Symlink {
            return Err(Error::NotSupported);
        }
        if self.identity.switches() { check_owner(cx, now, set) } else { check_process(now, set) }
    }

    /// Opens a regular file whose size changes, and whatever can be opened when the change has to be synced.
    pub(crate) fn open_to_set(&self, node: &HostNode, set: &SetAttributes) -> Result<Option<OwnedFd>> {
        match node.kind() {
            FileKind::Regular if set.size_bytes.is_some() => self.reopen_as_owner(node, OFlags::WRONLY).map(Some),
            FileKind::Regular if self.syncs() => Ok(node.reopen(OFlags::RDONLY).ok()),
            FileKind::Directory if self.syncs() => node.reopen(OFlags::RDONLY | OFlags::DIRECTORY).map(Some),
            _ => Ok(None),
        }
    }

    /// Symbolic links and special files cannot be opened, so the whole file system is synced for them; that is rare.
    pub(crate) fn settle_attributes(&self, opened: Option<OwnedFd>) -> Result<()> {
        match opened {
            Some(fd) => self.settle(fd),
            None => self.settle_beyond_files(),
        }
    }
}

/// A file that is changed.
struct AttributeChange<'c> {
    named: BorrowedFd<'c>,
    /// The file open for writing, when its size changes.
    opened: Option<BorrowedFd<'c>>,
    before: &'c Statx,
}

/// What has to be set again of a file, which is now like this, so that its owner and mode are as they were before
/// `set`.
fn earlier(before: &Statx, now: &Statx, set: &SetAttributes) -> SetAttributes {
    let uid = set.uid.and(Some(before.stx_uid)).filter(|&uid| uid != now.stx_uid);
    let gid = set.gid.and(Some(before.stx_gid)).filter(|&gid| gid != now.stx_gid);
    let has_changed = uid.is_some() || gid.is_some() || (set.mode.is_some() && now.stx_mode != before.stx_mode);
    let can_have_mode = kind(now) != FileKind::Symlink;
    let mode = (has_changed && can_have_mode).then(|| u32::from(before.stx_mode) & 0o7777);
    SetAttributes { uid, gid, mode, ..SetAttributes::default() }
}

/// Makes the changes. `named` names the file, `opened` is it open for writing when the size changes.
pub(crate) fn apply(named: BorrowedFd<'_>, opened: Option<BorrowedFd<'_>>, set: &SetAttributes) -> Result<()> {
    check_ids(set)?;
    if set.uid.is_some() || set.gid.is_some() {
        let (uid, gid) = (set.uid.map(Uid::from_raw), set.gid.map(Gid::from_raw));
        rustix::fs::chownat(named, c"", uid, gid, AtFlags::EMPTY_PATH).map_err(failed)?;
    }
    if let (Some(size), Some(file)) = (set.size_bytes, opened) {
        rustix::fs::ftruncate(file, size).map_err(failed)?;
    }
    // After the owner and the size, because a change of these takes the set-id bits away.
    if let Some(mode) = set.mode {
        set_mode(named, mode)?;
    }
    // Last, because a change of size is a modification.
    set_times(named, set)
}

/// To the kernel this id means "leave it as it is".
fn check_ids(set: &SetAttributes) -> Result<()> {
    if set.uid == Some(u32::MAX) || set.gid == Some(u32::MAX) { Err(Error::Invalid) } else { Ok(()) }
}

fn set_times(named: BorrowedFd<'_>, set: &SetAttributes) -> Result<()> {
    if set.accessed.is_none() && set.modified.is_none() {
        return Ok(());
    }
    let times = Timestamps { last_access: timespec(set.accessed), last_modification: timespec(set.modified) };
    rustix::fs::utimensat(named, c"", &times, AtFlags::EMPTY_PATH).map_err(failed)
}

/// Sets the permission bits of what a descriptor stands for.
pub(crate) fn set_mode(named: BorrowedFd<'_>, mode: u32) -> Result<()> {
    let mode = Mode::from_raw_mode(mode & 0o7777);
    rustix::fs::chmodat(CWD, proc_path(named).as_c_str(), mode, AtFlags::empty()).map_err(failed)
}

/// Mode, owner, group and explicit times are the owner's to change; a group that the owner gives must be one of their
/// own.
fn check_owner(cx: &Context<'_>, now: &Statx, set: &SetAttributes) -> Result<()> {
    let caller = &cx.caller;
    let gives_owner = set.uid.is_some_and(|uid| uid != now.stx_uid);
    let gives_group = set.gid.is_some_and(|gid| gid != now.stx_gid && !caller.is_in_group(gid));
    let needs_owner = set.mode.is_some() || set.uid.is_some() || set.gid.is_some() || has_explicit_time(set);
    let refused = gives_owner || gives_group || (needs_owner && caller.uid != now.stx_uid);
    if refused && !caller.is_root() { Err(Error::NotPermitted) } else { Ok(()) }
}

/// Without privileges the kernel asks for this process to own the file. Most changes it then refuses before anything
/// has happened, but it truncates what the process may write.
fn check_process(now: &Statx, set: &SetAttributes) -> Result<()> {
    let needs_owner = set.mode.is_some() || set.uid.is_some() || set.gid.is_some() || has_explicit_time(set);
    if set.size_bytes.is_none() || !needs_owner {
        return Ok(());
    }
    let process = rustix::process::geteuid();
    if process.is_root() || process.as_raw() == now.stx_uid { Ok(()) } else { Err(Error::NotPermitted) }
}

fn has_explicit_time(set: &SetAttributes) -> bool {
    [set.accessed, set.modified].iter().any(|time| matches!(time, Some(SetTime::To(_))))
}

fn check_time(time: SetTime) -> Result<()> {
    match time {
        SetTime::To(Timestamp { nanoseconds, .. }) if nanoseconds >= NANOSECONDS_PER_SECOND => Err(Error::Invalid),
        _ => Ok(()),
    }
}

fn timespec(time: Option<SetTime>) -> Timespec {
    match time {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(SetTime::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(SetTime::To(at)) => Timespec { tv_sec: at.seconds, tv_nsec: at.nanoseconds.into() },
    }
}
