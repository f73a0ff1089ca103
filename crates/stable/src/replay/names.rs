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
    refused: Vec<RefusedName>,
}

/// A name that files do not get or lose: they stay aside.
struct RefusedName {
    name: OuterName,
    files: Vec<Handle>,
    reason: Reason,
}

/// A file under a temporary name.
struct Spare {
    at: OuterName,
    /// Its earlier name, if this replay moved it.
    was: Option<OuterName>,
}

impl PendingNames {
    fn refuse(&mut self, name: OuterName, files: Vec<Handle>, reason: Reason) {
        self.refused.push(RefusedName { name, files, reason });
    }

    /// The files that stay aside.
    fn displaced(&self) -> HashSet<Handle> {
        self.refused.iter().flat_map(|refused| &refused.files).copied().collect()
    }
}

pub(super) fn put_right(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let mut work = PendingNames::default();
    site.find_files()?;
    take_up_temporaries(site, &mut work)?;
    take_up_by_number(site)?;
    survey(site, &mut work)?;
    let nameless: Vec<_> = work.displaced().into_iter().chain(work.empty.keys().copied()).collect();
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
                work.refuse(outer_name, vec![file], Reason::OthersChange);
            }
            continue;
        }
        if let Some(other) = has.filter(|has| planned != Some(*has)) {
            let aside = (outer_name.0, site.temporary(ASIDE));
            if let Err(error) = site.rename(&outer_name, &aside)? {
                // Whichever file should have the name: neither may be removed.
                work.refuse(outer_name, [Some(other), planned].into_iter().flatten().collect(), Reason::Refused(error));
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
            work.refuse(outer_name, vec![file], Reason::NoFile);
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
                work.refuse(outer_name, vec![file], Reason::OthersChange);
                continue;
            }
        };
        match given {
            Ok(()) => site.replayed.names += 1,
            Err(error) => work.refuse(outer_name, vec![file], Reason::Refused(error)),
        }
    }
    Ok(())
}

/// Removes files that lost their names, and directories once they are empty. A directory with files of other programs
/// gets its name back. Files whose names were refused are kept.
fn remove_spare(site: &mut Site<'_>, work: PendingNames) -> Result<(), WriteLogError> {
    let displaced = work.displaced();
    let (displaced, spare): (Vec<_>, Vec<_>) = work.spare.into_iter().partition(|(file, _)| displaced.contains(file));
    let mut left: Vec<Spare> = spare.into_iter().flat_map(|(_, spares)| spares).collect();
    loop {
        let before = left.len();
        let mut still = Vec::new();
        for spare in left {
            if !remove(site, &spare)? {
                still.push(spare);
            }
        }
        if still.is_empty() || still.len() == before {
            put_back(site, &still)?;
            break;
        }
        left = still;
    }
    let mut kept = HashMap::new();
    for (file, spares) in displaced {
        let paths = spares.iter().map(|spare| keep_aside(site, spare)).collect::<Result<Vec<_>, _>>()?;
        kept.insert(file, paths.join(" and "));
    }
    work.refused.iter().try_for_each(|refused| set_aside(site, refused, &kept))
}

/// Sets aside that files get or lose a name. They are not removed.
fn set_aside(
    site: &mut Site<'_>,
    RefusedName { name, files, reason }: &RefusedName,
    kept: &HashMap<Handle, String>,
) -> Result<(), WriteLogError> {
    for file in files {
        let is_new = site.plan.names.get(name) == Some(&Some(*file));
        let change = if is_new { "give the file this name" } else { "take the name from the file" }.to_owned();
        let kept_as = kept.get(file).map(String::as_str);
        site.set_aside(Unmade { change, name: Some(name), kept_as, ..Unmade::default() }, reason)?;
    }
    Ok(())
}

/// Gives a file that cannot have its name one that no replay takes for its own, and returns where it is.
fn keep_aside(site: &mut Site<'_>, spare: &Spare) -> Result<String, WriteLogError> {
    let name = (spare.at.0, site.temporary(KEPT));
    let is_kept = site.rename(&spare.at, &name)?.is_ok();
    Ok(site.path_of_name(if is_kept { &name } else { &spare.at }))
}

fn put_back(site: &mut Site<'_>, left: &[Spare]) -> Result<(), WriteLogError> {
    for spare in left {
        let is_back = match &spare.was {
            Some(was) if site.look_up(was)?.is_none() => site.rename(&spare.at, was)?.is_ok(),
            _ => false,
        };
        let kept_as = if is_back { None } else { Some(keep_aside(site, spare)?) };
        let change = "remove a directory with files of other programs".to_owned();
        let name = spare.was.as_ref().unwrap_or(&spare.at);
        let unmade = Unmade { change, name: Some(name), kept_as: kept_as.as_deref(), ..Unmade::default() };
        site.set_aside(unmade, &Reason::OthersChange)?;
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
