//! Taking names out of directories, with the rules of the sticky bit (all versions of the protocol).

use vfs::{Access, Attributes, Entry, Error, FileKind, permission};

use crate::fault::Fault;
use crate::node::Node;

/// Refuses unless the caller may take the name of `victim` out of `dir`.
fn require_removable(dir: &Node<'_>, dir_attributes: &Attributes, victim: &Attributes) -> vfs::Result<()> {
    if permission::is_sticky_for(dir_attributes, victim, &dir.context.caller) {
        return Err(Error::AccessDenied);
    }
    Ok(())
}

/// Removes a name that is not a directory's from `dir`, whose attributes are these.
pub(crate) fn remove(dir: &Node<'_>, dir_attributes: vfs::Result<Attributes>, name: &[u8]) -> Result<(), Fault> {
    forgive_absence(dir, remove_now(dir, dir_attributes, name))
}

/// A name that is gone may have been taken away by this very call, before the server was killed.
fn forgive_absence(dir: &Node<'_>, result: Result<(), Fault>) -> Result<(), Fault> {
    match result {
        Err(Fault::File(Error::NoEntry)) if dir.may_have_happened => Ok(()),
        result => result,
    }
}

fn remove_now(dir: &Node<'_>, dir_attributes: vfs::Result<Attributes>, name: &[u8]) -> Result<(), Fault> {
    let dir_attributes = dir.require_changeable(dir_attributes)?;
    let place = dir.place(name).map_err(dots_are_directories)?;
    let victim = dir.fs().lookup(&dir.context, place)?;
    require_removable(dir, &dir_attributes, &victim.attributes)?;
    dir.sibling(victim.handle).require_undelegated()?;
    dir.fs().remove_seen(&dir.context, place, &victim)?;
    dir.forget_if_unlinked(&victim);
    Ok(())
}

/// Removes an empty directory. `.` is no name to remove by (RFC 1813 §3.3.13: INVAL), and `..` is never empty.
pub(crate) fn remove_dir(dir: &Node<'_>, name: &[u8]) -> Result<(), Fault> {
    forgive_absence(dir, remove_dir_now(dir, name))
}

fn remove_dir_now(dir: &Node<'_>, name: &[u8]) -> Result<(), Fault> {
    match name {
        b"." => return Err(Error::Invalid.into()),
        b".." => return Err(Error::NotEmpty.into()),
        _ => {}
    }
    let dir_attributes = dir.require_changeable_dir()?;
    let place = dir.place(name)?;
    let victim = dir.fs().lookup(&dir.context, place)?;
    require_removable(dir, &dir_attributes, &victim.attributes)?;
    Ok(dir.fs().remove_dir(&dir.context, place)?)
}

/// Moves a name, over another one if there is one.
pub(crate) fn rename(from: (&Node<'_>, &[u8]), to: (&Node<'_>, &[u8])) -> Result<(), Fault> {
    forgive_absence(from.0, rename_now(from, to))
}

fn rename_now(from: (&Node<'_>, &[u8]), to: (&Node<'_>, &[u8])) -> Result<(), Fault> {
    let ((from_dir, from_name), (to_dir, to_name)) = (from, to);
    if !from_dir.shares_export(to_dir) {
        return Err(Error::CrossDevice.into());
    }
    let from_attributes = from_dir.require_changeable_dir()?;
    let to_attributes = to_dir.require_changeable_dir()?;
    let no_dots = |_| Fault::from(Error::Invalid);
    let from_place = check_name(from_dir, from_name, no_dots)?;
    let to_place = check_name(to_dir, to_name, no_dots)?;
    let moved = from_dir.fs().lookup(&from_dir.context, from_place)?;
    require_removable(from_dir, &from_attributes, &moved.attributes)?;
    require_movable(from_dir, to_dir, &moved)?;
    let replaced = to_dir.existing(to_place)?;
    if let Some(replaced) = &replaced {
        require_removable(to_dir, &to_attributes, &replaced.attributes)?;
        to_dir.sibling(replaced.handle).require_undelegated()?;
    }
    from_dir.sibling(moved.handle).require_undelegated()?;
    from_dir.fs().rename(&from_dir.context, from_place, to_place)?;
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

/// A directory that gets another parent has its `..` changed, which needs permission to write it (rename(2)).
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
