//! Creates files of every kind and hard links.

use std::sync::Arc;

use vfs::{
    Attributes, Caller, CreateMode, Device, Entry, Error, FileKind, Name, NewNode, Result, SetAttributes, Timestamp,
};

use crate::acls::ChildAccess;
use crate::directory::Directory;
use crate::node::{Content, MemNode, NodeIdentity, NodeState};
use crate::pages::Pages;
use crate::set::{self, SET_GID};
use crate::xattrs::Xattrs;

/// The longest target of a symbolic link, in bytes: Linux's PATH_MAX less its NUL.
pub(crate) const MAX_TARGET_BYTES: usize = 4095;

/// The maximum number of names of a file.
pub(crate) const MAX_LINKS: u32 = 65_000;

/// A file to be created.
struct Birth {
    kind: FileKind,
    device: Device,
    content: Content,
    /// The default mode.
    mode: u32,
    verifier: Option<[u8; 8]>,
}

/// The name, owner and attributes of a file to be created.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) caller: &'a Caller<'a>,
    pub(crate) set: &'a SetAttributes,
}

impl Birth {
    fn new(kind: FileKind, content: Content, mode: u32) -> Birth {
        Birth { kind, device: Device::default(), content, mode, verifier: None }
    }

    fn regular(mode: CreateMode, set: &SetAttributes) -> Result<Birth> {
        let verifier = match mode {
            CreateMode::Exclusive(verifier) => Some(verifier),
            CreateMode::Unchecked | CreateMode::Guarded => None,
        };
        let pages = Pages::of_size(set.size_bytes.unwrap_or(0))?;
        Ok(Birth { verifier, ..Birth::new(FileKind::Regular, Content::Regular(pages), 0o644) })
    }

    fn of(node: NewNode<'_>) -> Result<Birth> {
        let special = |kind| Birth::new(kind, Content::Special, 0o644);
        Ok(match node {
            NewNode::Directory => Birth::new(FileKind::Directory, Content::Directory(Directory::default()), 0o755),
            NewNode::Symlink(target) => Birth::new(FileKind::Symlink, symlink(target)?, 0o777),
            NewNode::BlockDevice(device) => Birth { device, ..special(FileKind::BlockDevice) },
            NewNode::CharDevice(device) => Birth { device, ..special(FileKind::CharDevice) },
            NewNode::Fifo => special(FileKind::Fifo),
            NewNode::Socket => special(FileKind::Socket),
        })
    }
}

impl Birth {
    /// The initial attributes. In a directory with the set-group-id bit, files get its group, and directories the bit.
    /// The directory's default list has already been applied to the mode and the lists.
    fn into_state(self, dir: &NodeState, wish: Wish<'_>, now: Timestamp, access: ChildAccess) -> NodeState {
        let (Wish { caller, set, .. }, ChildAccess { mode, lists }) = (wish, access);
        let inherits = dir.mode & SET_GID != 0;
        let gid = set.gid.unwrap_or(if inherits { dir.gid } else { caller.gid });
        let is_directory = self.kind == FileKind::Directory;
        let inherited_bits = if is_directory && inherits { SET_GID } else { 0 };
        let mut state = NodeState {
            mode: set::allowed_mode(mode, gid, caller) | inherited_bits,
            uid: set.uid.unwrap_or(caller.uid),
            gid,
            links: if is_directory { 2 } else { 1 },
            accessed: now,
            modified: now,
            changed: now,
            change: 1,
            verifier: self.verifier,
            content: self.content,
            xattrs: Xattrs::default(),
            lists,
        };
        state.set_times(set, now);
        state
    }
}

fn symlink(target: &[u8]) -> Result<Content> {
    match target.len() {
        0 => Err(Error::Invalid),
        1..=MAX_TARGET_BYTES => Ok(Content::Symlink(Box::from(target))),
        _ => Err(Error::NameTooLong),
    }
}

