//! Queries that the caches answer where they can, and updates of the caches from replies.
//!
//! Their names differ from the operations of the RFCs, which always ask the server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use proto::nfs4;
use tokio::time::Instant;
use vfs::{Attributes, FileKind};

use super::{Mount, Mounted};
use crate::cache::{Asked, Caches, DirVersion, FileState, NameAt, Question};
use crate::v4::{CachedFiles, Target};
use crate::{Entry, Error, Handle, Reason, Result, Rights, Status, Version};

impl Mount {
    /// The attributes of a file, from the cache while they are valid ([`Caching`](crate::Caching)). [`Mount::getattr`]
    /// always asks the server.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn attributes(&self, file: &Handle) -> Result<Attributes> {
        let cached = self.caches().attributes.get(Instant::now(), file).or_else(|| self.delegated_attributes(file));
        self.0.cache_recorder.attributes.look(cached.is_some());
        match cached {
            Some(attributes) => Ok(attributes),
            None => {
                let look = || self.caches().attributes.get(Instant::now(), file).map(Ok);
                self.caches().questions.ask(Question::Attributes(*file), self.getattr(file), look).await
            }
        }
    }

    /// The attributes of a file at its open. They come from the server, so that reads see what others wrote before they
    /// closed the file (close-to-open consistency), unless [`Caching::close_to_open`](crate::Caching::close_to_open) is
    /// off.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn attributes_at_open(&self, file: &Handle) -> Result<Attributes> {
        if !self.0.options.caching.close_to_open {
            return self.attributes(file).await;
        }
        let cached = self.delegated_attributes(file);
        self.0.cache_recorder.attributes.look(cached.is_some());
        match cached {
            Some(attributes) => Ok(attributes),
            None => self.getattr(file).await,
        }
    }

    /// The attributes of a delegated file, however old they are: nobody else changes it without a recall.
    fn delegated_attributes(&self, file: &Handle) -> Option<Attributes> {
        self.1.v4.as_ref()?.has_delegation(file)?;
        self.caches().attributes.last(file)
    }

    /// Finds a name in a directory, from the cache while the directory is unchanged; absent names are cached, too.
    /// [`Mount::lookup`] always asks the server.
    ///
    /// # Errors
    /// [`Status::NoEntry`]; other errors of the server.
    pub async fn find(&self, dir: &Handle, name: &[u8]) -> Result<Entry> {
        let cached = self.look_for(dir, name).await?;
        self.follow(NameAt { dir, name }, cached).await
    }

    /// Like [`Mount::find`], but may return expired attributes of a file other than a directory. Also returns whether
    /// they are still valid.
    #[doc(hidden)]
    pub async fn find_or_remember(&self, dir: &Handle, name: &[u8]) -> Result<(Entry, bool)> {
        let cached = self.look_for(dir, name).await?;
        if let Some(Some(handle)) = cached
            && self.caches().attributes.get(Instant::now(), &handle).is_none()
            && let Some(attributes) = self.caches().attributes.last(&handle)
            && attributes.kind != FileKind::Directory
        {
            return Ok((Entry { handle, attributes }, false));
        }
        self.follow(NameAt { dir, name }, cached).await.map(|entry| (entry, true))
    }

    /// The cached file of a name.
    async fn look_for(&self, dir: &Handle, name: &[u8]) -> Result<Option<Option<Handle>>> {
        self.judge(dir, |rights| rights.contains(Rights::LOOKUP)).await?;
        if self.caches().names.keeps_nothing() {
            self.0.cache_recorder.names.look(false);
            return Ok(None);
        }
        let version = DirVersion::of(&self.attributes(dir).await?);
        let (names, place) = (&self.caches().names, NameAt { dir, name });
        let mut cached = names.look(Instant::now(), place, version);
        if cached.is_none() && names.wants_listing(place, version) {
            self.learn_all_names(dir, version).await;
            cached = names.look(Instant::now(), place, version);
        }
        self.0.cache_recorder.names.look(cached.is_some());
        Ok(cached)
    }

    /// The file that a name leads to, given its cached answer.
    async fn follow(&self, place: NameAt<'_>, cached: Option<Option<Handle>>) -> Result<Entry> {
        let NameAt { dir, name } = place;
        match cached {
            Some(Some(handle)) => match self.attributes(&handle).await {
                // Another file has replaced it; the server knows which.
                Ok(attributes) if attributes.links == 0 => self.lookup(dir, name).await,
                Err(error) if is_stale(&error) => self.lookup(dir, name).await,
                Ok(attributes) => Ok(Entry { handle, attributes }),
                Err(error) => Err(error.about(name)),
            },
            Some(None) => Err(self.no_entry(name)),
            None if self.caches().names.keeps_nothing() => self.lookup(dir, name).await,
            None => {
                let question = Question::Name { dir: *dir, name: name.into() };
                self.caches().questions.ask(question, self.lookup(dir, name), || self.known_entry(place)).await
            }
        }
    }

    /// The cached file of a name in an unchanged directory.
    #[doc(hidden)]
    pub fn known_name(&self, dir: &Handle, name: &[u8]) -> Option<Handle> {
        self.caches().names.look(Instant::now(), NameAt { dir, name }, self.dir_version(dir)?)?
    }

    /// The cached file of a name, if its attributes are valid, too.
    fn known_entry(&self, place: NameAt<'_>) -> Option<Result<Entry>> {
        let version = self.dir_version(place.dir)?;
        let Some(handle) = self.caches().names.look(Instant::now(), place, version)? else {
            return Some(Err(self.no_entry(place.name)));
        };
        let attributes = self.caches().attributes.get(Instant::now(), &handle)?;
        Some(Ok(Entry { handle, attributes }))
    }

    fn no_entry(&self, name: &[u8]) -> Error {
        self.error("LOOKUP", Reason::Status(Status::NoEntry)).about(name)
    }

    /// Which of the `wanted` rights the caller has, from the cache while the file is unchanged. [`Mount::access`]
    /// always asks the server.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn rights(&self, file: &Handle, wanted: Rights) -> Result<Rights> {
        let state = FileState::of(&self.attributes(file).await?);
        let (access, user) = (&self.caches().access, self.principal());
        let cached = access.look(file, user, state);
        self.0.cache_recorder.access.look(cached.is_some());
        let rights = match cached {
            Some(rights) => rights,
            None => {
                let look = || access.look(file, user, state).map(Ok);
                let question = Question::Rights(*file, Arc::clone(user));
                self.caches().questions.ask(question, self.ask_rights(file, state), look).await?
            }
        };
        Ok(rights & wanted)
    }

    /// Checks the user's rights before the cache returns data that another user has fetched. A mount with a single user
    /// needs no check.
    ///
    /// # Errors
    /// [`Status::AccessDenied`] if the user's rights do not suffice; other errors of the server.
    #[doc(hidden)]
    pub async fn judge(&self, file: &Handle, suffice: impl FnOnce(Rights) -> bool) -> Result<()> {
        if !self.0.users.are_several() || suffice(self.rights(file, Rights::ALL).await?) {
            return Ok(());
        }
        Err(self.error("ACCESS", Reason::Status(Status::AccessDenied)))
    }

    async fn ask_rights(&self, file: &Handle, state: FileState) -> Result<Rights> {
        let rights = self.access(file, Rights::ALL).await?;
        self.caches().access.learn(file, self.principal(), state, rights);
        Ok(rights)
    }

    /// The target of a symbolic link, from the cache while the link is unchanged. [`Mount::readlink`] always asks the
    /// server.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn link_target(&self, link: &Handle) -> Result<Arc<[u8]>> {
        let state = FileState::of(&self.attributes(link).await?);
        let cached = self.caches().symlinks.look(link, state);
        self.0.cache_recorder.symlinks.look(cached.is_some());
        match cached {
            Some(target) => Ok(target),
            None => {
                let look = || self.caches().symlinks.look(link, state).map(Ok);
                self.caches().questions.ask(Question::Target(*link), self.ask_target(link, state), look).await
            }
        }
    }

    async fn ask_target(&self, link: &Handle, state: FileState) -> Result<Arc<[u8]>> {
        let target = Arc::from(self.readlink(link).await?);
        self.caches().symlinks.learn(link, state, Arc::clone(&target));
        Ok(target)
    }

    pub(super) fn caches(&self) -> &Caches {
        &self.0.caches
    }

    /// Stamps a call that is sent now and whose reply carries attributes.
    pub(crate) fn ask(&self) -> Asked {
        self.caches().attributes.ask(Instant::now())
    }

    /// Takes in a file's attributes from a reply.
    pub(crate) fn learn(&self, asked: Asked, file: &Handle, attributes: &Attributes) {
        self.caches().attributes.learn(asked, file, attributes);
        if self.version() == Version::V2 && attributes.kind == FileKind::Directory {
            self.caches().names.take_next(asked, file, DirVersion::of(attributes));
        }
    }

    /// The cached version of a directory.
    pub(super) fn dir_version(&self, dir: &Handle) -> Option<DirVersion> {
        self.caches().attributes.get(Instant::now(), dir).as_ref().map(DirVersion::of)
    }

    /// Takes in the result of a LOOKUP sent while the directory had that version.
    pub(super) fn learn_lookup(&self, asked: Asked, place: NameAt<'_>, version: DirVersion, found: &Result<Entry>) {
        let file = match found {
            Ok(entry) => Some(entry.handle),
            Err(error) if error.status() == Some(Status::NoEntry) => None,
            Err(_) => return,
        };
        self.caches().names.learn(asked, place, version, file);
    }

    /// Invalidates a file that this client changed, or may have when the reply was lost, and whose new attributes are
    /// unknown.
    #[doc(hidden)]
    pub fn outdate(&self, file: &Handle) {
        self.caches().attributes.outdate(file);
    }

    /// Invalidates the attributes of a file whose handle the server no longer knows, and of all directories. The next
    /// walk looks up again what they were cached for: it checks a cached name without attributes by a GETATTR.
    pub(crate) fn drop_stale(&self, file: &Handle, error: Error) -> Error {
        if is_stale(&error) {
            self.caches().attributes.drop_stale(file);
        }
        error
    }

    /// Does what [`Mount::drop_stale`] does, for a file without a name that the server still reaches.
    #[doc(hidden)]
    pub fn outdate_removed(&self, file: &Handle) {
        self.caches().attributes.drop_stale(file);
    }

    /// Invalidates a directory and its listing.
    pub(crate) fn outdate_dir(&self, dir: &Handle) {
        self.outdate(dir);
        self.outdate_listing(dir);
    }

    /// Invalidates a name that this client changed. Returns the file it led to, if known.
    pub(crate) fn outdate_name(&self, place: NameAt<'_>) -> Option<Handle> {
        let now = self.outdate_listing(place.dir);
        self.caches().names.outdate(now, place)
    }

    /// Like [`Mount::outdate_name`], for a change whose reply carries no attributes of the directory in this version of
    /// NFS.
    pub(super) fn replace_name(&self, asked: Asked, place: NameAt<'_>, file: Option<Option<Handle>>) -> Option<Handle> {
        let now = self.outdate_listing(place.dir);
        self.caches().names.replace(asked, now, place, file)
    }

    fn outdate_listing(&self, dir: &Handle) -> Asked {
        let now = self.caches().attributes.turn(Instant::now());
        self.caches().directories.outdate(now, dir);
        now
    }
}

/// Whether the server no longer knows a handle: the file is gone, or another one has replaced it.
pub(crate) fn is_stale(error: &Error) -> bool {
    matches!(error.status(), Some(Status::Stale | Status::V4(nfs4::Status::FhExpired)))
}

/// Requests of the server to the holder of a write delegation.
impl CachedFiles for Mounted {
    fn write_back<'a>(&'a self, file: &'a Handle) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.caches.blocks.write_back(file))
    }

    fn unwritten_size(&self, file: &Handle) -> Option<u64> {
        self.caches.blocks.unwritten_size(file)
    }

    fn outdate_opened(&self, target: &Target, file: Option<&Handle>) {
        let now = self.caches.attributes.turn(Instant::now());
        file.into_iter().for_each(|file| self.caches.attributes.outdate(file));
        if let Target::Name { dir, name } = target {
            self.caches.attributes.outdate(dir);
            self.caches.directories.outdate(now, dir);
            self.caches.names.outdate(now, NameAt { dir, name });
        }
    }

    fn last_attributes(&self, file: &Handle) -> Option<Attributes> {
        self.caches.attributes.last(file)
    }
}
