//! The operations, each dispatched to the mounted version.

use bytes::Bytes;
use client_calls::{DirPosition, FileChange, Page};
use vfs::{Attributes, SetAttributes, Space, Stability};

use super::Mount;
use crate::cache::NameAt;
use crate::listing::Listing;
use crate::{
    Data, Detail, Entry, FsInfo, Handle, Lie, PathLimits, ReadInto, Reason, Result, Rights, Version, WriteVerifier,
    Written, v2, v3, v4,
};

/// Calls an operation of the mounted version once.
macro_rules! call_once {
    ($mount:expr, $operation:ident($($argument:expr),*)) => {{
        let mount: &Mount = $mount;
        match mount.version() {
            Version::V2 => v2::$operation(mount.connection(), $($argument),*).await,
            Version::V3 => v3::$operation(mount.connection(), $($argument),*).await,
            _ => v4::$operation(mount.v4()?, $($argument),*).await,
        }
    }};
}
pub(super) use call_once;

/// Calls an operation on a file of the mounted version, and repeats it while the server asks to try later.
macro_rules! call {
    ($mount:expr, $operation:ident($file:expr $(, $argument:expr)*)) => {{
        let mount: &Mount = $mount;
        let mut patience = None;
        loop {
            match call_once!(mount, $operation($file $(, $argument)*)) {
                Err(error) => {
                    let patience = patience.get_or_insert_with(|| mount.patience());
                    if !patience.allows(&error) {
                        break Err(mount.drop_stale($file, error));
                    }
                    patience.wait().await;
                }
                done => break done,
            }
        }
    }};
}

/// Operations that change nothing.
impl Mount {
    /// Shows that the server answers (NULL).
    ///
    /// # Errors
    /// A missing reply.
    pub async fn null(&self) -> Result<()> {
        let mut patience = self.patience();
        loop {
            match call_once!(self, null()) {
                Err(error) if patience.allows(&error) => patience.wait().await,
                done => return done,
            }
        }
    }

    /// Finds a name in a directory.
    ///
    /// # Errors
    /// [`Status::NoEntry`](crate::Status::NoEntry); other errors of the server.
    pub async fn lookup(&self, dir: &Handle, name: &[u8]) -> Result<Entry> {
        let (asked, version) = (self.ask(), self.dir_version(dir));
        let found = call!(self, lookup(dir, name)).map_err(|error| error.about(name));
        if let Some(version) = version {
            self.learn_lookup(asked, NameAt { dir, name }, version, &found);
        }
        found.inspect(|entry| self.learn(asked, &entry.handle, &entry.attributes))
    }

    /// Finds the parent directory of `dir`. The server may know one above the mounted directory.
    ///
    /// # Errors
    /// [`Status::NoEntry`](crate::Status::NoEntry) at the server's root in NFSv4; other errors of the server.
    pub async fn lookup_parent(&self, dir: &Handle) -> Result<Entry> {
        let asked = self.ask();
        let found = call!(self, lookupp(dir));
        found.inspect(|entry| self.learn(asked, &entry.handle, &entry.attributes))
    }

