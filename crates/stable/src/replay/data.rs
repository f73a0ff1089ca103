//! Restores data and attributes from the log.

use vfs::{Caller, Context, Error, Handle, OpenFile, SetAttributes, SetXattr, Stability, XattrMode, XattrName};

use super::CX;
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

fn write(site: &mut Site<'_>, change: &Write, mut data: &[u8]) -> Result<(), WriteLogError> {
    let Some(file) = site.open(&change.file.0)? else { return Ok(()) };
    let cx = if change.by_root { &CX } else { &NOBODY };
    let mut offset_bytes = change.offset_bytes;
    site.replayed.data_bytes += data.len() as u64;
    while !data.is_empty() {
        let written =
            write_some(&*file, cx, offset_bytes, data).map_err(|source| site.error("write a file", source))?;
        data = &data[written..];
        offset_bytes += written as u64;
    }
    Ok(())
}

fn write_some(file: &dyn OpenFile, cx: &Context<'_>, offset_bytes: u64, data: &[u8]) -> vfs::Result<usize> {
    match file.write_at(cx, offset_bytes, data, Stability::Unstable)?.count {
        0 => Err(Error::NoSpace),
        count => Ok(count),
    }
}

fn resize(site: &mut Site<'_>, change: &Resize) -> Result<(), WriteLogError> {
    let Some(inner) = site.found(&change.file.0) else { return Ok(()) };
    let set_size = |size_bytes: u64| {
        let set = SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() };
        site.fs().set_attributes(&CX, &inner, &set).map_err(|source| site.error("set the size of a file", source))
    };
    let size_bytes = change.size_bytes;
    let now = site.fs().attributes(&CX, &inner).map_err(|source| site.error("look at a file", source))?;
    if now.size_bytes == size_bytes && size_bytes > 0 {
        // btrfs may have stored this size without the zeros behind it in the last block, where a larger size would
        // show the bytes of before. A change of the size clears them.
        set_size(size_bytes + 1)?;
    }
    set_size(size_bytes).map(drop)
}

fn set_xattr(site: &Site<'_>, change: &Xattr<'_>, value: &[u8]) -> Result<(), WriteLogError> {
    let (Some(inner), Ok(name)) = (site.found(&change.file.0), XattrName::new(change.name)) else { return Ok(()) };
    let set = SetXattr { name, value, mode: XattrMode::Either };
    site.fs().set_xattr(&CX, &inner, &set).map_err(|source| site.error("set an extended attribute", source))
}

fn remove_xattr(site: &Site<'_>, change: &Xattr<'_>) -> Result<(), WriteLogError> {
    let (Some(inner), Ok(name)) = (site.found(&change.file.0), XattrName::new(change.name)) else { return Ok(()) };
    match site.fs().remove_xattr(&CX, &inner, name) {
        Ok(()) | Err(Error::NoEntry) => Ok(()),
        Err(source) => Err(site.error("remove an extended attribute", source)),
    }
}

fn set_acls(site: &Site<'_>, file: &Handle, lists: &[u8]) -> Result<(), WriteLogError> {
    let (Some(inner), Some(acls)) = (site.found(file), read_acls(lists)) else { return Ok(()) };
    site.fs().set_acls(&CX, &inner, &acls).map_err(|source| site.error("set an access list", source))
}

/// Sets the final attributes of files.
pub(super) fn finish(site: &mut Site<'_>) -> Result<(), WriteLogError> {
    for (file, planned) in &site.plan.files {
        let missing = planned.missing_attributes(site.made.contains(file));
        if let (Some(inner), Some(kept)) = (site.found(file), missing) {
            set_attributes(site, &inner, kept)?;
        }
    }
    Ok(())
}

/// Sets only attributes that differ: setting an owner requires privileges, even if it is correct.
fn set_attributes(site: &Site<'_>, inner: &Handle, kept: &KeptAttributes) -> Result<(), WriteLogError> {
    let now = site.fs().attributes(&CX, inner).map_err(|source| site.error("look at a file", source))?;
    let is = KeptAttributes::of(&now);
    let set = SetAttributes {
        mode: Some(kept.mode).filter(|mode| *mode != is.mode || kept.uid != is.uid || kept.gid != is.gid),
        uid: Some(kept.uid).filter(|uid| *uid != is.uid),
        gid: Some(kept.gid).filter(|gid| *gid != is.gid),
        size_bytes: None,
        accessed: Some(kept.accessed.to_set()).filter(|_| kept.accessed != is.accessed),
        modified: Some(kept.modified.to_set()).filter(|_| kept.modified != is.modified),
    };
    if set.is_empty() {
        return Ok(());
    }
    site.fs().set_attributes(&CX, inner, &set).map(drop).map_err(|source| site.error("set attributes", source))
}
