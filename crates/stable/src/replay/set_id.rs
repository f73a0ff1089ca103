//! Set-id bits that a replay gives a file, and those that it sets aside.
//!
//! The log does not see what local programs write. The kernel clears the bits of a file that another user than root
//! writes; a record from before would give the new content the rights of the file's owner or group. A file system
//! stores a file's attributes as a whole: if storage lacks the bits and has a ctime from after the record, they were
//! cleared since. A ctime cannot be set, unlike a time of modification.

use vfs::{Attributes, FileKind, Handle, quoted};

use super::lost::NEW_MODE;
use super::plan::{Kept, without_set_id};
use super::set_aside::{Reason, Unmade};
use super::site::Site;
use crate::error::WriteLogError;
use crate::record::{KeptAttributes, RecordTime};

/// The attributes to give a file: without set-id bits, which are set aside, if the file may have another user's content
/// since they were recorded.
pub(super) fn checked(site: &mut Site<'_>, file: &Handle, kept: &Kept) -> Result<KeptAttributes, WriteLogError> {
    if !kept.gives_set_id() || site.made.contains(file) {
        return Ok(kept.attributes);
    }
    let before = site.before(file);
    if before.is_some_and(|before| may_have(&before, kept) || is_from_a_replay(site, file, &before)) {
        return Ok(kept.attributes);
    }
    let mode = kept.attributes.mode;
    let unmade = Unmade { change: format!("set mode {mode:04o}"), file: Some(*file), ..Unmade::default() };
    site.set_aside(unmade, &Reason::SetId { command: chmod(site, before, mode) })?;
    Ok(KeptAttributes { mode: without_set_id(mode), ..kept.attributes })
}

/// Whether the content that storage has was there when the bits were set.
fn may_have(before: &Attributes, kept: &Kept) -> bool {
    let KeptAttributes { mode, uid, gid, .. } = kept.attributes;
    let bits = mode & !without_set_id(mode);
    let has_them = before.mode & bits == bits && (before.uid, before.gid) == (uid, gid);
    let is_older = kept.at.is_known() && RecordTime::from(before.changed) < kept.at;
    before.kind != FileKind::Regular || before.size_bytes == 0 || has_them || is_older
}

/// Whether an interrupted replay of this log has made the file, and nobody else could write it since.
fn is_from_a_replay(site: &Site<'_>, file: &Handle, before: &Attributes) -> bool {
    let is_new = site.plan.files.get(file).is_some_and(|planned| planned.born.is_some());
    is_new && site.export.aliases.has(file) && before.mode == NEW_MODE
}

/// The command that sets the mode, whatever names the file has.
fn chmod(site: &Site<'_>, before: Option<Attributes>, mode: u32) -> String {
    let dir = quoted(&site.export.name);
    match before {
        Some(before) => format!("`find {dir} -xdev -inum {} -exec chmod {mode:04o} {{}} +`", before.fileid),
        None => format!("`chmod {mode:04o}` on it"),
    }
}
