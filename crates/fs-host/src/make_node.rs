//! Making directories, symbolic links and special files.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, makedev};
use vfs::{Context, Device, Entry, Error, NewNode, Place, Result, SetAttributes, race};

use crate::attributes::stat_fd;
use crate::failure::failed;
use crate::handles::NameAt;
use crate::host::HostFs;
use crate::lookup::open_path;
use crate::node::{CName, reopen};
use crate::set_attributes::apply;
use crate::storage_rules::NewNames;

/// The mode of a directory that is made without one.
const DEFAULT_DIR_MODE: u32 = 0o755;

/// The mode of a special file that is made without one.
const DEFAULT_MODE: u32 = 0o644;

/// The largest numbers of a device that Linux has: 12 and 20 bits. Larger ones would be cut and name another device.
const MAX_MAJOR: u32 = 0xfff;
const MAX_MINOR: u32 = 0xf_ffff;

/// The set-id bits, which making a directory does not set.
const SET_ID_BITS: u32 = 0o6000;

impl HostFs {
    pub(crate) fn make(
        &self,
        cx: &Context<'_>,
        place: Place<'_>,
        new: NewNode<'_>,
        set: &SetAttributes,
    ) -> Result<Entry> {
        let node = self.dir_to_change(cx, &place.dir)?;
        let name = CName::new(place.name);
        let site = NameAt { dir: &place.dir, node: &node, name: name.as_c_str() };
        race::until_won(|| {
            self.identity.assume(&cx.caller)?;
            make_at(site, new, set)?;
            let made = race::unless_removed(self.with_room(cx, || self.furnish_node(site, new, set)));
            if made.is_err() {
                let flags = if new == NewNode::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
                // The reason why it failed says more than whether it could be taken back.
                let _ = rustix::fs::unlinkat(node.fd(), site.name, flags);
            }
            made
        })
    }

    fn furnish_node(&self, site: NameAt<'_>, new: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        let fd = open_path(site.node.fd(), site.name)?;
        let inherited = u32::from(stat_fd(fd.as_fd())?.stx_mode);
        let rest = after_make(new, set, inherited);
        apply(fd.as_fd(), None, &rest)?;
        self.settle_node(site, fd.as_fd(), new, &rest)?;
        let entry = self.identify(site, &fd)?;
        self.settle_handles()?;
        Ok(entry)
    }

    /// Brings something new, of which `rest` was set, and its name to storage.
    fn settle_node(&self, site: NameAt<'_>, fd: BorrowedFd<'_>, new: NewNode<'_>, rest: &SetAttributes) -> Result<()> {
        if new == NewNode::Directory {
            // As the server's own user: the new mode may keep the caller out.
            self.identity.own()?;
            if self.syncs() {
                let made = reopen(fd, OFlags::RDONLY | OFlags::DIRECTORY)?;
                return self.settle_new(made.as_fd(), site.node, rest.is_empty());
            }
        } else if !rest.is_empty() || self.volume.rules.new_names == NewNames::Each {
            // A special file must not be opened and a link cannot be: nothing smaller than the file system can be
            // synced.
            self.settle_beyond_files()?;
        }
        self.settle_dir(site.node)
    }
}

fn make_at(site: NameAt<'_>, new: NewNode<'_>, set: &SetAttributes) -> Result<()> {
    let mode = |default| Mode::from_raw_mode(set.mode.unwrap_or(default) & 0o7777);
    let special = |kind, device: Device| {
        let device = makedev(device.major, device.minor);
        rustix::fs::mknodat(site.node.fd(), site.name, kind, mode(DEFAULT_MODE), device)
    };
    if let NewNode::BlockDevice(device) | NewNode::CharDevice(device) = new
        && (device.major > MAX_MAJOR || device.minor > MAX_MINOR)
    {
        return Err(Error::Invalid);
    }
    match new {
        NewNode::Directory => rustix::fs::mkdirat(site.node.fd(), site.name, mode(DEFAULT_DIR_MODE)),
        NewNode::Symlink([]) => return Err(Error::Invalid),
        NewNode::Symlink(target) => rustix::fs::symlinkat(target, site.node.fd(), site.name),
        NewNode::BlockDevice(device) => special(FileType::BlockDevice, device),
        NewNode::CharDevice(device) => special(FileType::CharacterDevice, device),
        NewNode::Fifo => special(FileType::Fifo, Device::default()),
        NewNode::Socket => special(FileType::Socket, Device::default()),
    }
    .map_err(failed)
}

/// What is left to set. The mode is there from the start, but for set-id bits of a directory and those that a change of
/// owner takes; the group bit that a directory inherited stays. A link has no mode.
fn after_make(new: NewNode<'_>, set: &SetAttributes, inherited: u32) -> SetAttributes {
    let changes_owner = set.uid.is_some() || set.gid.is_some();
    let mode = set.mode.filter(|mode| mode & SET_ID_BITS != 0);
    let mode = match new {
        NewNode::Directory => mode.map(|mode| mode | (inherited & 0o2000)),
        NewNode::Symlink(_) => None,
        _ => mode.filter(|_| changes_owner),
    };
    SetAttributes { mode, size_bytes: None, ..*set }
}
