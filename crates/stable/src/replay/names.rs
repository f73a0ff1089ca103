//! Brings names to what the log says.
//!
//! Files that have names which are not theirs in the end are moved aside, each within its directory; then every name gets its file,
//! directories before what is in them; then what is left aside has lost its name and is removed.

use std::collections::{HashMap, HashSet};

use vfs::{Entry, Error, FileKind, Handle};

use super::CX;
use super::lost;
use super::plan::Spot;
use super::site::Site;
use crate::error::WriteLogError;

/// What names begin with that files have while a replay runs: those that are moved, and those that are made again.
const ASIDE: &str = ".wharf-replay-old-";
pub(super) const NEW: &str = ".wharf-replay-new-";

/// What is to be done with names.
#[derive(Default)]
struct Work {
    /// Where files are that have to go elsewhere.
    spare: HashMap<Handle, Vec<Spare>>,
    /// Names that have no file yet.
    empty: HashMap<Handle, Vec<Spot>>,
    /// Files with a name that somebody else has taken: they stay aside.
    displaced: HashSet<Handle>,
}

/// A file under a temporary name.
struct Spare {
    at: Spot,
    /// The name that it had, if this replay has moved it.
    was: Option<Spot>,
}

pub(super) fn put_right(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let mut work = Work::default();
    site.find_files()?;
    take_up_temporaries(site, &mut work)?;
    take_up_by_number(site)?;
    survey(site, &mut work)?;
    lost::make_again(site, &work.empty.keys().copied().collect::<Vec<_>>(), |file, spot| {
        work.spare.entry(file).or_default().push(Spare { at: spot, was: None });
    })?;
    while let Some(file) = work.empty.keys().next().copied() {
        give_names(site, &mut work, file)?;
    }
    remove_spare(site, work)
}

/// Takes up what an interrupted replay has left under temporary names. Files that it was making, and whose handles were
/// not kept, are removed.
fn take_up_temporaries(site: &mut Site<'_>, work: &mut Work) -> Result<(), WriteLogError> {
    let dirs: HashSet<Handle> = site.plan.names.keys().map(|(dir, _)| *dir).collect();
    for dir in dirs {
        let Some(inner) = site.found(&dir) else { continue };
        for (name, entry) in site.entries(&inner, is_temporary)? {
            match site.known(&entry) {
                Some(file) if !is_unkept(site, &name, &entry) => {
                    work.spare.entry(file).or_default().push(Spare { at: (dir, name), was: None });
                }
                _ if name.starts_with(NEW.as_bytes()) => {
                    lost::remove_tree(site, &inner, (&name, &entry))?;
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

/// Whether a file was made by a replay that was interrupted before its handle was kept: it may have the handle of
/// another file that was lost.
fn is_unkept(site: &Site<'_>, name: &[u8], entry: &Entry) -> bool {
    name.starts_with(NEW.as_bytes()) && !site.export.aliases.all().iter().any(|(_, inner)| *inner == entry.handle)
}

/// Takes a file that has lost its handle, though not itself, by its number and time of birth.
fn take_up_by_number(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let mut adopted = Vec::new();
    let lost = |file: &Handle| site.found(file).is_none();
    for (spot, _) in site.plan.names.iter().filter(|(_, file)| file.as_ref().is_some_and(lost)) {
        let Some(file) = site.plan.names[spot] else { continue };
        let (Some(entry), Some(born)) = (site.look_up(spot)?, site.plan.files[&file].born.as_ref()) else { continue };
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

/// Compares names with the plan, and moves files aside that have names which are not theirs.
fn survey(site: &mut Site<'_>, work: &mut Work) -> Result<(), WriteLogError> {
    let planned: Vec<_> = site.plan.names.iter().map(|(spot, file)| (spot.clone(), *file)).collect();
    for (spot, planned) in planned {
        let entry = site.look_up(&spot)?;
        let has = entry.as_ref().and_then(|entry| site.known(entry));
        if entry.is_some() && has.is_none() {
            // Somebody else has changed this name since.
            if let Some(file) = planned {
                site.replayed.conflicts += 1;
                work.displaced.insert(file);
            }
            continue;
        }
        if let Some(other) = has.filter(|has| planned != Some(*has)) {
            let aside = (spot.0, site.temporary(ASIDE));
            if !site.rename(&spot, &aside)? {
                site.replayed.conflicts += 1;
                continue;
            }
            work.spare.entry(other).or_default().push(Spare { at: aside, was: Some(spot.clone()) });
            site.replayed.names += 1;
        }
        if let Some(file) = planned.filter(|_| has != planned) {
            work.empty.entry(file).or_default().push(spot);
        }
    }
    Ok(())
}

/// Gives a file its names, after the directories that they are in got theirs.
fn give_names(site: &mut Site<'_>, work: &mut Work, file: Handle) -> Result<(), WriteLogError> {
    for spot in work.empty.remove(&file).unwrap_or_default() {
        if work.empty.contains_key(&spot.0) {
            give_names(site, work, spot.0)?;
        }
        if site.found(&spot.0).is_none() {
            // The directory itself could not be had any more.
            site.replayed.conflicts += 1;
            work.displaced.insert(file);
            continue;
        }
        match (work.spare.get_mut(&file).and_then(Vec::pop), site.found(&file)) {
            (Some(spare), _) => match site.rename(&spare.at, &spot)? {
                true => {}
                false => {
                    site.replayed.conflicts += 1;
                    work.displaced.insert(file);
                    work.spare.entry(file).or_default().push(spare);
                }
            },
            (None, Some(inner)) if site.kind(&inner) != Some(FileKind::Directory) => {
                let linked = site.fs().link(&CX, &inner, site.place(&spot)?);
                linked.map_err(|source| site.error(&format!("link {}", spot.1.escape_ascii()), source))?;
            }
            // It is somewhere else: others have moved it.
            _ => {
                site.replayed.conflicts += 1;
                continue;
            }
        }
        site.replayed.names += 1;
    }
    Ok(())
}

/// Removes what has lost its name: files, and directories as soon as they are empty. A directory in which others have put
/// something gets its name back.
fn remove_spare(site: &mut Site<'_>, mut work: Work) -> Result<(), WriteLogError> {
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
fn remove(site: &mut Site<'_>, spot: &Spot) -> Result<bool, WriteLogError> {
    let Some(entry) = site.look_up(spot)? else { return Ok(true) };
    let place = site.place(spot)?;
    let removed = if entry.attributes.kind == FileKind::Directory {
        site.fs().remove_dir(&CX, place)
    } else {
        site.fs().remove(&CX, place)
    };
    match removed {
        Ok(()) | Err(Error::NoEntry) => {
            // It may have had its last name.
            if site.fs().attributes(&CX, &entry.handle).is_err() {
                site.forget(&entry.handle);
            }
            Ok(true)
        }
        Err(Error::NotEmpty) => Ok(false),
        Err(source) => Err(site.error("remove a file that has lost its name", source)),
    }
}
