//! Walks paths through directories and symbolic links.

use std::sync::Arc;

use super::Mount;
use crate::{Entry, Handle, PathError, Reason, Result};
use vfs::FileKind;

/// The most symbolic links on the way to one file, as in Linux.
const MAX_LINKS: usize = 40;
/// The most components of one path, including those of followed links.
const MAX_COMPONENTS: usize = 4096;

/// How to treat a symbolic link at the end of a path. Links on the way are always followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Follow the link.
    Links,
    /// Take the link itself.
    Nothing,
}

/// Runs an operation on paths. If the server no longer knows a handle on the way, it runs once more: what the caches
/// had of that handle is dropped by then, and the second walk finds what replaced it.
macro_rules! by_path {
    ($work:expr) => {{
        let mut is_second = false;
        loop {
            match $work.await {
                Err(error) if !is_second && $crate::mount::is_stale(&error) => is_second = true,
                done => break done,
            }
        }
    }};
}
pub(crate) use by_path;

impl Mount {
    /// The file that `path` names, from the root of the export; `..` goes up, but not above the root.
    ///
    /// A symbolic link with an absolute target is followed if the target is in this export.
    ///
    /// # Errors
    /// The error of the server for a component; [`Reason::Path`].
    pub async fn walk(&self, path: &[u8], follow: Follow) -> Result<Entry> {
        let root = self.root().handle;
        let found = by_path!(async { Walk::new(self, root, Source::Server).run(path, follow).await });
        found.map_err(|error| error.about(path))
    }

    /// The directory that `path` is in, and its last component.
    ///
    /// # Errors
    /// As for [`Mount::walk`]; [`Reason::Name`] if the last component is not a valid name.
    pub async fn walk_parent<'p>(&self, path: &'p [u8]) -> Result<(Entry, &'p [u8])> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let path = &path[..end];
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (dir, name) = path.split_at(start);
        vfs::Name::new(name).map_err(|error| self.error("LOOKUP", Reason::Name(error)).about(path))?;
        Ok((self.walk(dir, Follow::Links).await?, name))
    }
}

/// Where a walk looks names up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The server.
    Server,
    /// The caches, as long as they are valid.
    Caches,
}

/// A walk through directories.
pub(crate) struct Walk<'m> {
    mount: &'m Mount,
    source: Source,
    /// The directory where the walk began.
    start: Handle,
    /// The directories walked below `start`, to the current one.
    way: Vec<Entry>,
    /// The components left to walk, last one first.
    rest: Vec<Vec<u8>>,
    links: usize,
    steps: usize,
}

impl<'m> Walk<'m> {
    pub(crate) fn new(mount: &'m Mount, start: Handle, source: Source) -> Walk<'m> {
        Walk { mount, source, start, way: Vec::new(), rest: Vec::new(), links: 0, steps: 0 }
    }

    pub(crate) async fn run(&mut self, path: &[u8], follow: Follow) -> Result<Entry> {
        self.rest = components(path);
        while let Some(name) = self.rest.pop() {
            let is_followed = !self.rest.is_empty() || follow == Follow::Links;
            self.step(&name, is_followed).await?;
        }
        match (self.way.last(), self.source) {
            (Some(entry), _) => Ok(*entry),
            (None, Source::Server) if self.start == self.mount.root().handle => Ok(*self.mount.root()),
            (None, _) => Ok(Entry { handle: self.start, attributes: self.mount.attributes(&self.start).await? }),
        }
    }

    /// Walks to the directory of the last component. Returns both; the component is empty if the path names nothing.
    pub(crate) async fn run_to_last(&mut self, path: &[u8]) -> Result<(Handle, Vec<u8>)> {
        self.rest = components(path);
        self.go_on_to_last().await
    }

    /// Follows a link in the current directory, up to the last component of its target.
    pub(crate) async fn follow_to_last(&mut self, link: &Handle) -> Result<(Handle, Vec<u8>)> {
        let target = self.target(link).await?;
        self.rest.extend(target);
        self.go_on_to_last().await
    }

    async fn go_on_to_last(&mut self) -> Result<(Handle, Vec<u8>)> {
        while let Some(name) = self.rest.pop() {
            if self.rest.is_empty() && name != b".." {
                return Ok((self.here(), name));
            }
            self.step(&name, true).await?;
        }
        Ok((self.here(), Vec::new()))
    }

    async fn step(&mut self, name: &[u8], is_followed: bool) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_COMPONENTS {
            return Err(self.error(PathError::TooLong(MAX_COMPONENTS)));
        }
        if name == b".." {
            return self.go_up().await;
        }
        let found = self.find(name).await?;
        if found.attributes.kind == FileKind::Symlink && is_followed {
            let target = self.target(&found.handle).await?;
            self.rest.extend(target);
        } else {
            self.way.push(found);
        }
        Ok(())
    }

    /// Goes to the parent directory; LOOKUPP finds it above `start`, unless that is the root.
    async fn go_up(&mut self) -> Result<()> {
        if self.way.pop().is_none() && self.start != self.mount.root().handle {
            self.start = self.mount.lookup_parent(&self.start).await?.handle;
        }
        Ok(())
    }

    async fn find(&self, name: &[u8]) -> Result<Entry> {
        let here = self.here();
        match self.source {
            Source::Server => self.mount.lookup(&here, name).await,
            Source::Caches => self.mount.find(&here, name).await,
        }
    }

    async fn read_link(&self, link: &Handle) -> Result<Arc<[u8]>> {
        match self.source {
            Source::Server => self.mount.readlink(link).await.map(Arc::from),
            Source::Caches => self.mount.link_target(link).await,
        }
    }

    fn here(&self) -> Handle {
        self.way.last().map_or(self.start, |entry| entry.handle)
    }

    /// The components of a link's target. An absolute target starts at the server's root, of which only the export is
    /// visible.
    async fn target(&mut self, link: &Handle) -> Result<Vec<Vec<u8>>> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(self.error(PathError::TooManyLinks(MAX_LINKS)));
        }
        let target = self.read_link(link).await?;
        if !target.starts_with(b"/") {
            return Ok(components(&target));
        }
        let (export, mut inside) = (components(self.mount.export()), components(&target));
        let is_inside = export.len() <= inside.len() && inside.ends_with(&export);
        if !is_inside {
            return Err(self.error(PathError::LeavesExport));
        }
        inside.truncate(inside.len() - export.len());
        (self.start, self.way) = (self.mount.root().handle, Vec::new());
        Ok(inside)
    }

    fn error(&self, error: PathError) -> crate::Error {
        self.mount.error("LOOKUP", Reason::Path(error))
    }
}

/// The components of a path, last first, without empty ones and `.`.
fn components(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    parts.rev().map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_stand_last_first_without_empty_ones() {
        assert_eq!(components(b"/a/./b//../c/"), [b"c".to_vec(), b"..".to_vec(), b"b".to_vec(), b"a".to_vec()]);
    }
}
