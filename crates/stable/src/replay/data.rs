//! Restores data and attributes from the log.

use vfs::{
    Caller, Context, Error, FileKind, FileSystem, Handle, OpenFile, SetAttributes, SetXattr, Stability, XattrMode,
    XattrName,
};

use super::CX;
use super::plan::Planned;
use super::set_aside::{Reason, Unmade};
use super::site::Site;
use crate::error::WriteLogError;
use crate::record::{Change, KeptAttributes, Record, Resize, Write, Xattr, read_acls};

/// A user other than root, whose writes clear set-id bits.
const NOBODY: Context<'static> = Context { caller: Caller { uid: 65_534, gid: 65_534, groups: &[] }, ..Context::ROOT };

/// Replays a change of data, or of extended attributes or access lists.
pub(super) fn apply(site: &mut Site<'_>, record: &Record<'_>, end: u64) -> Result<(), WriteLogError> {
    match &record.change {
        Change::Write(change) if is_needed(site, &change.file.0, end) => write(site, change, record.payload),
        Change::Resize(change) if is_needed(site, &change.file.0, end) && !site.plan.is_cancelled(end) => {
            resize(site, change)
        }
        Change::SetXattr(change) => set_xattr(site, change, record.payload),
        Change::RemoveXattr(change) => remove_xattr(site, change),
        Change::SetAcls(file) => set_acls(site, &file.0, record.payload),
        _ => Ok(()),
    }
}

/// Whether storage may lack data of a record that ends here.
fn is_needed(site: &Site<'_>, file: &Handle, end: u64) -> bool {
    let synced_before = site.plan.files.get(file).map_or(0, |planned| planned.synced_before);
    end > synced_before || site.made.contains(file)
}

fn write(site: &mut Site<'_>, change: &Write, data: &[u8]) -> Result<(), WriteLogError> {
    let unmade = |done: usize| Unmade {
        change: format!("write {} bytes at offset {}", data.len() - done, change.offset_bytes + done as u64),
        file: Some(change.file.0),
        data: &data[done..],
        ..Unmade::default()
    };
    let Some(inner) = target(site, unmade(0))? else { return Ok(()) };
    let opened = site.open(&change.file.0, &inner);
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
    Ok(site.found(&file))
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
    let unmade = Unmade {
        change: format!("set the size to {size_bytes} bytes"),
        file: Some(change.file.0),
        ..Unmade::default()
    };
    change_file(site, unmade, |fs, inner| {
        let set_size = |size_bytes: u64| {
            let set = SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() };
            fs.set_attributes(&CX, inner, &set).map(drop)
        };
        if fs.attributes(&CX, inner)?.size_bytes == size_bytes && size_bytes > 0 {
            // btrfs may have stored this size without the zeros behind it in the last block, where a larger size would
            // show the bytes of before. A change of the size clears them.
            set_size(size_bytes + 1)?;
        }
        set_size(size_bytes)
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
        planned.missing_attributes(site.made.contains(file)).map(|kept| (*file, *kept))
    };
    let missing: Vec<_> = site.plan.files.iter().filter_map(missing).collect();
    missing.iter().try_for_each(|(file, kept)| set_attributes(site, file, kept))
}

/// Sets only attributes that differ: setting an owner requires privileges, even if it is correct. The owner and the
/// mode are set together, because a file with another owner must not get set-id bits.
fn set_attributes(site: &mut Site<'_>, file: &Handle, kept: &KeptAttributes) -> Result<(), WriteLogError> {
    let Some(inner) = site.found(file) else { return Ok(()) };
    let unmade = |change: String| Unmade { change, file: Some(*file), ..Unmade::default() };
    let now = site.fs().attributes(&CX, &inner);
    let Some(now) = site.unless_refused(unmade("set attributes".to_owned()), now)? else { return Ok(()) };
    let is = KeptAttributes::of(&now);
    let has_other_owner = kept.uid != is.uid || kept.gid != is.gid;
    // A symbolic link has no mode of its own.
    let has_mode = now.kind != FileKind::Symlink;
    let permissions = SetAttributes {
        mode: Some(kept.mode).filter(|mode| has_mode && (*mode != is.mode || has_other_owner)),
        uid: Some(kept.uid).filter(|uid| *uid != is.uid),
        gid: Some(kept.gid).filter(|gid| *gid != is.gid),
        ..SetAttributes::default()
    };
    let times = SetAttributes {
        accessed: Some(kept.accessed.to_set()).filter(|_| kept.accessed != is.accessed),
        modified: Some(kept.modified.to_set()).filter(|_| kept.modified != is.modified),
        ..SetAttributes::default()
    };
    let permissions_are = format!("set owner {}, group {} and mode {:04o}", kept.uid, kept.gid, kept.mode);
    let times_are = format!("set the times of access, {}, and of modification, {}", kept.accessed, kept.modified);
    for (set, change) in
        [(permissions, permissions_are), (times, times_are)].into_iter().filter(|(set, _)| !set.is_empty())
    {
        let done = site.fs().set_attributes(&CX, &inner, &set);
        site.unless_refused(unmade(change), done)?;
    }
    Ok(())
}
