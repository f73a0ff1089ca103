//! Open files, and the state that NFSv4 keeps for them.

mod copies;
mod cursor;
pub(crate) mod direct;
mod io;
mod locks;
mod open_options;
mod positional;
mod read;
mod retry;
mod sparse;
mod xattrs;

use std::sync::Arc;

use bytes::Bytes;
use vfs::{Attributes, CreateMode, SetAttributes, SetTime, Stability};

use crate::cache::{FileData, HoldAll, Passing};
use crate::nlm::FileLocks;
use crate::v4::{OpenFile, Opening, Target};
use crate::{Credentials, Entry, Handle, Mount, Reason, Result, Version, WriteVerifier, Written, v4};
pub use copies::Copying;
pub use cursor::Cursor;
pub(crate) use io::Io;
pub use locks::LockKind;
pub use open_options::{Access, OpenOptions};
pub use sparse::Extent;

/// An open file, from [`Dir::open`](crate::Dir::open) or [`Mount::open`].
///
/// [`File::read_at`], [`File::write_at`] and similar methods use the mount's cache, as [`Caching`](crate::Caching)
/// says: a write is sent late, [`File::flush`] sends it, and [`File::sync`] and [`File::close`] bring it to the
/// server's stable storage. Methods named after operations of the RFCs, such as [`File::read`] and [`File::write`],
/// always go to the server. Any number of calls may be in flight at once. Dropping a call's future does not undo it: a
/// change may have been carried out.
///
/// In NFSv4 the server has open state: it can deny other opens, and ranges of the file can be locked. This state
/// survives a lost connection and a restart of the server. Older versions read and write by handle alone, and lock
/// through the lock manager (NLM). A file that is dropped is written and closed in the background, and no caller gets
/// the errors.
///
/// ```
#[doc = include_str!("../../doc/server_starts.txt")]
/// use std::io::IoSlice;
///
/// use client::{LockKind, Mount, OpenOptions, Options};
///
/// // A server in this process exports `/files`; `address` is its own.
/// let url = format!("nfs://{address}/files").parse()?;
/// let options = Options { use_privileged_port: false, ..Options::negotiating() };
/// let mount = Mount::connect(&url, &options).await?;
///
/// let ledger = mount.root_dir().open("ledger", &OpenOptions::both().making(0o600)).await?;
/// ledger.lock(LockKind::Exclusive, 0, 4096).await?;
/// ledger.write_vectored_at(0, &[IoSlice::new(b"12 of"), IoSlice::new(b" 90")]).await?;
/// // What was written under the lock is at the server before others get it.
/// ledger.unlock(0, 4096).await?;
///
/// // Any number at once, each into memory of the caller's.
/// let (mut first, mut last) = ([0; 2], [0; 10]);
/// let (_, count) = tokio::try_join!(ledger.read_at(0, &mut first), ledger.read_at(6, &mut last))?;
/// assert_eq!((&first, &last[..count]), (b"12", &b"90"[..]), "the file ends before the buffer");
///
/// // A dropped future leaves nothing behind.
/// let in_time = tokio::time::timeout(Duration::from_secs(60), ledger.sync()).await;
/// assert!(in_time.is_ok_and(|synced| synced.is_ok()));
/// ledger.close().await?;
/// # mount.unmount().await?;
#[doc = include_str!("../../doc/server_ends.txt")]
/// ```
#[derive(Debug)]
pub struct File {
    mount: Mount,
    entry: Entry,
    /// The open state at the server, in NFSv4.
    open: Option<Arc<OpenFile>>,
    /// Reads and writes its bytes for all tasks.
    io: Arc<Io>,
    /// Its cached bytes, unless the mount caches none.
    data: Option<Box<FileData>>,
}

