//! Restores data and attributes from the log.

use vfs::{
    Caller, Context, Error, FileKind, FileSystem, Handle, OpenFile, OpenMode, SetAttributes, SetXattr, Stability,
    XattrMode, XattrName, counted,
};

use super::CX;
use super::plan::{Born, Missing, Planned};
use super::set_aside::{Reason, Unmade};
use super::set_id;
use super::site::Site;
use crate::error::WriteLogError;
use crate::record::{Change, KeptAttributes, NodeKind, Record, RecordTime, Resize, Write, Xattr, read_acls};

/// A user other than root, whose writes clear set-id bits.
const NOBODY: Context<'static> = Context { caller: Caller { uid: 65_534, gid: 65_534, groups: &[] }, ..Context::ROOT };

/// Replays a change of data, or of extended attributes or access lists.
pub(super) fn apply(site: &mut Site<'_>, record: &Record<'_>, end: u64) -> Result<(), WriteLogError> {
    let Some(file) = record.change.file().filter(|file| is_needed(site, file, end)) else { return Ok(()) };
    if site.plan.is_cancelled(end) || is_stored(site, &file, record, end) {
        return Ok(());
    }
    match &record.change {
        Change::Write(change) => {
            evict(site, &file);
            write(site, change, within_size(site, change, record.payload, end))
        }
        Change::Resize(change) => resize(site, change),
        Change::SetXattr(change) => set_xattr(site, change, record.payload),
        Change::RemoveXattr(change) => remove_xattr(site, change),
        Change::SetAcls(file) => set_acls(site, &file.0, record.payload),
        _ => Ok(()),
    }
}

/// Whether storage has the change of a record that ends here, which others may have changed since.
fn is_stored(site: &Site<'_>, file: &Handle, record: &Record<'_>, end: u64) -> bool {
    let Some(planned) = site.plan.files.get(file) else { return false };
    match &record.change {
        // Storage may get data later than attributes.
        Change::Write(_) => false,
        Change::Resize(_) => planned.sizes.is_stored(end),
        _ => planned.has_stored(RecordTime::from_ns(record.at_ns)),
    }
}

/// The data of a write that a later size in storage has not cut off.
pub(super) fn within_size<'d>(site: &Site<'_>, change: &Write, data: &'d [u8], end: u64) -> &'d [u8] {
    let limit_bytes = site.plan.files.get(&change.file.0).map_or(u64::MAX, |planned| planned.sizes.limit_bytes(end));
    let count = limit_bytes.saturating_sub(change.offset_bytes).min(data.len() as u64);
    &data[..count as usize]
}

/// Lets the kernel forget a file's data before the first write. If a disk has failed while the machine runs, pages may
/// be left that ext4 takes for stored: it would write them without noting that their blocks have data now.
fn evict(site: &mut Site<'_>, file: &Handle) {
    let Some(inner) = site.found(file).filter(|_| site.evicted.insert(*file)) else { return };
    // The write reports errors.
    let Ok(open) = site.open(file, &inner, OpenMode::Write) else { return };
    let size_bytes = open.attributes(&CX).map_or(0, |now| now.size_bytes);
    if size_bytes > 0 && !open.evict(0..size_bytes) {
        tracing::debug!(file = site.path_of(file), "the kernel keeps data of a file in memory");
    }
}

/// Gives files the sizes that they were made with, before all other changes of their data.
pub(super) fn give_sizes(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let sized = |(file, planned): (&Handle, &Planned)| match planned.born {
        Some(Born { node: NodeKind::RegularOfSize(size), end, .. })
            if is_needed(site, file, end) && !planned.sizes.is_stored(end) =>
        {
            Some((*file, size))
        }
        _ => None,
    };
    let sized: Vec<_> = site.plan.files.iter().filter_map(sized).collect();
    for (file, size_bytes) in sized {
        change_file(site, of_size(file, size_bytes), |fs, inner| {
            if fs.attributes(&CX, inner)?.size_bytes < size_bytes { set_size(fs, inner, size_bytes) } else { Ok(()) }
        })?;
    }
    Ok(())
}

