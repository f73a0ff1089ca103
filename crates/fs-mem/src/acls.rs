//! The access lists of one file. They are stored only where the permission bits cannot express them.

use vfs::{Access, Acls, Attributes, Caller, Error, FileKind, PosixAcl, Result};

use crate::node::MemNode;
use crate::set;

/// The size of an entry: its tag, its number and its rights.
const ENTRY_BYTES: usize = 12;

/// The mode and lists of a new file.
pub(crate) struct ChildAccess {
    pub(crate) mode: u32,
    pub(crate) lists: Lists,
}

/// The lists of one file. Their owner returns [`Lists::used_bytes`] to the supply that they were taken from.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Its nine permission bits are always those of the file's mode.
    access: Option<PosixAcl>,
    default: Option<PosixAcl>,
}

impl Lists {
    fn new(access: PosixAcl, default: Option<PosixAcl>) -> Lists {
        Lists { access: Some(access).filter(|acl| !acl.is_minimal()), default }
    }

    /// The mode and lists of a new file with `mode` in the directory that has these lists.
    pub(crate) fn of_child(&self, kind: FileKind, mode: u32) -> ChildAccess {
        let Some(default) = self.default.as_ref().filter(|_| kind != FileKind::Symlink) else {
            return ChildAccess { mode, lists: Lists::default() };
        };
        let access = default.inherited(mode);
        let mode = (mode & !0o777) | access.mode();
        let lists = Lists::new(access, (kind == FileKind::Directory).then(|| default.clone()));
        ChildAccess { mode, lists }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        let entries = [&self.access, &self.default].into_iter().flatten().map(|acl| acl.entries().len()).sum::<usize>();
        (entries * ENTRY_BYTES) as u64
    }

    pub(crate) fn are_empty(&self) -> bool {
        self.access.is_none() && self.default.is_none()
    }

    /// Updates the list after a change of the file's mode.
    pub(crate) fn set_mode(&mut self, mode: u32) {
        if let Some(access) = &mut self.access {
            access.set_mode(mode);
        }
    }

    /// The rights of a caller who is neither root nor the owner; `None` when the mode decides.
    pub(crate) fn evaluate(&self, attributes: &Attributes, caller: &Caller<'_>) -> Option<Access> {
        self.access.as_ref().map(|access| access.evaluate(attributes, caller))
    }
}

impl MemNode {
    pub(crate) fn acls(&self) -> Acls {
        let state = self.read();
        let access = state.lists.access.clone().unwrap_or_else(|| PosixAcl::from_mode(state.mode));
        Acls { access, default: state.lists.default.clone() }
    }

    pub(crate) fn set_acls(&self, caller: &Caller<'_>, acls: &Acls) -> Result<()> {
        if self.kind() == FileKind::Symlink {
            return Err(Error::NotSupported);
        }
        if acls.default.is_some() && !self.is_directory() {
            return Err(Error::Invalid);
        }
        let lists = Lists::new(acls.access.clone(), acls.default.clone());
        let mut state = self.write();
        self.volume().bytes().take(lists.used_bytes())?;
        self.volume().bytes().give_back(state.lists.used_bytes());
        self.volume().note_lists(&lists);
        let mode = (state.mode & !0o777) | acls.access.mode();
        state.mode = set::allowed_mode(mode, state.gid, caller);
        state.lists = lists;
        state.touch(self.volume().now());
        Ok(())
    }
}
