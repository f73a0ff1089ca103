//! A file that is open: what NFSv4 keeps for whoever reads, writes and locks it.

mod copies;
mod cursor;
pub(crate) mod direct;
mod io;
mod locks;
mod open_options;
mod place;
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
pub use place::{Piece, place};
pub use sparse::{Extent, Segment, Segments};

/// An open file, as [`Dir::open`](crate::Dir::open) and [`Mount::open`] give it.
///
/// [`File::read_at`], [`File::write_at`] and their like go through what the mount keeps in memory, as
/// [`Caching`](crate::Caching) says: a write is sent late, [`File::flush`] sends it, and [`File::sync`] and [`File::close`] bring it to the
/// server's stable storage. Operations under the names of the RFCs, such as [`File::read`] and [`File::write`], always go to the server.
/// Any number of calls may be under way at once. One whose future is dropped is forgotten; if it was to change something, it may have
/// done so.
///
/// In NFSv4 the server knows that it is open: others may be kept from it, and ranges of it can be locked. All of that outlives a lost
/// connection and a restart of the server. Older versions know no open files; there reading and writing go by the handle alone, and locks
/// are the lock manager's (NLM). A file that is dropped is written and closed in the background, and nobody hears of errors.
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
/// // Whoever waits no longer leaves nothing behind.
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
    /// What the server has given, in NFSv4.
    open: Option<Arc<OpenFile>>,
    /// How its bytes are read and written, by whatever task does it.
    io: Arc<Io>,
    /// Its bytes in memory, unless the mount keeps none.
    data: Option<Box<FileData>>,
}

impl Mount {
    /// Opens a regular file in a directory, and makes it if the options say so.
    ///
    /// # Errors
    /// What the server says; [`crate::Status::ShareDenied`] when somebody has it open in a way that excludes this.
    pub async fn open(&self, dir: &Handle, name: &[u8], options: &OpenOptions) -> Result<File> {
        self.check_name("OPEN", name)?;
        // A WRITE that is carried out after the file is cut would make it longer again.
        let _hold = if options.cuts() && self.keeps_data() { Some(HoldAll::begin(self).await) } else { None };
        let Ok(client) = self.v4() else { return self.open_by_handle(dir, name, options).await };
        let (share, create) = (options.share(), options.create);
        let target = Target::Name { dir: *dir, name: name.to_vec() };
        if let Some(file) = self.open_delegated(client, &target, options).await? {
            return Ok(file);
        }
        let mut change = create.is_some().then(|| self.change_names([(dir, name)]));
        let asked = self.ask();
        let opened = client.open(Opening { target, share, create }).await?;
        match &mut change {
            Some(change) => change.made(&opened.entry, &opened.dir_change),
            None => self.learn(asked, &opened.entry.handle, &opened.entry.attributes),
        }
        let mut file = File::new(self, opened.entry, Some(opened.file), options);
        if let Some((CreateMode::Exclusive(_), set)) = &create {
            // The verifier may be kept in the times, and not all attributes are taken: they are set now.
            let now = Some(SetTime::Now);
            let set = SetAttributes { accessed: set.accessed.or(now), modified: set.modified.or(now), ..*set };
            file.entry.attributes = file.setattr(&set).await?;
        }
        Ok(file)
    }

    /// Opens a regular file that is known by its handle, and never makes one. Version 4.0 opens by names only: there the file
    /// is used as one that nobody has open, and has no locks.
    ///
    /// # Errors
    /// As those of [`Mount::open`].
    pub async fn open_handle(&self, file: &Handle, options: &OpenOptions) -> Result<File> {
        match self.v4() {
            Ok(client) if client.minor_version().has_sessions() => {
                let target = Target::File(*file);
                if let Some(file) = self.open_delegated(client, &target, options).await? {
                    return Ok(file);
                }
                let opening = Opening { target, share: options.share(), create: None };
                let asked = self.ask();
                let opened = client.open(opening).await?;
                self.learn(asked, file, &opened.entry.attributes);
                Ok(File::new(self, opened.entry, Some(opened.file), options))
            }
            _ => {
                let entry = Entry { handle: *file, attributes: self.getattr(file).await? };
                self.use_found(entry, options).await
            }
        }
    }

    /// Opens a file without asking the server, which has delegated it to this client.
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

    /// Whether the bytes of files are kept in memory.
    fn keeps_data(&self) -> bool {
        !self.options().caching.is_direct
    }

    /// A file that was found, and that the server does not know as open. It judges each READ and WRITE that it gets; here it is asked
    /// whether others' bytes may be shown to this user. Owners may use what they have, as servers of older versions let them.
    pub(crate) async fn use_found(&self, entry: Entry, options: &OpenOptions) -> Result<File> {
        let is_owner = matches!(self.credentials(), Credentials::Sys { uid, .. } if *uid == entry.attributes.uid);
        if !is_owner {
            self.judge(&entry.handle, |rights| options.access.is_within(rights)).await?;
        }
        Ok(File::new(self, entry, None, options))
    }

