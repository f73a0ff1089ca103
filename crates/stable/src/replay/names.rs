//! Restores names from the log.
//!
//! 1. Files with wrong names are moved aside, each within its directory.
//! 2. Every name gets its file, directories before their contents.
//! 3. The remaining files aside have lost their names, and are removed.

use std::collections::{HashMap, HashSet};

use vfs::{Entry, Error, FileKind, Handle};

use super::CX;
use super::lost;
use super::plan::OuterName;
use super::site::Site;
use crate::error::WriteLogError;

/// The prefixes of temporary names: of moved files and of recreated ones.
const ASIDE: &str = ".wharf-replay-old-";
pub(super) const NEW: &str = ".wharf-replay-new-";

/// Pending work on names.
#[derive(Default)]
struct PendingNames {
    /// Places of files that must move.
    spare: HashMap<Handle, Vec<Spare>>,
    /// Names that have no file yet.
    empty: HashMap<Handle, Vec<OuterName>>,
    /// Files whose name another file has taken: they stay aside.
    displaced: HashSet<Handle>,
}

/// A file under a temporary name.
struct Spare {
    at: OuterName,
    /// Its earlier name, if this replay moved it.
    was: Option<OuterName>,
}

pub(super) fn put_right(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let mut work = PendingNames::default();
    site.find_files()?;
    take_up_temporaries(site, &mut work)?;
    take_up_by_number(site)?;
    survey(site, &mut work)?;
    lost::make_again(site, &work.empty.keys().copied().collect::<Vec<_>>(), |file, outer_name| {
        work.spare.entry(file).or_default().push(Spare { at: outer_name, was: None });
    })?;
    while let Some(file) = work.empty.keys().next().copied() {
        give_names(site, &mut work, file)?;
    }
    remove_spare(site, work)
}

