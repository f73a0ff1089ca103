//! Taking names away.

use std::sync::Arc;

use vfs::{Error, Name, Result, Timestamp};

use crate::node::{Content, MemNode};

impl MemNode {
    /// Removes a name of a file other than a directory.
    pub(crate) fn remove(&self, name: Name<'_>) -> Result<()> {
        self.unlink(name, |child| if child.is_directory() { Err(Error::IsDirectory) } else { Ok(()) }).map(drop)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: Name<'_>) -> Result<()> {
        self.unlink(name, |child| if child.is_directory() { Ok(()) } else { Err(Error::NotDirectory) }).map(drop)
    }

    /// Removes a name whose node `check` accepts. Returns the node, so that the caller frees it without this
    /// directory's lock.
    fn unlink(&self, name: Name<'_>, check: impl Fn(&MemNode) -> Result<()>) -> Result<Arc<MemNode>> {
        let now = self.volume().now();
        let mut state = self.write();
        let directory = state.live_directory()?;
        let child = directory.get(name.as_bytes()).ok_or(Error::NoEntry)?;
        check(child)?;
        child.lose_name(now)?;
        let child = directory.remove(name.as_bytes()).ok_or(Error::NoEntry)?;
        state.links -= u32::from(child.is_directory());
        state.modify(now);
        Ok(child)
    }

    /// Decrements the number of names; a directory has only one, and must be empty.
    pub(crate) fn lose_name(&self, now: Timestamp) -> Result<()> {
        let mut state = self.write();
        match &state.content {
            Content::Directory(directory) if !directory.is_empty() => return Err(Error::NotEmpty),
            Content::Directory(_) => state.links = 0,
            _ => state.links -= 1,
        }
        if state.links > 0 {
            self.volume().files().give_back(1);
        }
        state.touch(now);
        Ok(())
    }
}