impl MemNode {
    /// Creates a regular file in this directory, or opens an existing one as `mode` says.
    pub(crate) fn create(&self, wish: Wish<'_>, mode: CreateMode) -> Result<Entry> {
        let mut state = self.write();
        let existing = state.live_directory()?.get(wish.name.as_bytes()).cloned();
        let Some(existing) = existing else {
            let child = self.bear(&mut state, Birth::regular(mode, wish.set)?, wish)?;
            return Ok(self.volume().entry(&child));
        };
        drop(state);
        existing.be_created_again(wish, mode)?;
        Ok(self.volume().entry(&existing))
    }

    /// Handles the creation of this file, which exists already.
    fn be_created_again(&self, wish: Wish<'_>, mode: CreateMode) -> Result<()> {
        match mode {
            CreateMode::Guarded => Err(Error::Exists),
            CreateMode::Exclusive(verifier) if self.read().verifier == Some(verifier) => Ok(()),
            CreateMode::Exclusive(_) => Err(Error::Exists),
            CreateMode::Unchecked if self.is_directory() => Err(Error::IsDirectory),
            CreateMode::Unchecked if self.kind() != FileKind::Regular => Err(Error::WrongKind),
            CreateMode::Unchecked => {
                let size = SetAttributes { size_bytes: wish.set.size_bytes, ..SetAttributes::default() };
                self.set(wish.caller, &size).map(drop)
            }
        }
    }

    /// Creates any file other than a regular one in this directory.
    pub(crate) fn make(&self, wish: Wish<'_>, node: NewNode<'_>) -> Result<Entry> {
        if wish.set.size_bytes.is_some() {
            return Err(Error::Invalid);
        }
        let birth = Birth::of(node)?;
        let mut state = self.write();
        if state.live_directory()?.get(wish.name.as_bytes()).is_some() {
            return Err(Error::Exists);
        }
        let child = self.bear(&mut state, birth, wish)?;
        Ok(self.volume().entry(&child))
    }

    /// Adds the hard link `name` to `node` in this directory.
    pub(crate) fn link(&self, node: &Arc<MemNode>, name: Name<'_>) -> Result<Attributes> {
        let now = self.volume().now();
        let mut state = self.write();
        let directory = state.live_directory()?;
        if node.is_directory() {
            return Err(Error::IsDirectory);
        }
        if directory.get(name.as_bytes()).is_some() {
            return Err(Error::Exists);
        }
        let attributes = node.gain_name()?;
        directory.insert(name.as_bytes(), Arc::clone(node));
        state.modify(now);
        Ok(attributes)
    }

    fn gain_name(&self) -> Result<Attributes> {
        let mut state = self.write();
        match state.links {
            0 => Err(Error::Stale),
            MAX_LINKS.. => Err(Error::TooManyLinks),
            _ => {
                self.volume().files().take(1)?;
                state.links += 1;
                state.touch(self.volume().now());
                Ok(self.attributes_of(&state))
            }
        }
    }

    /// Creates a node and adds its name to this directory, whose lock the caller holds. The name must be free.
    fn bear(&self, dir: &mut NodeState, birth: Birth, wish: Wish<'_>) -> Result<Arc<MemNode>> {
        let volume = self.volume();
        let access = dir.lists.of_child(birth.kind, wish.set.mode.unwrap_or(birth.mode));
        let bytes = birth.content.used_bytes() + access.lists.used_bytes();
        volume.files().take(1)?;
        volume.bytes().take(bytes).inspect_err(|_| volume.files().give_back(1))?;
        let now = volume.now();
        let identity = NodeIdentity { id: volume.new_id(), kind: birth.kind, device: birth.device, created: now };
        let state = birth.into_state(dir, wish, now, access);
        let node = Arc::new(MemNode::new(identity, self.id(), self.shared_volume(), state));
        volume.table().insert(&node);
        dir.live_directory()?.insert(wish.name.as_bytes(), Arc::clone(&node));
        dir.links += u32::from(node.is_directory());
        dir.modify(now);
        Ok(node)
    }
}
