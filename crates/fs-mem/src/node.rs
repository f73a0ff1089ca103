//! A file of any kind, with its attributes and content under one lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use vfs::{Attributes, Device, Error, FileKind, Result, Timestamp};

use crate::acls::Lists;
use crate::directory::Directory;
use crate::lock;
use crate::options::MemOptions;
use crate::pages::Pages;
use crate::volume::MemVolume;
use crate::xattrs::Xattrs;

/// All bits of a mode that can be set.
pub(crate) const MODE_BITS: u32 = 0o7777;

/// What a file holds.
pub(crate) enum Content {
    Regular(Pages),
    Directory(Directory),
    Symlink(Box<[u8]>),
    /// A device, FIFO or socket: nothing.
    Special,
}

/// The mutable part of a node.
pub(crate) struct NodeState {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The number of names, including a directory's own `.` and its children's `..`. 0: removed.
    pub(crate) links: u32,
    pub(crate) accessed: Timestamp,
    pub(crate) modified: Timestamp,
    pub(crate) changed: Timestamp,
    pub(crate) change: u64,
    /// The verifier of the exclusive create that made this file.
    pub(crate) verifier: Option<[u8; 8]>,
    pub(crate) content: Content,
    pub(crate) xattrs: Xattrs,
    pub(crate) lists: Lists,
}

/// The immutable part of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeIdentity {
    pub(crate) id: u64,
    pub(crate) kind: FileKind,
    pub(crate) device: Device,
    pub(crate) created: Timestamp,
}

/// A file of any kind. It counts as a file of its volume until it is dropped.
pub(crate) struct MemNode {
    identity: NodeIdentity,
    /// The number of the parent; only directories have one. It changes only under the rename lock.
    parent: AtomicU64,
    volume: Arc<MemVolume>,
    state: RwLock<NodeState>,
}

impl MemNode {
    pub(crate) fn new(identity: NodeIdentity, parent: u64, volume: Arc<MemVolume>, state: NodeState) -> MemNode {
        MemNode { identity, parent: AtomicU64::new(parent), volume, state: RwLock::new(state) }
    }

    /// The root of a new file system, which the volume has already counted.
    pub(crate) fn new_root(volume: &Arc<MemVolume>, options: &MemOptions) -> Arc<MemNode> {
        let (id, now) = (volume.new_id(), volume.now());
        let identity = NodeIdentity { id, kind: FileKind::Directory, device: Device::default(), created: now };
        let state = NodeState {
            mode: options.root_mode & MODE_BITS,
            uid: options.root_uid,
            gid: options.root_gid,
            links: 2,
            accessed: now,
            modified: now,
            changed: now,
            change: 1,
            verifier: None,
            content: Content::Directory(Directory::default()),
            xattrs: Xattrs::default(),
            lists: Lists::default(),
        };
        let root = Arc::new(MemNode::new(identity, id, Arc::clone(volume), state));
        volume.table().insert(&root);
        root
    }

    pub(crate) fn id(&self) -> u64 {
        self.identity.id
    }

    pub(crate) fn kind(&self) -> FileKind {
        self.identity.kind
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.identity.kind == FileKind::Directory
    }

    pub(crate) fn volume(&self) -> &MemVolume {
        &self.volume
    }

    pub(crate) fn shared_volume(&self) -> Arc<MemVolume> {
        Arc::clone(&self.volume)
    }

    pub(crate) fn parent(&self) -> u64 {
        self.parent.load(Ordering::Acquire)
    }

    pub(crate) fn set_parent(&self, parent: u64) {
        self.parent.store(parent, Ordering::Release);
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, NodeState> {
        lock::read(&self.state)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, NodeState> {
        lock::write(&self.state)
    }

    pub(crate) fn attributes(&self) -> Attributes {
        self.attributes_of(&self.read())
    }

    /// The attributes; the caller holds the lock.
    pub(crate) fn attributes_of(&self, state: &NodeState) -> Attributes {
        Attributes {
            kind: self.identity.kind,
            mode: state.mode,
            links: state.links,
            uid: state.uid,
            gid: state.gid,
            size_bytes: state.content.size_bytes(),
            used_bytes: state.content.used_bytes(),
            device: self.identity.device,
            fsid: self.volume.instance(),
            fileid: self.identity.id,
            accessed: state.accessed,
            modified: state.modified,
            changed: state.changed,
            created: Some(self.identity.created),
            change: state.change,
        }
    }
}

impl Drop for MemNode {
    fn drop(&mut self) {
        self.volume.table().forget(self.identity.id);
        self.volume.files().give_back(1);
        let state = lock::read(&self.state);
        let bytes = state.content.used_bytes() + state.xattrs.used_bytes() + state.lists.used_bytes();
        self.volume.bytes().give_back(bytes);
    }
}

impl Content {
    fn size_bytes(&self) -> u64 {
        match self {
            Content::Regular(pages) => pages.size_bytes(),
            Content::Directory(directory) => directory.size_bytes(),
            Content::Symlink(target) => target.len() as u64,
            Content::Special => 0,
        }
    }

    /// The bytes that this node uses of the volume.
    pub(crate) fn used_bytes(&self) -> u64 {
        match self {
            Content::Regular(pages) => pages.used_bytes(),
            Content::Symlink(target) => target.len() as u64,
            Content::Directory(_) | Content::Special => 0,
        }
    }
}

impl NodeState {
    /// Notes that attributes changed.
    pub(crate) fn touch(&mut self, now: Timestamp) {
        self.changed = now;
        self.change += 1;
    }

    /// Updates times and change number after a change of data or names.
    pub(crate) fn modify(&mut self, now: Timestamp) {
        self.modified = now;
        self.touch(now);
    }

    /// The names, of a directory.
    pub(crate) fn directory(&self) -> Result<&Directory> {
        match &self.content {
            Content::Directory(directory) => Ok(directory),
            _ => Err(Error::NotDirectory),
        }
    }

    /// The names of a directory that was not removed, so that names can be added.
    pub(crate) fn live_directory(&mut self) -> Result<&mut Directory> {
        match &mut self.content {
            Content::Directory(_) if self.links == 0 => Err(Error::Stale),
            Content::Directory(directory) => Ok(directory),
            _ => Err(Error::NotDirectory),
        }
    }
}
