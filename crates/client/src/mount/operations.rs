//! The operations, each handed to the version that is mounted.

use bytes::Bytes;
use vfs::{Attributes, CreateMode, SetAttributes, Space, Stability};

use super::Mount;
use crate::cache::Place;
use crate::directory::Listing;
use crate::types::{DirPosition, FileChange, Page};
use crate::{
    Data, Detail, Entry, FsInfo, Handle, Lie, PathLimits, ReadInto, Reason, Result, Rights, SpecialFile, Status,
    Version, WriteVerifier, Written, v2, v3, v4,
};

/// Calls an operation of the mounted version, again while the server asks to try later.
macro_rules! call {
    ($mount:expr, $operation:ident($($argument:expr),*)) => {{
        let mount: &Mount = $mount;
        let mut patience = mount.patience();
        loop {
            let result = match mount.version() {
                Version::V2 => v2::$operation(mount.connection(), $($argument),*).await,
                Version::V3 => v3::$operation(mount.connection(), $($argument),*).await,
                Version::V4(_) => v4::$operation(mount.v4()?, $($argument),*).await,
            };
            match result {
                Err(error) if patience.allows(&error) => patience.wait().await,
                result => break result,
            }
        }
    }};
}

/// Reading and asking.
impl Mount {
    /// Shows that the server is there (NULL).
    ///
    /// # Errors
    /// When there is no reply.
    pub async fn null(&self) -> Result<()> {
        call!(self, null())
    }

    /// Finds a name in a directory.
    ///
    /// # Errors
    /// [`Status::NoEntry`](crate::Status::NoEntry), and whatever else the server says.
    pub async fn lookup(&self, dir: &Handle, name: &[u8]) -> Result<Entry> {
        let (asked, version) = (self.ask(), self.dir_version(dir));
        let found = call!(self, lookup(dir, name)).map_err(|error| error.about(name));
        if let Some(version) = version {
            self.learn_lookup(asked, Place { dir, name }, version, &found);
        }
        found.inspect(|entry| self.learn(asked, &entry.handle, &entry.attributes))
    }

    /// Finds the directory that `dir` is in. The server may know one above what is mounted.
    ///
    /// # Errors
    /// [`Status::NoEntry`](crate::Status::NoEntry) at the top of everything in version 4; what else the server says.
    pub async fn lookup_parent(&self, dir: &Handle) -> Result<Entry> {
        let asked = self.ask();
        let found = call!(self, lookupp(dir));
        found.inspect(|entry| self.learn(asked, &entry.handle, &entry.attributes))
    }

    /// The attributes of a file.
    ///
    /// # Errors
    /// What the server says.
    pub async fn getattr(&self, file: &Handle) -> Result<Attributes> {
        let asked = self.ask();
        let attributes = call!(self, getattr(file)).inspect_err(|error| {
            // Whoever looks up the name next is not to be sent here again.
            if error.status() == Some(Status::Stale) {
                self.outdate(file);
            }
        })?;
        self.learn(asked, file, &attributes);
        Ok(attributes)
    }

    /// Which of the `wanted` things the caller may do. Version 2 has no such call: there the permission bits answer.
    ///
    /// # Errors
    /// What the server says.
    pub async fn access(&self, file: &Handle, wanted: Rights) -> Result<Rights> {
        call!(self, access(file, wanted))
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// What the server says; [`Reason::Lie`] when no path can be the target.
    pub async fn readlink(&self, link: &Handle) -> Result<Vec<u8>> {
        let target = call!(self, readlink(link))?;
        // Whoever hands the target on to the system names another file than one who looks at all its bytes.
        if target.contains(&0) {
            return Err(self.error("READLINK", Reason::Lie(Lie::BadTarget)));
        }
        Ok(target)
    }

    /// Reads up to `count` bytes, at most [`Sizes::read`](super::Sizes::read) of them, without a copy.
    ///
    /// # Errors
    /// What the server says; [`Reason::Lie`] when it brings more than was asked for.
    pub async fn read(&self, file: &Handle, offset: u64, count: u32) -> Result<Data> {
        self.read_and_look(file, offset, count).await.map(|(data, _)| data)
    }

    /// As [`Mount::read`], with what the reply says of the file.
    pub(crate) async fn read_and_look(
        &self,
        file: &Handle,
        offset: u64,
        count: u32,
    ) -> Result<(Data, Option<Attributes>)> {
        let count = count.min(self.0.sizes.read);
        call!(self, read(file, offset, count))
    }

    /// Reads into `buffer`, at most [`Sizes::read`](super::Sizes::read) bytes; the data is copied once. When the future
    /// is dropped the buffer is as it was.
    ///
    /// # Errors
    /// As those of [`Mount::read`].
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

    /// How full the file system around `file` is. Version 2 says nothing of the number of files.
    ///
    /// # Errors
    /// What the server says.
    pub async fn fsstat(&self, file: &Handle) -> Result<Space> {
        call!(self, fsstat(file))
    }

    /// What the file system and the server can do. Version 2 says nothing but the transfer size.
    ///
    /// # Errors
    /// What the server says.
    pub async fn fsinfo(&self, file: &Handle) -> Result<FsInfo> {
        call!(self, fsinfo(file))
    }

    /// The limits of names and links.
    ///
    /// # Errors
    /// [`Reason::NotInVersion`] in version 2.
    pub async fn pathconf(&self, file: &Handle) -> Result<PathLimits> {
        call!(self, pathconf(file))
    }
}

/// Changing.
impl Mount {
    /// Sets attributes, and tells what they all are then.
    ///
    /// # Errors
    /// What the server says.
    pub async fn setattr(&self, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let mut change = self.change([file]);
        let attributes = call!(self, setattr(file, set))?;
        change.learn(&Entry { handle: *file, attributes });
        Ok(attributes)
    }

