//! Directories for applications: files by paths below them, looked up through the caches of the mount.

mod change;
mod entries;
mod open;
mod whole;
mod xattrs;

use std::sync::Arc;

use vfs::{Attributes, FileKind};

use crate::mount::{Source, Walk, by_path};
use crate::{Entry, Follow, Handle, Mount, Reason, Result, Rights, Status};
pub use entries::Entries;

/// A directory of a mount, and the files below it by their paths.
///
/// Paths are bytes with `/` between names, relative to the directory; a leading `/` has no effect. `..` goes up, but
/// not above the mounted directory. Symbolic links on the way are followed, absolute ones if they lead into the export.
/// A link at the end is followed by methods about a file's content or attributes, not by those about its name.
///
/// Names, attributes, rights, link targets and listings come from the cache where [`Caching`](crate::Caching) allows.
/// Changes by this mount are visible at once. Dropping a call's future does not undo it: a change may have been carried
/// out.
///
/// ```
#[doc = include_str!("../../doc/server_starts.txt")]
/// use client::{Detail, Mount, OpenOptions, Options, Version};
///
/// // A server in this process exports `/files`; `address` is its own.
/// let url = format!("nfs://{address}/files").parse()?;
/// let options = Options { version: Version::V4_2, use_privileged_port: false, ..Options::default() };
/// let mount = Mount::connect(&url, &options).await?;
///
/// let root = mount.root_dir();
/// let letters = root.create_dir("letters", 0o755).await?;
/// let file = letters.open("first", &OpenOptions::write().making(0o644)).await?;
/// file.write_at(0, b"Dear reader").await?;
/// file.close().await?;
///
/// root.symlink("letters/first", "newest").await?;
/// assert_eq!(root.metadata("newest").await?.size_bytes, 11);
/// assert_eq!(root.read_link("newest").await?, b"letters/first");
///
/// letters.rename("first", &root, "letter").await?;
/// let mut entries = root.read_dir(Detail::Names);
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next().await? {
///     names.push(String::from_utf8_lossy(&entry.name).into_owned());
/// }
/// names.sort();
/// assert_eq!(names, ["letter", "letters", "newest"]);
/// # mount.unmount().await?;
#[doc = include_str!("../../doc/server_ends.txt")]
/// ```
#[derive(Debug, Clone)]
pub struct Dir {
    mount: Mount,
    handle: Handle,
}

impl Mount {
    /// The directory that is mounted.
    pub fn root_dir(&self) -> Dir {
        self.dir(&self.root().handle)
    }

    /// The directory with that handle. If it is not a directory, the first use fails.
    pub fn dir(&self, handle: &Handle) -> Dir {
        Dir { mount: self.clone(), handle: *handle }
    }

    /// The directory that `path` names, from the root of the export.
    ///
    /// # Errors
    /// As for [`Dir::open_dir`].
    pub async fn open_dir(&self, path: impl AsRef<[u8]>) -> Result<Dir> {
        self.root_dir().open_dir(path).await
    }
}

/// Queries.
impl Dir {
    /// The directory's handle.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The directory's mount.
    pub fn mount(&self) -> &Mount {
        &self.mount
    }

    /// Finds a file.
    ///
    /// # Errors
    /// The error of the server for a component, such as [`Status::NoEntry`]; [`Reason::Path`].
    pub async fn lookup(&self, path: impl AsRef<[u8]>, follow: Follow) -> Result<Entry> {
        let path = path.as_ref();
        by_path!(async { self.walk().run(path, follow).await }).map_err(|error| error.about(path))
    }

    /// The directory that `path` names.
    ///
    /// # Errors
    /// [`Status::NotDirectory`]; as for [`Dir::lookup`].
    pub async fn open_dir(&self, path: impl AsRef<[u8]>) -> Result<Dir> {
        let path = path.as_ref();
        let found = self.lookup(path, Follow::Links).await?;
        match found.attributes.kind {
            FileKind::Directory => Ok(self.mount.dir(&found.handle)),
            _ => Err(self.mount.error("LOOKUP", Reason::Status(Status::NotDirectory)).about(path)),
        }
    }

    /// The attributes of a file; those of this directory for an empty path.
    ///
    /// # Errors
    /// As for [`Dir::lookup`].
    pub async fn metadata(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        Ok(self.lookup(path, Follow::Links).await?.attributes)
    }

    /// The attributes of a file or of a symbolic link itself.
    ///
    /// # Errors
    /// As for [`Dir::lookup`].
    pub async fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<Attributes> {
        Ok(self.lookup(path, Follow::Nothing).await?.attributes)
    }

    /// Which of the `wanted` rights the caller has to a file.
    ///
    /// # Errors
    /// As for [`Dir::lookup`].
    pub async fn access(&self, path: impl AsRef<[u8]>, wanted: Rights) -> Result<Rights> {
        let path = path.as_ref();
        by_path!(async {
            let found = self.walk().run(path, Follow::Links).await?;
            self.mount.rights(&found.handle, wanted).await
        })
        .map_err(|error| error.about(path))
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// [`Status::Invalid`] if it is not a symbolic link; as for [`Dir::lookup`].
    pub async fn read_link(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        let target: Arc<[u8]> = by_path!(async {
            let found = self.walk().run(path, Follow::Nothing).await?;
            match found.attributes.kind {
                FileKind::Symlink => self.mount.link_target(&found.handle).await,
                _ => Err(self.mount.error("READLINK", Reason::Status(Status::Invalid))),
            }
        })
        .map_err(|error| error.about(path))?;
        Ok(target.to_vec())
    }

    fn walk(&self) -> Walk<'_> {
        Walk::new(&self.mount, self.handle, Source::Caches)
    }

    /// The directory of a path's last component, and that component.
    async fn parent(&self, path: &[u8]) -> Result<(Handle, Vec<u8>)> {
        self.walk().run_to_last(path).await
    }
}
