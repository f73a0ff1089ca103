//! Recreates lost files.

use vfs::{CreateMode, Entry, FileKind, Handle, Name, NewNode, Place, SetAttributes};

use super::CX;
use super::names::NEW;
use super::plan::{Born, OuterName};
use super::set_aside::Unmade;
use super::site::Site;
use crate::aliases;
use crate::error::WriteLogError;
use crate::record::NodeKind;

/// The mode of a recreated file until it has its own: only the superuser can write it.
pub(super) const NEW_MODE: u32 = 0o600;

/// Recreates those of `files` that were lost, under temporary names, and adds them to `made`. Their handles are stored
/// when this returns.
pub(super) fn make_again(
    site: &mut Site<'_>,
    files: &[Handle],
    mut made: impl FnMut(Handle, OuterName),
) -> Result<(), WriteLogError> {
    let spots = site.plan.spots_of();
    let mut new: Vec<(Handle, Handle)> = Vec::new();
    // Each requires its directory: a file that cannot be created yet is retried after others.
    let is_missing = |file: &&Handle| site.found(file).is_none() && !site.unmade.contains(*file);
    let mut left: Vec<Handle> = files.iter().filter(is_missing).copied().collect();
    loop {
        let before = left.len();
        let mut still = Vec::new();
        for file in left {
            let dir_of = |outer_name: &OuterName| {
                site.found(&outer_name.0).or(position(&new, &outer_name.0)).map(|dir| (dir, outer_name.0))
            };
            let dir = spots.get(&file).and_then(|spots| spots.iter().find_map(dir_of));
            let born = site.plan.files.get(&file).and_then(|planned| planned.born.clone());
            match (dir, born) {
                (Some((inner_dir, dir)), Some(born)) => {
                    let name = site.temporary(NEW);
                    let change = format!("make a {}", born.node.name());
                    let unmade = Unmade { change, file: Some(file), data: &born.target, ..Unmade::default() };
                    let inner = make(site, &inner_dir, &name, &born)?;
                    match site.unless_refused(unmade, inner)? {
                        Some(inner) => {
                            new.push((file, inner));
                            made(file, (dir, name));
                        }
                        None => {
                            site.unmade.insert(file);
                        }
                    }
                }
                (None, Some(_)) => still.push(file),
                // The log has no record of its creation: the file system lost a file that it had reported durable. What
                // the log has of it is set aside later.
                (_, None) => {}
            }
        }
        if still.is_empty() || still.len() == before {
            // Their directories could not be made.
            site.unmade.extend(still);
            break;
        }
        left = still;
    }
    site.replayed.made += new.len() as u64;
    site.made.extend(new.iter().map(|(file, _)| *file));
    site.adopt(&new)
}

/// Reserves the handles of created files that no longer exist, so that no later file gets them.
pub(super) fn reserve(site: &Site<'_>) -> Result<(), WriteLogError> {
    let is_gone = |file: &Handle, born: bool| born && site.found(file).is_none();
    let gone = site.plan.files.iter().filter(|(file, planned)| is_gone(file, planned.born.is_some()));
    let gone: Vec<_> = gone.map(|(file, _)| (*file, aliases::none())).collect();
    site.reserve(&gone)
}

fn position(new: &[(Handle, Handle)], file: &Handle) -> Option<Handle> {
    new.iter().find(|(outer, _)| outer == file).map(|(_, inner)| *inner)
}

fn make(site: &Site<'_>, dir: &Handle, name: &[u8], born: &Born) -> Result<vfs::Result<Handle>, WriteLogError> {
    let place = Place { dir: *dir, name: Name::new(name).map_err(|_| WriteLogError::NotAWriteLog)? };
    // Nobody else may use the file before it has its owner and mode.
    let mode = match born.node {
        NodeKind::Symlink => None,
        NodeKind::Directory => Some(0o700),
        _ => Some(NEW_MODE),
    };
    let set = SetAttributes { mode, ..SetAttributes::default() };
    let device = |[major, minor]: [u32; 2]| vfs::Device { major, minor };
    let made = match born.node {
        NodeKind::Regular | NodeKind::RegularOfSize(_) => site.fs().create(&CX, place, CreateMode::Guarded, &set),
        NodeKind::Directory => site.fs().make_node(&CX, place, NewNode::Directory, &set),
        NodeKind::Symlink => site.fs().make_node(&CX, place, NewNode::Symlink(&born.target), &set),
        NodeKind::BlockDevice(numbers) => site.fs().make_node(&CX, place, NewNode::BlockDevice(device(numbers)), &set),
        NodeKind::CharDevice(numbers) => site.fs().make_node(&CX, place, NewNode::CharDevice(device(numbers)), &set),
        NodeKind::Socket => site.fs().make_node(&CX, place, NewNode::Socket, &set),
        NodeKind::Fifo => site.fs().make_node(&CX, place, NewNode::Fifo, &set),
    };
    Ok(made.map(|entry| entry.handle))
}

/// Removes what an interrupted replay was creating: a file, or a directory with other such files.
pub(super) fn remove_tree(site: &mut Site<'_>, dir: &Handle, name: &[u8], entry: &Entry) -> Result<(), WriteLogError> {
    let is_dir = entry.attributes.kind == FileKind::Directory;
    if is_dir {
        for (name, child) in site.entries(&entry.handle, |_| true)? {
            remove_tree(site, &entry.handle, &name, &child)?;
        }
    }
    let place = Place { dir: *dir, name: Name::new(name).map_err(|_| WriteLogError::NotAWriteLog)? };
    let removed = if is_dir { site.fs().remove_dir(&CX, place) } else { site.fs().remove(&CX, place) };
    // It may have the handle of another lost file.
    site.forget(&entry.handle);
    let what = "remove what an interrupted replay has left";
    let change = format!("{what}, {}", name.escape_ascii());
    site.unless_refused(Unmade { change, file: Some(entry.handle), ..Unmade::default() }, removed).map(drop)
}