    /// Finds or makes a file in a version that knows no open files.
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
        // Before NFSv4 the handle alone gives the right to read.
        let can_read = open.is_none() || options.access != Access::Write;
        let locks = mount.v4().is_err().then(|| FileLocks::new(mount, &entry.handle));
        let io = Io { mount: mount.clone(), handle: entry.handle, open: open.clone(), locks, can_read };
        let io = Arc::new(io);
        let cut_to = options.create.as_ref().and_then(|(_, set)| set.size_bytes);
        let is_cut = cut_to == Some(entry.attributes.size_bytes);
        let data = mount.keeps_data().then(|| Box::new(FileData::open(&io, &entry.attributes, is_cut)));
        File { mount: mount.clone(), entry, open, io, data }
    }

    /// The mount, as it is used by who opened the file.
    pub(crate) fn mount(&self) -> &Mount {
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

    /// Writes `data`, which may be at most [`Sizes::write`](crate::Sizes::write) bytes, at least as safely as `stability`.
    /// The data is sent from where it lies, after what [`File::write_at`] has taken is on the server's stable storage. What was
    /// written unstably is the caller's to keep until it is committed, and [`File::write_at`] should wait until then.
    ///
    /// # Errors
    /// [`Reason::TooLarge`]; what the server says; [`Reason::Lie`] when it says that it wrote what it cannot have.
    pub async fn write(&self, offset: u64, data: Bytes, stability: Stability) -> Result<Written> {
        self.settle().await?;
        let _passing = self.passing();
        self.io.write(offset, data, stability).await
    }

    /// Brings what was changed in memory to the server's stable storage: what a server loses is sent again, over whatever was
    /// done past the cache meanwhile.
    ///
    /// # Errors
    /// What the server says, once for each write that failed.
    async fn settle(&self) -> Result<()> {
        match &self.data {
            Some(data) => data.flush(true).await,
            None => Ok(()),
        }
    }

    /// Does as [`File::settle`] for one who only reads: writes that failed are told to others.
    async fn settle_for_reading(&self) {
        if let Some(data) = &self.data {
            data.written(true).await;
        }
    }

    /// Notes that the bytes of the file were changed at the server, past what is kept of them in memory.
    pub(crate) fn forget_data(&self) {
        if let Some(data) = &self.data {
            data.forget();
        }
    }

    /// Has the next read find out whether the file is still what is kept of it in memory.
    pub(crate) fn look_again(&self) {
        if let Some(data) = &self.data {
            data.look_again();
        }
    }

    /// Fails while what the server gave for the file, the open or a lock, is lost.
    pub(crate) fn check_kept(&self) -> Result<()> {
        self.io.check_kept("LOCK")
    }

    /// Notes that the bytes of the file are changed at the server, past what is kept of them in memory, until this is dropped.
    pub(super) fn passing(&self) -> Option<Passing> {
        self.data.as_ref().map(|data| data.pass())
    }

    /// Brings what was written to stable storage, as [`Mount::commit`] does.
    ///
    /// # Errors
    /// What the server says.
    pub async fn commit(&self, offset: u64, count: u32) -> Result<WriteVerifier> {
        self.mount.commit(self.handle(), offset, count).await
    }

    /// The file's attributes with all that was written here, from memory while they are believed, as
    /// [`Dir::metadata`](crate::Dir::metadata) has them.
    ///
    /// # Errors
    /// What the server says.
    pub async fn metadata(&self) -> Result<Attributes> {
        if let Some(data) = &self.data {
            data.written(false).await;
        }
        self.mount.attributes(self.handle()).await
    }

    /// The file's attributes with all that was written here, as the server tells them now.
    ///
    /// # Errors
    /// What the server says.
    pub async fn getattr(&self) -> Result<Attributes> {
        if let Some(data) = &self.data {
            data.written(false).await;
        }
        self.mount.getattr(self.handle()).await
    }

    /// Sets attributes, and tells what they all are then.
    ///
    /// # Errors
    /// What the server says.
    pub async fn setattr(&self, set: &SetAttributes) -> Result<Attributes> {
        let Some(data) = &self.data else { return self.io.setattr(set).await };
        // What is written later would give the file another time.
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

    /// As [`File::opened`], for operations that only NFSv4.2 has.
    fn opened_4_2(&self, operation: &'static str) -> Result<&Arc<OpenFile>> {
        match self.mount.version() {
            Version::V4_2 => self.opened(operation),
            older => Err(self.mount.error(operation, Reason::NotInVersion(older))),
        }
    }

    /// What the server has given, which only NFSv4 does.
    fn opened(&self, operation: &'static str) -> Result<&Arc<OpenFile>> {
        let older = || self.mount.error(operation, Reason::NotInVersion(self.mount.version()));
        self.open.as_ref().ok_or_else(older)
    }
}