fn set_size(fs: &dyn FileSystem, inner: &Handle, size_bytes: u64) -> vfs::Result<()> {
    let set = SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() };
    fs.set_attributes(&CX, inner, &set).map(drop)
}

fn of_size(file: Handle, size_bytes: u64) -> Unmade<'static> {
    let change = format!("set the size to {}", counted(size_bytes, "byte", "bytes"));
    Unmade { change, file: Some(file), ..Unmade::default() }
}

/// Whether storage may lack the change of a record that ends here: the file was not flushed since.
pub(super) fn is_needed(site: &Site<'_>, file: &Handle, end: u64) -> bool {
    let synced_before = site.plan.files.get(file).map_or(0, |planned| planned.synced_before);
    end > synced_before || site.made.contains(file)
}

pub(super) fn write(site: &mut Site<'_>, change: &Write, data: &[u8]) -> Result<(), WriteLogError> {
    let unmade = |done: usize| Unmade::write(change.file.0, change.offset_bytes + done as u64, &data[done..]);
    let Some(inner) = target(site, unmade(0))?.filter(|_| !data.is_empty()) else { return Ok(()) };
    let opened = site.open(&change.file.0, &inner, OpenMode::Write);
    let Some(file) = site.unless_refused(unmade(0), opened)? else { return Ok(()) };
    let cx = if change.by_root { &CX } else { &NOBODY };
    let mut done = 0;
    while done < data.len() {
        let written = write_some(&*file, cx, change.offset_bytes + done as u64, &data[done..]);
        let Some(written) = site.unless_refused(unmade(done), written)? else { break };
        done += written;
    }
    site.replayed.data_bytes += done as u64;
    Ok(())
}

fn write_some(file: &dyn OpenFile, cx: &Context<'_>, offset_bytes: u64, data: &[u8]) -> vfs::Result<usize> {
    match file.write_at(cx, offset_bytes, data, Stability::Unstable)?.count {
        0 => Err(Error::NoSpace),
        count => Ok(count),
    }
}

/// Returns the inner handle of a change's file; `None` if there is no file. If it could not be made, the change is set
/// aside.
fn target(site: &mut Site<'_>, unmade: Unmade<'_>) -> Result<Option<Handle>, WriteLogError> {
    let Some(file) = unmade.file else { return Ok(None) };
    if site.unmade.contains(&file) {
        site.set_aside(unmade, &Reason::NoFile)?;
        return Ok(None);
    }
    let found = site.found(&file);
    if found.is_none() && site.plan.files.get(&file).is_some_and(|planned| !planned.is_removed) {
        site.set_aside(unmade, &Reason::Gone)?;
    }
    Ok(found)
}

/// Makes a change of a file, unless the file system refuses it.
fn change_file(
    site: &mut Site<'_>,
    unmade: Unmade<'_>,
    make: impl FnOnce(&dyn FileSystem, &Handle) -> vfs::Result<()>,
) -> Result<(), WriteLogError> {
    let again = Unmade { change: unmade.change.clone(), ..unmade };
    let Some(inner) = target(site, unmade)? else { return Ok(()) };
    let made = make(site.fs(), &inner);
    site.unless_refused(again, made).map(drop)
}

fn resize(site: &mut Site<'_>, change: &Resize) -> Result<(), WriteLogError> {
    let size_bytes = change.size_bytes;
    change_file(site, of_size(change.file.0, size_bytes), |fs, inner| {
        if fs.attributes(&CX, inner)?.size_bytes == size_bytes && size_bytes > 0 {
            // btrfs may have stored this size without the zeros behind it in the last block, where a larger size would
            // show the bytes of before. A change of the size clears them.
            set_size(fs, inner, size_bytes + 1)?;
        }
        set_size(fs, inner, size_bytes)
    })
}

fn set_xattr(site: &mut Site<'_>, change: &Xattr<'_>, value: &[u8]) -> Result<(), WriteLogError> {
    let Ok(name) = XattrName::new(change.name) else { return Ok(()) };
    let unmade = of_xattr("set", change, value);
    change_file(site, unmade, |fs, inner| fs.set_xattr(&CX, inner, &SetXattr { name, value, mode: XattrMode::Either }))
}

