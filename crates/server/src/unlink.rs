//! Removes and moves names, with the rules of the sticky bit (all protocol versions).

use vfs::{Access, Attributes, Entry, Error, FileKind, permission};

use crate::fault::Fault;
use crate::name_lock::{NameLockResult, NameOp};
use crate::node::Node;

/// Fails if the sticky bit of `dir` protects `victim` from the caller: with EPERM, as Linux does.
fn require_removable(dir: &Node<'_>, dir_attributes: &Attributes, victim: &Attributes) -> vfs::Result<()> {
    if permission::is_sticky_for(dir_attributes, victim, &dir.context.caller) {
        return Err(Error::NotPermitted);
    }
    Ok(())
}

/// Removes a name from `dir` that is not a directory's.
pub(crate) fn remove(dir: &Node<'_>, dir_attributes: vfs::Result<Attributes>, name: &[u8]) -> Result<(), Fault> {
    let dir_attributes = dir.require_changeable(dir_attributes)?;
    let place = dir.place(name).map_err(dots_are_directories)?;
    let change = NameOp::Remove(place);
    let NameLockResult::Locked(mut lock) = dir.lock_names(&change)? else { return Ok(()) };
    let victim = dir.fs().lookup(&dir.context, place)?;
    require_removable(dir, &dir_attributes, &victim.attributes)?;
    if victim.attributes.kind == FileKind::Directory {
        return Err(Error::IsDirectory.into());
    }
    dir.sibling(victim.handle).require_undelegated()?;
    dir.note_unlink(&mut lock, &change, &victim.handle);
    dir.fs().remove_seen(&lock.context(&dir.context), place, &victim)?;
    dir.forget_if_unlinked(&victim);
    Ok(())
}

/// Removes an empty directory. `.` cannot be removed (RFC 1813 §3.3.13: INVAL), and `..` is never empty.
pub(crate) fn remove_dir(dir: &Node<'_>, dir_attributes: vfs::Result<Attributes>, name: &[u8]) -> Result<(), Fault> {
    match name {
        b"." => return Err(Error::Invalid.into()),
        b".." => return Err(Error::NotEmpty.into()),
        _ => {}
    }
    let dir_attributes = dir.require_changeable(dir_attributes)?;
    let place = dir.place(name)?;
    let change = NameOp::Remove(place);
    let NameLockResult::Locked(mut lock) = dir.lock_names(&change)? else { return Ok(()) };
    let victim = dir.fs().lookup(&dir.context, place)?;
    require_removable(dir, &dir_attributes, &victim.attributes)?;
    dir.note_unlink(&mut lock, &change, &victim.handle);
    Ok(dir.fs().remove_dir(&lock.context(&dir.context), place)?)
}

/// A name in a directory, as a client sends it.
pub(crate) struct NameIn<'n, 'c> {
    pub(crate) dir: &'n Node<'c>,
    /// The attributes of the directory.
    pub(crate) attributes: vfs::Result<Attributes>,
    pub(crate) name: &'n [u8],
}

/// Moves a name, and replaces one that exists.
pub(crate) fn rename(from: NameIn<'_, '_>, to: NameIn<'_, '_>) -> Result<(), Fault> {
    let (from_dir, to_dir) = (from.dir, to.dir);
    if !from_dir.shares_export(to_dir) {
        return Err(Error::CrossDevice.into());
    }
    let from_attributes = from_dir.require_changeable(from.attributes)?;
    let to_attributes = to_dir.require_changeable(to.attributes)?;
    let no_dots = |_| Fault::from(Error::Invalid);
    let from_place = check_name(from_dir, from.name, no_dots)?;
    let to_place = check_name(to_dir, to.name, no_dots)?;
    let change = NameOp::Move(from_place, to_place);
    let NameLockResult::Locked(mut lock) = from_dir.lock_names(&change)? else { return Ok(()) };
    let moved = from_dir.fs().lookup(&from_dir.context, from_place)?;
    require_removable(from_dir, &from_attributes, &moved.attributes)?;
    require_movable(from_dir, to_dir, &moved)?;
    let replaced = to_dir.existing(to_place)?;
    if let Some(replaced) = &replaced {
        require_removable(to_dir, &to_attributes, &replaced.attributes)?;
        to_dir.sibling(replaced.handle).require_undelegated()?;
    }
    from_dir.sibling(moved.handle).require_undelegated()?;
    from_dir.note_unlink(&mut lock, &change, &moved.handle);
    from_dir.fs().rename(&lock.context(&from_dir.context), from_place, to_place)?;
    if let Some(replaced) = replaced.filter(|replaced| replaced.handle != moved.handle) {
        to_dir.forget_if_unlinked(&replaced);
    }
    Ok(())
}

fn check_name<'n>(
    dir: &Node<'_>,
    name: &'n [u8],
    dots: impl FnOnce(vfs::NameError) -> Fault,
) -> Result<vfs::Place<'n>, Fault> {
    match dir.place(name) {
        Err(vfs::NameError::Dots) => Err(dots(vfs::NameError::Dots)),
        result => Ok(result?),
    }
}

/// A directory that gets another parent has its `..` changed, which requires write permission on it (rename(2)).
fn require_movable(from_dir: &Node<'_>, to_dir: &Node<'_>, moved: &Entry) -> vfs::Result<()> {
    if moved.attributes.kind == FileKind::Directory && from_dir.handle != to_dir.handle {
        return from_dir.sibling(moved.handle).require(&moved.attributes, Access::WRITE);
    }
    Ok(())
}

fn dots_are_directories(error: vfs::NameError) -> Fault {
    match error {
        vfs::NameError::Dots => Error::IsDirectory.into(),
        other => other.into(),
    }
}