    /// Writes `data`, which may be at most [`Sizes::write`](super::Sizes::write) bytes, at least as safely as
    /// `stability`. The data is sent from where it lies.
    ///
    /// # Errors
    /// [`Reason::TooLarge`]; what the server says; [`Reason::Lie`] when it says that it wrote what it cannot have.
    pub async fn write(&self, file: &Handle, offset: u64, data: Bytes, stability: Stability) -> Result<Written> {
        let (bytes, max) = (data.len(), self.0.sizes.write as usize);
        if bytes > max {
            return Err(self.error("WRITE", Reason::TooLarge { bytes, max }));
        }
        self.write_and_look(file, offset, data, stability).await.map(|(written, _)| written)
    }

    /// As [`Mount::write`], of not too many bytes, with what the reply says of the file.
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

    /// Brings what was written to stable storage: `count` bytes, or all to the end when it is 0. In version 2 everything
    /// is there already.
    ///
    /// # Errors
    /// What the server says.
    pub async fn commit(&self, file: &Handle, offset: u64, count: u32) -> Result<WriteVerifier> {
        let asked = self.ask();
        let (verifier, attributes) = call!(self, commit(file, offset, count))?;
        attributes.iter().for_each(|attributes| self.learn(asked, file, attributes));
        Ok(verifier)
    }

    /// Makes a regular file. Version 2 has no exclusive creation: there it is an error.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists) as `mode` says; whatever else the server says.
    pub async fn create(&self, dir: &Handle, name: &[u8], mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.check_name("CREATE", name)?;
        let mut change = self.change_names([(dir, name)]);
        let (made, dir_change) = call!(self, create(dir, name, mode, set)).map_err(|error| error.about(name))?;
        change.made(&made, &dir_change);
        Ok(made)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// What the server says.
    pub async fn mkdir(&self, dir: &Handle, name: &[u8], set: &SetAttributes) -> Result<Entry> {
        self.check_name("MKDIR", name)?;
        let mut change = self.change_names([(dir, name)]);
        let (made, dir_change) = call!(self, mkdir(dir, name, set)).map_err(|error| error.about(name))?;
        change.made(&made, &dir_change);
        Ok(made)
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// What the server says.
    pub async fn symlink(&self, dir: &Handle, name: &[u8], target: &[u8], set: &SetAttributes) -> Result<Entry> {
        self.check_name("SYMLINK", name)?;
        let mut change = self.change_names([(dir, name)]);
        let (made, dir_change) = call!(self, symlink(dir, name, target, set)).map_err(|error| error.about(name))?;
        change.made(&made, &dir_change);
        Ok(made)
    }

    /// Makes a device, a socket or a FIFO.
    ///
    /// # Errors
    /// What the server says.
    pub async fn mknod(&self, dir: &Handle, name: &[u8], node: SpecialFile, set: &SetAttributes) -> Result<Entry> {
        self.check_name("MKNOD", name)?;
        let mut change = self.change_names([(dir, name)]);
        let (made, dir_change) = call!(self, mknod(dir, name, node, set)).map_err(|error| error.about(name))?;
        change.made(&made, &dir_change);
        Ok(made)
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// What the server says.
    pub async fn remove(&self, dir: &Handle, name: &[u8]) -> Result<()> {
        self.check_name("REMOVE", name)?;
        let mut change = self.change_names([(dir, name)]);
        let dir_change = call!(self, remove(dir, name)).map_err(|error| error.about(name))?;
        change.removed(&dir_change);
        Ok(())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`Status::NotEmpty`](crate::Status::NotEmpty), and whatever else the server says.
    pub async fn rmdir(&self, dir: &Handle, name: &[u8]) -> Result<()> {
        self.check_name("RMDIR", name)?;
        let mut change = self.change_names([(dir, name)]);
        let dir_change = call!(self, rmdir(dir, name)).map_err(|error| error.about(name))?;
        change.removed(&dir_change);
        Ok(())
    }

    /// Moves a file to another name, over what is there if that is of the same kind.
    ///
    /// # Errors
    /// What the server says.
    pub async fn rename(&self, from_dir: &Handle, from: &[u8], to_dir: &Handle, to: &[u8]) -> Result<()> {
        self.check_name("RENAME", from)?;
        self.check_name("RENAME", to)?;
        let mut change = self.change_names([(from_dir, from), (to_dir, to)]);
        let dir_changes = call!(self, rename(from_dir, from, to_dir, to)).map_err(|error| error.about(from))?;
        change.renamed(&dir_changes);
        Ok(())
    }

    /// Gives `file` a further name.
    ///
    /// # Errors
    /// What the server says.
    pub async fn link(&self, file: &Handle, dir: &Handle, name: &[u8]) -> Result<()> {
        self.check_name("LINK", name)?;
        let (_file, mut change) = (self.change([file]), self.change_names([(dir, name)]));
        let dir_change = call!(self, link(file, dir, name)).map_err(|error| error.about(name))?;
        change.linked(file, &dir_change);
        Ok(())
    }

    pub(crate) fn check_name(&self, operation: &'static str, name: &[u8]) -> Result<()> {
        match vfs::Name::new(name) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.error(operation, Reason::Name(error)).about(name)),
        }
    }
}