/// Adopts the temporary names of an interrupted replay. Removes recreated files whose handles were not stored.
fn take_up_temporaries(site: &mut Site<'_>, work: &mut PendingNames) -> Result<(), WriteLogError> {
    let dirs: HashSet<Handle> = site.plan.names.keys().map(|(dir, _)| *dir).collect();
    for dir in dirs {
        let Some(inner) = site.found(&dir) else { continue };
        for (name, entry) in site.entries(&inner, is_temporary)? {
            match site.known(&entry) {
                Some(file) if !is_unkept(site, &name, &entry) => {
                    work.spare.entry(file).or_default().push(Spare { at: (dir, name), was: None });
                }
                _ if name.starts_with(NEW.as_bytes()) => {
                    lost::remove_tree(site, &inner, &name, &entry)?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(ASIDE.as_bytes()) || name.starts_with(NEW.as_bytes())
}

/// Whether a replay was interrupted before it stored the handle of this recreated file, which may have the handle of
/// another lost file.
fn is_unkept(site: &Site<'_>, name: &[u8], entry: &Entry) -> bool {
    name.starts_with(NEW.as_bytes()) && !site.export.aliases.all().iter().any(|(_, inner)| *inner == entry.handle)
}

/// Finds a file whose handle was lost by its number and time of birth.
fn take_up_by_number(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let mut adopted = Vec::new();
    let lost = |file: &Handle| site.found(file).is_none();
    for (outer_name, _) in site.plan.names.iter().filter(|(_, file)| file.as_ref().is_some_and(lost)) {
        let Some(file) = site.plan.names[outer_name] else { continue };
        let (Some(entry), Some(born)) = (site.look_up(outer_name)?, site.plan.files[&file].born.as_ref()) else {
            continue;
        };
        let attributes = &entry.attributes;
        if site.known(&entry).is_none()
            && (attributes.fileid, attributes.kind) == (born.fileid, born.node.kind())
            && attributes.created.is_some_and(|created| born.at == created.into())
        {
            adopted.push((file, entry.handle));
        }
    }
    if adopted.is_empty() { Ok(()) } else { site.adopt(&adopted) }
}

/// Compares names with the plan, and moves files with wrong names aside.
fn survey(site: &mut Site<'_>, work: &mut PendingNames) -> Result<(), WriteLogError> {
    let planned: Vec<_> = site.plan.names.iter().map(|(outer_name, file)| (outer_name.clone(), *file)).collect();
    for (outer_name, planned) in planned {
        let entry = site.look_up(&outer_name)?;
        let has = entry.as_ref().and_then(|entry| site.known(entry));
        if entry.is_some() && has.is_none() {
            // Another program has changed this name since.
            if let Some(file) = planned {
                site.replayed.conflicts += 1;
                work.displaced.insert(file);
            }
            continue;
        }
        if let Some(other) = has.filter(|has| planned != Some(*has)) {
            let aside = (outer_name.0, site.temporary(ASIDE));
            if !site.rename(&outer_name, &aside)? {
                site.replayed.conflicts += 1;
                continue;
            }
            work.spare.entry(other).or_default().push(Spare { at: aside, was: Some(outer_name.clone()) });
            site.replayed.names += 1;
        }
        if let Some(file) = planned.filter(|_| has != planned) {
            work.empty.entry(file).or_default().push(outer_name);
        }
    }
    Ok(())
}

/// Gives a file its names, after the names of their directories.
fn give_names(site: &mut Site<'_>, work: &mut PendingNames, file: Handle) -> Result<(), WriteLogError> {
    for outer_name in work.empty.remove(&file).unwrap_or_default() {
        if work.empty.contains_key(&outer_name.0) {
            give_names(site, work, outer_name.0)?;
        }
        if site.found(&outer_name.0).is_none() {
            // The directory could not be restored.
            site.replayed.conflicts += 1;
            work.displaced.insert(file);
            continue;
        }
        match (work.spare.get_mut(&file).and_then(Vec::pop), site.found(&file)) {
            (Some(spare), _) => match site.rename(&spare.at, &outer_name)? {
                true => {}
                false => {
                    site.replayed.conflicts += 1;
                    work.displaced.insert(file);
                    work.spare.entry(file).or_default().push(spare);
                }
            },
            (None, Some(inner)) if site.kind(&inner) != Some(FileKind::Directory) => {
                let linked = site.fs().link(&CX, &inner, site.place(&outer_name)?);
                linked.map_err(|source| site.error(&format!("link {}", outer_name.1.escape_ascii()), source))?;
            }
            // It is elsewhere: another program has moved it.
            _ => {
                site.replayed.conflicts += 1;
                continue;
            }
        }
        site.replayed.names += 1;
    }
    Ok(())
}

/// Removes files that lost their names, and directories once they are empty. A directory with files of other programs
/// gets its name back.
fn remove_spare(site: &mut Site<'_>, mut work: PendingNames) -> Result<(), WriteLogError> {
    let displaced = std::mem::take(&mut work.displaced);
    let mut left: Vec<Spare> =
        work.spare.into_iter().filter(|(file, _)| !displaced.contains(file)).flat_map(|(_, spares)| spares).collect();
    loop {
        let before = left.len();
        let mut still = Vec::new();
        for spare in left {
            if !remove(site, &spare.at)? {
                still.push(spare);
            }
        }
        if still.is_empty() || still.len() == before {
            return put_back(site, &still);
        }
        left = still;
    }
}

fn put_back(site: &mut Site<'_>, left: &[Spare]) -> Result<(), WriteLogError> {
    for Spare { at, was } in left {
        site.replayed.conflicts += 1;
        if let Some(was) = was
            && site.look_up(was)?.is_none()
        {
            site.rename(at, was)?;
        }
    }
    Ok(())
}

/// Removes a name; `false` for a directory that is not empty.
fn remove(site: &mut Site<'_>, outer_name: &OuterName) -> Result<bool, WriteLogError> {
    let Some(entry) = site.look_up(outer_name)? else { return Ok(true) };
    let place = site.place(outer_name)?;
    let removed = if entry.attributes.kind == FileKind::Directory {
        site.fs().remove_dir(&CX, place)
    } else {
        site.fs().remove(&CX, place)
    };
    match removed {
        Ok(()) | Err(Error::NoEntry) => {
            // This may have been its last name.
            if site.fs().attributes(&CX, &entry.handle).is_err() {
                site.forget(&entry.handle);
            }
            Ok(true)
        }
        Err(Error::NotEmpty) => Ok(false),
        Err(source) => Err(site.error("remove a file that has lost its name", source)),
    }
}
