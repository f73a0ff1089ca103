//! Opening files by their paths.

use proto::nfs4;
use vfs::{CreateMode, FileKind};

use super::Dir;
use crate::mount::by_path;
use crate::{Error, File, Handle, Mount, OpenOptions, Reason, Result, Status};

impl Dir {
    /// Opens a regular file, and makes it if the options say so. Follows a symbolic link at the end, unless the file
    /// must be new.
    ///
    /// The open sees what others wrote before they closed the file, unless
    /// [`Caching::close_to_open`](crate::Caching::close_to_open) is off.
    ///
    /// # Errors
    /// The error of the server; [`Status::ShareDenied`] if another open excludes this one.
    pub async fn open(&self, path: impl AsRef<[u8]>, options: &OpenOptions) -> Result<File> {
        let path = path.as_ref();
        by_path!(self.open_below(path, options)).map_err(|error| error.about(path))
    }

    /// The walk limits how many links are followed.
    async fn open_below(&self, path: &[u8], options: &OpenOptions) -> Result<File> {
        let mut walk = self.walk();
        let (mut dir, mut name) = walk.run_to_last(path).await?;
        loop {
            match open_name(&self.mount, &dir, &name, options).await? {
                Opened::File(file) => return Ok(file),
                Opened::Link(link) => (dir, name) = walk.follow_to_last(&link).await?,
            }
        }
    }
}

enum Opened {
    File(File),
    Link(Handle),
}

async fn open_name(mount: &Mount, dir: &Handle, name: &[u8], options: &OpenOptions) -> Result<Opened> {
    let must_be_new = matches!(options.create, Some((CreateMode::Guarded | CreateMode::Exclusive(_), _)));
    if mount.v4().is_err() && !must_be_new {
        return open_without_state(mount, dir, name, options).await;
    }
    match mount.open(dir, name, options).await {
        Err(error) if is_symlink(&error) && !must_be_new => Ok(Opened::Link(mount.find(dir, name).await?.handle)),
        other => other.map(Opened::File),
    }
}

/// Opens a file in a version without open state.
async fn open_without_state(mount: &Mount, dir: &Handle, name: &[u8], options: &OpenOptions) -> Result<Opened> {
    let is_made = options.create.is_some();
    let found = match mount.options().caching.close_to_open && !is_made {
        true => mount.lookup(dir, name).await,
        false => mount.find(dir, name).await,
    };
    let found = match found {
        Err(error) if is_made && error.status() == Some(Status::NoEntry) => None,
        other => Some(other?),
    };
    match found.map(|entry| (entry.attributes.kind, entry)) {
        Some((FileKind::Symlink, link)) => Ok(Opened::Link(link.handle)),
        Some((FileKind::Directory, _)) => Err(mount.error("OPEN", Reason::Status(Status::IsDirectory))),
        Some((_, file)) if !is_made => mount.use_found(file, options).await.map(Opened::File),
        _ => mount.open(dir, name, options).await.map(Opened::File),
    }
}

fn is_symlink(error: &Error) -> bool {
    error.status() == Some(Status::V4(nfs4::Status::Symlink))
}