impl Mount {
    /// Opens a regular file in a directory, and makes it if the options say so.
    ///
    /// # Errors
    /// The error of the server; [`crate::Status::ShareDenied`] if another open excludes this one.
    pub async fn open(&self, dir: &Handle, name: &[u8], options: &OpenOptions) -> Result<File> {
        self.check_name("OPEN", name)?;
        // A WRITE carried out after the truncation would extend the file again.
        let _hold = if options.cuts() && self.keeps_data() { Some(HoldAll::begin(self).await) } else { None };
        let Ok(client) = self.v4() else { return self.open_by_handle(dir, name, options).await };
        let (share, create) = (options.share(), options.create);
        let target = Target::Name { dir: *dir, name: name.to_vec() };
        if let Some(file) = self.open_delegated(client, &target, options).await? {
            return Ok(file);
        }
        let mut change = create.is_some().then(|| self.change_names([(dir, name)]));
        let asked = self.ask();
        let opened = client.open(Opening { target, share, create }).await;
        let opened = opened.map_err(|error| self.drop_stale(dir, error))?;
        match &mut change {
            Some(change) => change.made(&opened.entry, &opened.dir_change),
            None => self.learn(asked, &opened.entry.handle, &opened.entry.attributes),
        }
        let mut file = File::new(self, opened.entry, Some(opened.file), options);
        if let Some((CreateMode::Exclusive(_), set)) = &create {
            // The server may keep the verifier in the times, and may ignore other attributes: all are set now.
            let now = Some(SetTime::Now);
            let set = SetAttributes { accessed: set.accessed.or(now), modified: set.modified.or(now), ..*set };
            file.entry.attributes = file.setattr(&set).await?;
        }
        Ok(file)
    }

    /// Opens a regular file by its handle; never makes one. NFSv4.0 opens by names only: there the file is used without
    /// open state, and cannot be locked.
    ///
    /// # Errors
    /// As for [`Mount::open`].
    pub async fn open_handle(&self, file: &Handle, options: &OpenOptions) -> Result<File> {
        match self.v4() {
            Ok(client) if client.minor_version().has_sessions() => {
                let target = Target::File(*file);
                if let Some(file) = self.open_delegated(client, &target, options).await? {
                    return Ok(file);
                }
                let opening = Opening { target, share: options.share(), create: None };
                let asked = self.ask();
                let opened = client.open(opening).await.map_err(|error| self.drop_stale(file, error))?;
                self.learn(asked, file, &opened.entry.attributes);
                Ok(File::new(self, opened.entry, Some(opened.file), options))
            }
            _ => {
                let entry = Entry { handle: *file, attributes: self.getattr(file).await? };
                self.use_found(entry, options).await
            }
        }
    }

    /// Opens a file that is delegated to this client, without asking the server.
    async fn open_delegated(
        &self,
        client: &v4::Client,
        target: &Target,
        options: &OpenOptions,
    ) -> Result<Option<File>> {
        if options.create.is_some() {
            return Ok(None);
        }
        let Some(open) = client.open_delegated(target, options.share()) else { return Ok(None) };
        let handle = *open.handle();
        let entry = Entry { handle, attributes: self.attributes_at_open(&handle).await? };
        Ok(Some(File::new(self, entry, Some(open), options)))
    }

    fn keeps_data(&self) -> bool {
        !self.options().caching.is_direct
    }

    /// Uses a file without open state. The server checks each READ and WRITE; an ACCESS shows here whether this user
    /// may see cached data of others. Owners skip the check, as servers of older versions let them read and write.
    pub(crate) async fn use_found(&self, entry: Entry, options: &OpenOptions) -> Result<File> {
        let is_owner = matches!(self.credentials(), Credentials::Sys { uid, .. } if *uid == entry.attributes.uid);
        if !is_owner {
            self.judge(&entry.handle, |rights| options.access.is_within(rights)).await?;
        }
        Ok(File::new(self, entry, None, options))
    }

    /// Finds or makes a file in a version without open state.
    async fn open_by_handle(&self, dir: &Handle, name: &[u8], options: &OpenOptions) -> Result<File> {
        match &options.create {
            Some((mode, set)) => {
                let entry = self.create(dir, name, *mode, set).await?;
                match mode {
                    CreateMode::Unchecked => self.use_found(entry, options).await,
                    CreateMode::Guarded | CreateMode::Exclusive(_) => Ok(File::new(self, entry, None, options)),
                }
            }
            None => self.use_found(self.lookup(dir, name).await?, options).await,
        }
    }
}

impl File {
    fn new(mount: &Mount, entry: Entry, open: Option<Arc<OpenFile>>, options: &OpenOptions) -> File {
        // Before NFSv4, READ needs only the handle.
        let can_read = open.is_none() || options.access != Access::Write;
        let locks = mount.v4().is_err().then(|| FileLocks::new(mount, &entry.handle));
        let io = Io { mount: mount.clone(), handle: entry.handle, open: open.clone(), locks, can_read };
        let io = Arc::new(io);
        let cut_to = options.create.as_ref().and_then(|(_, set)| set.size_bytes);
        let is_cut = cut_to == Some(entry.attributes.size_bytes);
        let data = mount.keeps_data().then(|| Box::new(FileData::open(&io, &entry.attributes, is_cut)));
        File { mount: mount.clone(), entry, open, io, data }
    }

