//! Setting attributes.

use vfs::{Attributes, Caller, Error, FileKind, Result, SetAttributes, SetTime, Timestamp};

use crate::node::{Content, MODE_BITS, MemNode, NodeState};
use crate::space::Supply;

/// The set-id bits.
const SET_UID: u32 = 0o4000;
pub(crate) const SET_GID: u32 = 0o2000;
const GROUP_EXECUTE: u32 = 0o010;

impl MemNode {
    /// Sets all of the attributes in `set` or none.
    ///
    /// # Errors
    /// [`Error::IsDirectory`] or [`Error::WrongKind`] for the size of a file other than a regular one,
    /// [`Error::FileTooBig`].
    pub(crate) fn set(&self, caller: &Caller<'_>, set: &SetAttributes) -> Result<Attributes> {
        let mut state = self.write();
        if !set.is_empty() {
            let now = self.volume().now();
            if let Some(size_bytes) = set.size_bytes {
                state.set_size(size_bytes, self.volume().bytes())?;
                state.modified = now;
            }
            state.set_owner_and_mode(caller, set, self.kind());
            state.set_times(set, now);
            state.touch(now);
        }
        Ok(self.attributes_of(&state))
    }
}

impl NodeState {
    fn set_size(&mut self, size_bytes: u64, supply: &Supply) -> Result<()> {
        match &mut self.content {
            Content::Regular(pages) => pages.set_size(size_bytes, supply),
            Content::Directory(_) => Err(Error::IsDirectory),
            Content::Symlink(_) | Content::Special => Err(Error::WrongKind),
        }
    }

    fn set_owner_and_mode(&mut self, caller: &Caller<'_>, set: &SetAttributes, kind: FileKind) {
        self.uid = set.uid.unwrap_or(self.uid);
        self.gid = set.gid.unwrap_or(self.gid);
        if set.uid.is_some() || set.gid.is_some() || set.size_bytes.is_some() {
            self.drop_set_ids(caller, kind);
        }
        // The mode of a symbolic link has no meaning and is ignored.
        if let Some(mode) = set.mode.filter(|_| kind != FileKind::Symlink) {
            self.mode = allowed_mode(mode, self.gid, caller);
            self.lists.set_mode(self.mode);
        }
    }

    /// Clears the set-id bits as after a change by a user other than root (POSIX.1-2017, `chown`, `write`). A
    /// set-group-id bit without the group's execute bit has another meaning (a directory's group, mandatory locks), and
    /// stays.
    pub(crate) fn drop_set_ids(&mut self, caller: &Caller<'_>, kind: FileKind) {
        if caller.is_root() || kind == FileKind::Directory {
            return;
        }
        self.mode &= !SET_UID;
        if self.mode & GROUP_EXECUTE != 0 {
            self.mode &= !SET_GID;
        }
    }

    pub(crate) fn set_times(&mut self, set: &SetAttributes, now: Timestamp) {
        let time_of = |time: SetTime| match time {
            SetTime::Now => now,
            SetTime::To(time) => time,
        };
        self.accessed = set.accessed.map_or(self.accessed, time_of);
        self.modified = set.modified.map_or(self.modified, time_of);
    }
}

/// Returns `mode` without the set-group-id bit if the caller is not in that group (POSIX.1-2017, `chmod`).
pub(crate) fn allowed_mode(mode: u32, gid: u32, caller: &Caller<'_>) -> u32 {
    let may_lend_group = caller.is_root() || caller.is_in_group(gid);
    mode & if may_lend_group { MODE_BITS } else { MODE_BITS & !SET_GID }
}