    /// The attributes of a file.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn getattr(&self, file: &Handle) -> Result<Attributes> {
        let asked = self.ask();
        let attributes = call!(self, getattr(file))?;
        self.learn(asked, file, &attributes);
        Ok(attributes)
    }

    /// Which of the `wanted` rights the caller has. NFSv2 has no such call; there the permission bits decide.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn access(&self, file: &Handle, wanted: Rights) -> Result<Rights> {
        call!(self, access(file, wanted))
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// The error of the server; [`Reason::Lie`] if the target cannot be a path.
    pub async fn readlink(&self, link: &Handle) -> Result<Vec<u8>> {
        let target = call!(self, readlink(link))?;
        // A system that reads the target up to the NUL would follow another path.
        if target.contains(&0) {
            return Err(self.error("READLINK", Reason::Lie(Lie::BadTarget)));
        }
        Ok(target)
    }

    /// Reads up to `count` bytes, at most [`Sizes::read`](super::Sizes::read), without a copy.
    ///
    /// # Errors
    /// The error of the server; [`Reason::Lie`] for more bytes than requested.
    pub async fn read(&self, file: &Handle, offset: u64, count: u32) -> Result<Data> {
        self.read_and_look(file, offset, count).await.map(|(data, _)| data)
    }

    /// Like [`Mount::read`], with the file's attributes if the reply has them.
    pub(crate) async fn read_and_look(
        &self,
        file: &Handle,
        offset: u64,
        count: u32,
    ) -> Result<(Data, Option<Attributes>)> {
        let count = count.min(self.0.sizes.read);
        call!(self, read(file, offset, count))
    }

    /// Reads into `buffer`, at most [`Sizes::read`](super::Sizes::read) bytes, with one copy. If the future is dropped,
    /// the buffer is unchanged.
    ///
    /// # Errors
    /// As for [`Mount::read`].
    pub async fn read_into(&self, file: &Handle, offset: u64, buffer: &mut [u8]) -> Result<ReadInto> {
        let count = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let data = self.read(file, offset, count).await?;
        let count = data.bytes.len();
        buffer[..count].copy_from_slice(&data.bytes);
        Ok(ReadInto { count, is_eof: data.is_eof })
    }

    /// Lists a directory.
    pub fn read_dir(&self, dir: &Handle, detail: Detail) -> Listing<'_> {
        Listing::new(self, dir, detail)
    }

    pub(crate) async fn readdir(&self, dir: &Handle, from: DirPosition) -> Result<Page> {
        call!(self, readdir(dir, from, self.0.sizes.readdir))
    }

    pub(crate) async fn readdirplus(&self, dir: &Handle, from: DirPosition) -> Result<Page> {
        call!(self, readdirplus(dir, from, self.0.sizes.readdir))
    }

    /// The space of the file system of `file`. NFSv2 does not tell the number of files.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn fsstat(&self, file: &Handle) -> Result<Space> {
        call!(self, fsstat(file))
    }

    /// Properties of the file system and the server. NFSv2 tells only the transfer size.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn fsinfo(&self, file: &Handle) -> Result<FsInfo> {
        call!(self, fsinfo(file))
    }

    /// The limits of names and links.
    ///
    /// # Errors
    /// [`Reason::NotInVersion`] in NFSv2.
    pub async fn pathconf(&self, file: &Handle) -> Result<PathLimits> {
        call!(self, pathconf(file))
    }
}

/// Operations that change files.
impl Mount {
    /// Sets attributes. Returns all attributes afterwards.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn setattr(&self, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let mut change = self.change([file]);
        let attributes = call!(self, setattr(file, set))?;
        change.learn(&Entry { handle: *file, attributes });
        Ok(attributes)
    }

    /// Writes `data`, at most [`Sizes::write`](super::Sizes::write) bytes, at least as safely as `stability`, without a
    /// copy.
    ///
    /// # Errors
    /// [`Reason::TooLarge`]; the error of the server; [`Reason::Lie`] if it claims to have written more than it got.
    pub async fn write(&self, file: &Handle, offset: u64, data: Bytes, stability: Stability) -> Result<Written> {
        let (bytes, max) = (data.len(), self.0.sizes.write as usize);
        if bytes > max {
            return Err(self.error("WRITE", Reason::TooLarge { bytes, max }));
        }
        self.write_and_look(file, offset, data, stability).await.map(|(written, _)| written)
    }

    /// Like [`Mount::write`] without its limit, with the file's attributes as far as the reply has them.
    pub(crate) async fn write_and_look(
        &self,
        file: &Handle,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<(Written, FileChange)> {
        let mut change = self.change([file]);
        let (written, told) = call!(self, write(file, offset, data.clone(), stability))?;
        told.after.iter().for_each(|attributes| change.learn(&Entry { handle: *file, attributes: *attributes }));
        Ok((written, told))
    }

    /// Commits written data to stable storage: `count` bytes, or all to the end if it is 0. NFSv2 writes are always
    /// stable.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn commit(&self, file: &Handle, offset: u64, count: u32) -> Result<WriteVerifier> {
        let asked = self.ask();
        let (verifier, attributes) = call!(self, commit(file, offset, count))?;
        attributes.iter().for_each(|attributes| self.learn(asked, file, attributes));
        Ok(verifier)
    }

    pub(crate) fn check_name(&self, operation: &'static str, name: &[u8]) -> Result<()> {
        match vfs::Name::new(name) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.error(operation, Reason::Name(error)).about(name)),
        }
    }
}
