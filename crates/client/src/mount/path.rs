//! Following paths through directories and symbolic links.

use super::Mount;
use crate::{Entry, PathError, Reason, Result};
use vfs::FileKind;

/// The most symbolic links on the way to one file, as Linux has it.
const MAX_LINKS: usize = 40;
/// The most components of one path with all links in it followed.
const MAX_COMPONENTS: usize = 4096;

/// What to do with a symbolic link at the end of a path. Those on the way are always followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Take what it leads to.
    Links,
    /// Take the link itself.
    Nothing,
}

impl Mount {
    /// The file that `path` names, from the root of the export; `..` goes up, and no higher than the root.
    ///
    /// A symbolic link with an absolute target is followed when the target is in this export.
    ///
    /// # Errors
    /// What the server says of a component, and [`Reason::Path`].
    pub async fn walk(&self, path: &[u8], follow: Follow) -> Result<Entry> {
        let mut walk = Walk { mount: self, way: Vec::new(), links: 0, steps: 0 };
        walk.run(path, follow).await.map_err(|error| error.about(path))
    }

    /// The directory that `path` is in, and its last component.
    ///
    /// # Errors
    /// As those of [`Mount::walk`]; [`Reason::Name`] when the last component is no name.
    pub async fn walk_parent<'p>(&self, path: &'p [u8]) -> Result<(Entry, &'p [u8])> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let path = &path[..end];
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (dir, name) = path.split_at(start);
        vfs::Name::new(name).map_err(|error| self.error("LOOKUP", Reason::Name(error)).about(path))?;
        Ok((self.walk(dir, Follow::Links).await?, name))
    }
}

struct Walk<'m> {
    mount: &'m Mount,
    /// The directories from the root's child to where the walk is.
    way: Vec<Entry>,
    links: usize,
    steps: usize,
}

impl Walk<'_> {
    async fn run(&mut self, path: &[u8], follow: Follow) -> Result<Entry> {
        // What is still to be walked, last component first.
        let mut rest: Vec<Vec<u8>> = components(path);
        while let Some(name) = rest.pop() {
            self.steps += 1;
            if self.steps > MAX_COMPONENTS {
                return Err(self.error(PathError::TooLong(MAX_COMPONENTS)));
            }
            if name == b".." {
                self.way.pop();
                continue;
            }
            let here = self.here();
            let found = self.mount.lookup(&here.handle, &name).await?;
            let is_followed = !rest.is_empty() || follow == Follow::Links;
            if found.attributes.kind == FileKind::Symlink && is_followed {
                rest.extend(self.target(&found).await?);
            } else {
                self.way.push(found);
            }
        }
        Ok(self.here())
    }

    fn here(&self) -> Entry {
        *self.way.last().unwrap_or(self.mount.root())
    }

    /// The components of a link's target. An absolute one starts at the server's root, of which only the export is here.
    async fn target(&mut self, link: &Entry) -> Result<Vec<Vec<u8>>> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(self.error(PathError::TooManyLinks(MAX_LINKS)));
        }
        let target = self.mount.readlink(&link.handle).await?;
        if !target.starts_with(b"/") {
            return Ok(components(&target));
        }
        let (export, mut inside) = (components(self.mount.export()), components(&target));
        let is_inside = export.len() <= inside.len() && inside.ends_with(&export);
        if !is_inside {
            return Err(self.error(PathError::LeavesExport));
        }
        inside.truncate(inside.len() - export.len());
        self.way.clear();
        Ok(inside)
    }

    fn error(&self, error: PathError) -> crate::Error {
        self.mount.error("LOOKUP", Reason::Path(error))
    }
}

/// The components of a path, last first; empty ones and `.` name nothing.
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
