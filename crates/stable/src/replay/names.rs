//! Restores names from the log.
//!
//! 1. Files with wrong names are moved aside, each within its directory.
//! 2. Every name gets its file, directories before their contents.
//! 3. The remaining files aside have lost their names, and are removed.

use std::collections::{HashMap, HashSet};

use vfs::{Entry, Error, FileKind, Handle, quoted};

use super::CX;
use super::lost;
use super::plan::OuterName;
use super::set_aside::{Reason, Unmade};
use super::site::Site;
use crate::error::WriteLogError;

/// The prefixes of temporary names: of moved files and of recreated ones.
const ASIDE: &str = ".wharf-replay-old-";
pub(super) const NEW: &str = ".wharf-replay-new-";

/// The prefix of names of files that cannot have their own.
const KEPT: &str = ".wharf-set-aside-";

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
    let nameless: Vec<_> = work.empty.keys().chain(&work.displaced).copied().collect();
    lost::make_again(site, &nameless, |file, outer_name| {
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
    let (mut adopted, mut found) = (Vec::new(), Vec::new());
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
            found.push((file, *attributes));
        }
    }
    found.into_iter().for_each(|(file, attributes)| site.note_before(file, attributes));
    if adopted.is_empty() { Ok(()) } else { site.adopt(&adopted) }
}

/// Compares names with the plan, and moves files with wrong names aside.
fn survey(site: &mut Site<'_>, work: &mut PendingNames) -> Result<(), WriteLogError> {
    let planned: Vec<_> = site.plan.names.iter().map(|(outer_name, file)| (outer_name.clone(), *file)).collect();
    for (outer_name, planned) in planned {
        let entry = site.look_up(&outer_name)?;
        let has = entry.as_ref().and_then(|entry| site.known(entry));
        let has = has.filter(|file| site.plan.may_be_named(&outer_name, file));
        if entry.is_some() && has.is_none() {
            // Another program has changed this name since. A client may have changed the file that has it now.
            if let Some(file) = planned {
                refuse(site, work, (file, &outer_name), &Reason::OthersChange)?;
            }
            continue;
        }
        if let Some(other) = has.filter(|has| planned != Some(*has)) {
            let aside = (outer_name.0, site.temporary(ASIDE));
            if let Err(error) = site.rename(&outer_name, &aside)? {
                // Whichever file should have the name: neither may be removed.
                for file in [Some(other), planned].into_iter().flatten() {
                    refuse(site, work, (file, &outer_name), &Reason::Refused(&error))?;
                }
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
        if site.found(&outer_name.0).is_none() || site.unmade.contains(&file) {
            refuse(site, work, (file, &outer_name), &Reason::NoFile)?;
            continue;
        }
        let given = match (work.spare.get_mut(&file).and_then(Vec::pop), site.found(&file)) {
            (Some(spare), _) => {
                let renamed = site.rename(&spare.at, &outer_name)?;
                if renamed.is_err() {
                    work.spare.entry(file).or_default().push(spare);
                }
                renamed
            }
            (None, Some(inner)) if site.kind(&inner) != Some(FileKind::Directory) => {
                let linked = site.fs().link(&CX, &inner, site.place(&outer_name)?).map(drop);
                site.tried(&format!("link {}", outer_name.1.escape_ascii()), linked)?
            }
            // It is elsewhere.
            _ => {
                refuse(site, work, (file, &outer_name), &Reason::OthersChange)?;
                continue;
            }
        };
        match given {
            Ok(()) => site.replayed.names += 1,
            Err(error) => refuse(site, work, (file, &outer_name), &Reason::Refused(&error))?,
        }
    }
    Ok(())
}

/// Sets aside that a file gets or loses a name. The file is not removed.
fn refuse(
    site: &mut Site<'_>,
    work: &mut PendingNames,
    (file, name): (Handle, &OuterName),
    reason: &Reason<'_>,
) -> Result<(), WriteLogError> {
    work.displaced.insert(file);
    let change = if site.plan.names.get(name) == Some(&Some(file)) {
        "give the file this name"
    } else {
        "take the name from the file"
    };
    site.set_aside(Unmade { change: change.to_owned(), name: Some(name), ..Unmade::default() }, reason)
}

/// Removes files that lost their names, and directories once they are empty. A directory with files of other programs
/// gets its name back.
fn remove_spare(site: &mut Site<'_>, work: PendingNames) -> Result<(), WriteLogError> {
    let (displaced, spare): (Vec<_>, Vec<_>) =
        work.spare.into_iter().partition(|(file, _)| work.displaced.contains(file));
    let of_file = |(file, spares): (Handle, Vec<Spare>)| spares.into_iter().map(move |spare| (file, spare));
    let mut left: Vec<(Handle, Spare)> = spare.into_iter().flat_map(of_file).collect();
    loop {
        let before = left.len();
        let mut still = Vec::new();
        for (file, spare) in left {
            if !remove(site, &spare)? {
                still.push((file, spare));
            }
        }
        if still.is_empty() || still.len() == before {
            put_back(site, &still)?;
            break;
        }
        left = still;
    }
    displaced.into_iter().flat_map(of_file).try_for_each(|(file, spare)| keep_aside(site, &file, &spare))
}

/// Gives a file that cannot have its name one that no replay takes for its own.
fn keep_aside(site: &mut Site<'_>, file: &Handle, spare: &Spare) -> Result<(), WriteLogError> {
    let name = (spare.at.0, site.temporary(KEPT));
    let is_kept = site.rename(&spare.at, &name)?.is_ok();
    tracing::warn!(
        export = %quoted(&site.export.name), file = site.path_of_name(if is_kept { &name } else { &spare.at }),
        name = spare.was.as_ref().map_or_else(|| site.path_of(file), |was| site.path_of_name(was)),
        "a file that cannot have its name is kept under another one; move it to where it belongs"
    );
    Ok(())
}

fn put_back(site: &mut Site<'_>, left: &[(Handle, Spare)]) -> Result<(), WriteLogError> {
    for (file, spare) in left {
        let change = "remove a directory with files of other programs".to_owned();
        let name = spare.was.as_ref().unwrap_or(&spare.at);
        site.set_aside(Unmade { change, name: Some(name), ..Unmade::default() }, &Reason::OthersChange)?;
        let is_back = match &spare.was {
            Some(was) if site.look_up(was)?.is_none() => site.rename(&spare.at, was)?.is_ok(),
            _ => false,
        };
        if !is_back {
            keep_aside(site, file, spare)?;
        }
    }
    Ok(())
}

/// Removes a file that has lost this name; `false` for a directory that is not empty. A file that cannot be removed
/// gets its earlier name back.
fn remove(site: &mut Site<'_>, spare: &Spare) -> Result<bool, WriteLogError> {
    let Some(entry) = site.look_up(&spare.at)? else { return Ok(true) };
    let place = site.place(&spare.at)?;
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
        failed => {
            let name = spare.was.as_ref().unwrap_or(&spare.at);
            let unmade = Unmade { change: "remove the file".to_owned(), name: Some(name), ..Unmade::default() };
            site.unless_refused(unmade, failed)?;
            if name != &spare.at && site.look_up(name)?.is_none() {
                site.rename(&spare.at, name)?.ok();
            }
            Ok(true)
        }
    }
}
