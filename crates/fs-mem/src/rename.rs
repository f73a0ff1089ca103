//! Moving names.

use std::sync::{Arc, RwLockWriteGuard};

use vfs::{Error, Name, Result, Timestamp};

use crate::node::{MemNode, NodeState};
use crate::volume::MemVolume;

/// A name in a locked directory.
#[derive(Clone, Copy)]
pub(crate) struct LockedName<'a> {
    pub(crate) dir: &'a MemNode,
    pub(crate) name: Name<'a>,
}

/// Renames `from` to `to` atomically.
///
/// # Errors
/// [`Error::Invalid`] for a directory into itself or below; [`Error::NotDirectory`], [`Error::IsDirectory`],
/// [`Error::NotEmpty`] when the existing file cannot be replaced.
pub(crate) fn rename(volume: &MemVolume, from: LockedName<'_>, to: LockedName<'_>) -> Result<()> {
    if !from.dir.is_directory() || !to.dir.is_directory() {
        return Err(Error::NotDirectory);
    }
    let replaced = if from.dir.id() == to.dir.id() {
        Locked { from: from.dir.write(), to: None }.move_name(from, to, &Lineages::default())
    } else {
        rename_across(volume, from, to)
    };
    // Frees the replaced file without holding a lock.
    replaced.map(drop)
}

fn rename_across(volume: &MemVolume, from: LockedName<'_>, to: LockedName<'_>) -> Result<Option<Arc<MemNode>>> {
    let _still = volume.hold_renames();
    let lineages = Lineages { from: lineage(volume, from.dir)?, to: lineage(volume, to.dir)? };
    lock_both(from.dir, to.dir, &lineages).move_name(from, to, &lineages)
}

/// The numbers of a directory and of all its ancestors.
fn lineage(volume: &MemVolume, dir: &MemNode) -> Result<Vec<u64>> {
    let (mut id, mut parent) = (dir.id(), dir.parent());
    let mut lineage = vec![id];
    while parent != id {
        lineage.push(parent);
        id = parent;
        parent = volume.table().get(id).ok_or(Error::Stale)?.parent();
    }
    Ok(lineage)
}

/// The directories of a rename and their ancestors; empty if both directories are the same.
#[derive(Default)]
struct Lineages {
    from: Vec<u64>,
    to: Vec<u64>,
}

/// The locks of the two directories of a rename, or of the only one.
struct Locked<'a> {
    from: RwLockWriteGuard<'a, NodeState>,
    to: Option<RwLockWriteGuard<'a, NodeState>>,
}

/// Locks the ancestor first.
fn lock_both<'a>(from: &'a MemNode, to: &'a MemNode, lineages: &Lineages) -> Locked<'a> {
    if lineages.from.contains(&to.id()) {
        let upper = to.write();
        Locked { from: from.write(), to: Some(upper) }
    } else {
        let upper = from.write();
        Locked { from: upper, to: Some(to.write()) }
    }
}

impl Locked<'_> {
    fn to(&mut self) -> &mut NodeState {
        self.to.as_mut().unwrap_or(&mut self.from)
    }

    /// Moves the name and returns the file that it replaced.
    fn move_name(
        mut self,
        from: LockedName<'_>,
        to: LockedName<'_>,
        lineages: &Lineages,
    ) -> Result<Option<Arc<MemNode>>> {
        let moved = self.from.live_directory()?.get(from.name.as_bytes()).cloned().ok_or(Error::NoEntry)?;
        let victim = self.to().live_directory()?.get(to.name.as_bytes()).cloned();
        if lineages.to.contains(&moved.id()) {
            return Err(Error::Invalid);
        }
        let now = from.dir.volume().now();
        if let Some(victim) = &victim {
            if victim.id() == moved.id() {
                return Ok(None);
            }
            make_way(victim, &moved, lineages, now)?;
        }
        self.from.live_directory()?.remove(from.name.as_bytes());
        let replaced = self.to().live_directory()?.insert(to.name.as_bytes(), Arc::clone(&moved));
        self.count_links(&moved, victim.is_some());
        self.from.modify(now);
        if let Some(to) = &mut self.to {
            to.modify(now);
        }
        moved.write().touch(now);
        if moved.is_directory() {
            moved.set_parent(to.dir.id());
        }
        Ok(replaced)
    }

    /// Updates the link counts of the directories for a moved and a replaced `..`.
    fn count_links(&mut self, moved: &MemNode, replaces: bool) {
        if moved.is_directory() {
            self.from.links -= 1;
            self.to().links += 1;
            self.to().links -= u32::from(replaces);
        }
    }
}

/// Removes the name of `victim`, if `moved` may replace it.
fn make_way(victim: &MemNode, moved: &MemNode, lineages: &Lineages, now: Timestamp) -> Result<()> {
    match (victim.is_directory(), moved.is_directory()) {
        (true, false) => Err(Error::IsDirectory),
        (false, true) => Err(Error::NotDirectory),
        // An ancestor of the directory of `moved` is not empty, and must not be locked after it.
        _ if lineages.from.contains(&victim.id()) => Err(Error::NotEmpty),
        _ => victim.lose_name(now),
    }
}