fn remove_xattr(site: &mut Site<'_>, change: &Xattr<'_>) -> Result<(), WriteLogError> {
    let Ok(name) = XattrName::new(change.name) else { return Ok(()) };
    change_file(site, of_xattr("remove", change, &[]), |fs, inner| match fs.remove_xattr(&CX, inner, name) {
        Err(Error::NoEntry) => Ok(()),
        removed => removed,
    })
}

fn of_xattr<'u>(what: &str, change: &Xattr<'_>, data: &'u [u8]) -> Unmade<'u> {
    let change_of_it = format!("{what} extended attribute {}", change.name.escape_ascii());
    Unmade { change: change_of_it, file: Some(change.file.0), data, ..Unmade::default() }
}

fn set_acls(site: &mut Site<'_>, file: &Handle, lists: &[u8]) -> Result<(), WriteLogError> {
    let Some(acls) = read_acls(lists) else { return Ok(()) };
    let unmade = Unmade { change: format!("set access lists {acls:?}"), file: Some(*file), ..Unmade::default() };
    change_file(site, unmade, |fs, inner| fs.set_acls(&CX, inner, &acls))
}

/// Sets the final attributes of files.
pub(super) fn finish(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    let missing = |(file, planned): (&Handle, &Planned)| {
        let missing = planned.missing_attributes(site.made.contains(file));
        (!missing.is_empty()).then_some((*file, missing))
    };
    let missing: Vec<_> = site.plan.files.iter().filter_map(missing).collect();
    missing.iter().try_for_each(|(file, missing)| set_attributes(site, file, missing))
}

/// Sets only attributes that differ: setting an owner requires privileges, even if it is correct. The owner and the
/// mode are set together, because a file with another owner must not get set-id bits.
fn set_attributes(site: &mut Site<'_>, file: &Handle, missing: &Missing) -> Result<(), WriteLogError> {
    let Some(inner) = site.found(file) else { return Ok(()) };
    let unmade = |change: String| Unmade { change, file: Some(*file), ..Unmade::default() };
    let now = site.fs().attributes(&CX, &inner);
    let Some(now) = site.unless_refused(unmade("set attributes".to_owned()), now)? else { return Ok(()) };
    let is = KeptAttributes::of(&now);
    let kept = missing.kept.map(|kept| set_id::checked(site, file, &kept)).transpose()?;
    if let Some(kept) = kept {
        let has_other_owner = kept.uid != is.uid || kept.gid != is.gid;
        // A symbolic link has no mode of its own.
        let has_mode = now.kind != FileKind::Symlink;
        let set = SetAttributes {
            mode: Some(kept.mode).filter(|mode| has_mode && (*mode != is.mode || has_other_owner)),
            uid: Some(kept.uid).filter(|uid| *uid != is.uid),
            gid: Some(kept.gid).filter(|gid| *gid != is.gid),
            ..SetAttributes::default()
        };
        let change = format!("set owner {}, group {} and mode {:04o}", kept.uid, kept.gid, kept.mode);
        set_unless_empty(site, &inner, unmade(change), &set)?;
    }
    let accessed = kept.map(|kept| kept.accessed).filter(|accessed| *accessed != is.accessed);
    let modified = missing.modified.and_then(|modified| modified.to_set(site.modified_before(file), is.modified));
    let shown = |time: Option<RecordTime>| time.map_or_else(|| "as it is".to_owned(), |time| time.to_string());
    let change = format!("set the times of access ({}) and of modification ({})", shown(accessed), shown(modified));
    let set = SetAttributes {
        accessed: accessed.map(RecordTime::to_set),
        modified: modified.map(RecordTime::to_set),
        ..SetAttributes::default()
    };
    set_unless_empty(site, &inner, unmade(change), &set)
}

fn set_unless_empty(
    site: &mut Site<'_>,
    inner: &Handle,
    unmade: Unmade<'_>,
    set: &SetAttributes,
) -> Result<(), WriteLogError> {
    if set.is_empty() {
        return Ok(());
    }
    let done = site.fs().set_attributes(&CX, inner, set);
    site.unless_refused(unmade, done).map(drop)
}