    /// The mount with the credentials of the opening user.
    #[doc(hidden)]
    pub fn mount(&self) -> &Mount {
        &self.mount
    }

    /// The file's handle.
    pub fn handle(&self) -> &Handle {
        &self.entry.handle
    }

    /// The file's attributes as they were when it was opened.
    pub fn attributes(&self) -> &Attributes {
        &self.entry.attributes
    }

    /// Writes `data`, at most [`Sizes::write`](crate::Sizes::write) bytes, at least as safely as `stability`. The data
    /// is sent without a copy, once all data of [`File::write_at`] is on the server's stable storage. The caller keeps
    /// unstable data until it is committed, and should not use [`File::write_at`] before.
    /// written unstably is the caller's to keep until it is committed, and [`File::write_at`] should wait until then.
    ///
    /// # Errors
    /// [`Reason::TooLarge`]; the error of the server; [`Reason::Lie`] if it claims to have written more than it got.
    pub async fn write(&self, offset: u64, data: Bytes, stability: Stability) -> Result<Written> {
        self.settle().await?;
        let _passing = self.passing();
        self.io.write(offset, data, stability).await
    }

    /// Brings all cached changes to the server's stable storage. Otherwise data that the server loses would be sent
    /// again, over changes made past the cache meanwhile.
    ///
    /// # Errors
    /// The error of the server, once for each failed write.
    async fn settle(&self) -> Result<()> {
        match &self.data {
            Some(data) => data.flush(true).await,
            None => Ok(()),
        }
    }

    /// Like [`File::settle`], for reads: errors of failed writes are left to later calls.
    async fn settle_for_reading(&self) {
        if let Some(data) = &self.data {
            data.written(true).await;
        }
    }

    /// Invalidates cached bytes: the file was changed at the server past the cache.
    pub(crate) fn forget_data(&self) {
        if let Some(data) = &self.data {
            data.forget();
        }
    }

    /// Forces the next read to revalidate the cache.
    #[doc(hidden)]
    pub fn look_again(&self) {
        if let Some(data) = &self.data {
            data.look_again();
        }
    }

    /// Fails if the file's open state or a lock is lost.
    #[doc(hidden)]
    pub fn check_kept(&self) -> Result<()> {
        self.io.check_kept("LOCK")
    }

    /// Notes that the file's bytes are changed past the cache until the result is dropped.
    pub(super) fn passing(&self) -> Option<Passing> {
        self.data.as_ref().map(|data| data.pass())
    }

    /// Commits written data to stable storage, like [`Mount::commit`].
    ///
    /// # Errors
    /// The error of the server.
    pub async fn commit(&self, offset: u64, count: u32) -> Result<WriteVerifier> {
        self.mount.commit(self.handle(), offset, count).await
    }

    /// The file's attributes including all writes made here, from the cache while they are valid, like
    /// [`Dir::metadata`](crate::Dir::metadata).
    ///
    /// # Errors
    /// The error of the server.
    pub async fn metadata(&self) -> Result<Attributes> {
        if let Some(data) = &self.data {
            data.written(false).await;
        }
        self.mount.attributes(self.handle()).await
    }

    /// The file's attributes including all writes made here, from the server.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn getattr(&self) -> Result<Attributes> {
        if let Some(data) = &self.data {
            data.written(false).await;
        }
        self.mount.getattr(self.handle()).await
    }

    /// Sets attributes. Returns all attributes afterwards.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn setattr(&self, set: &SetAttributes) -> Result<Attributes> {
        let Some(data) = &self.data else { return self.io.setattr(set).await };
        // A later write would change the file's times again.
        data.written(false).await;
        let mut rest = *set;
        if let Some(size_bytes) = rest.size_bytes.take() {
            data.set_size(size_bytes).await?;
            if rest.is_empty() {
                return self.mount.getattr(self.handle()).await;
            }
        }
        self.io.setattr(&rest).await
    }

    /// Like [`File::opened`], for operations of NFSv4.2 only.
    fn opened_4_2(&self, operation: &'static str) -> Result<&Arc<OpenFile>> {
        match self.mount.version() {
            Version::V4_2 => self.opened(operation),
            older => Err(self.mount.error(operation, Reason::NotInVersion(older))),
        }
    }

    /// The open state, which exists only in NFSv4.
    fn opened(&self, operation: &'static str) -> Result<&Arc<OpenFile>> {
        let older = || self.mount.error(operation, Reason::NotInVersion(self.mount.version()));
        self.open.as_ref().ok_or_else(older)
    }
}
