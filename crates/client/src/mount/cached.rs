//! Questions that the caches answer where they can, and how what replies tell gets into them.
//!
//! They have other names than the operations of the RFCs, which always ask the server.

use std::sync::Arc;

use vfs::{Attributes, FileKind};

use super::{Mount, Mounted};
use crate::cache::{Asked, Caches, DirVersion, FileState, Place, Question};
use crate::v4::Target;
use crate::{Entry, Error, Handle, Reason, Result, Rights, Status, Version};

impl Mount {
    /// The attributes of a file, from memory while they are believed ([`Caching`](crate::Caching)). [`Mount::getattr`] always asks.
    ///
    /// # Errors
    /// What the server says.
    pub async fn attributes(&self, file: &Handle) -> Result<Attributes> {
        let cached = self.caches().attributes.get(file).or_else(|| self.delegated_attributes(file));
        self.0.cache_recorder.attributes.look(cached.is_some());
        match cached {
            Some(attributes) => Ok(attributes),
            None => {
                let look = || self.caches().attributes.get(file).map(Ok);
                self.caches().questions.ask(Question::Attributes(*file), self.getattr(file), look).await
            }
        }
    }

    /// The attributes of a file that is opened: the server's own, so that what others wrote before they closed it is seen
    /// (close-to-open consistency), unless [`Caching::close_to_open`](crate::Caching::close_to_open) is off.
    ///
    /// # Errors
    /// What the server says.
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

    /// The attributes of a file that nobody else changes without this client's being asked, however old they are.
    fn delegated_attributes(&self, file: &Handle) -> Option<Attributes> {
        self.1.v4.as_ref()?.has_delegation(file)?;
        self.caches().attributes.last(file)
    }

    /// Finds a name in a directory, from memory while the directory is believed not to have changed, or that there is none of that
    /// name. [`Mount::lookup`] always asks.
    ///
    /// # Errors
    /// [`Status::NoEntry`], and whatever else the server says.
    pub async fn find(&self, dir: &Handle, name: &[u8]) -> Result<Entry> {
        let cached = self.look_for(dir, name).await?;
        self.follow(Place { dir, name }, cached).await
    }

    /// As [`Mount::find`], but a file other than a directory may be told of as it was when it was last heard of. Says whether it is still
    /// believed to be so.
    pub(crate) async fn find_or_remember(&self, dir: &Handle, name: &[u8]) -> Result<(Entry, bool)> {
        let cached = self.look_for(dir, name).await?;
        if let Some(Some(handle)) = cached
            && self.caches().attributes.get(&handle).is_none()
            && let Some(attributes) = self.caches().attributes.last(&handle)
            && attributes.kind != FileKind::Directory
        {
            return Ok((Entry { handle, attributes }, false));
        }
        self.follow(Place { dir, name }, cached).await.map(|entry| (entry, true))
    }

    /// What is remembered of a name.
    async fn look_for(&self, dir: &Handle, name: &[u8]) -> Result<Option<Option<Handle>>> {
        self.judge(dir, |rights| rights.contains(Rights::LOOKUP)).await?;
        if self.caches().names.keeps_nothing() {
            self.0.cache_recorder.names.look(false);
            return Ok(None);
        }
        let version = DirVersion::of(&self.attributes(dir).await?);
        let cached = self.caches().names.look(Place { dir, name }, version);
        self.0.cache_recorder.names.look(cached.is_some());
        Ok(cached)
    }

    /// The file that a name leads to of which this much is remembered.
    async fn follow(&self, place: Place<'_>, cached: Option<Option<Handle>>) -> Result<Entry> {
        let Place { dir, name } = place;
        match cached {
            Some(Some(handle)) => match self.attributes(&handle).await {
                Ok(attributes) => Ok(Entry { handle, attributes }),
                // Somebody else put another file in its place; the server knows which.
                Err(error) if error.status() == Some(Status::Stale) => self.lookup(dir, name).await,
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

    /// What a name leads to, if that is known of a directory that is believed not to have changed.
    pub(crate) fn known_name(&self, dir: &Handle, name: &[u8]) -> Option<Handle> {
        self.caches().names.look(Place { dir, name }, self.dir_version(dir)?)?
    }

    /// What a name leads to, if that and its attributes are known.
    fn known_entry(&self, place: Place<'_>) -> Option<Result<Entry>> {
        let version = self.dir_version(place.dir)?;
        let Some(handle) = self.caches().names.look(place, version)? else {
            return Some(Err(self.no_entry(place.name)));
        };
        let attributes = self.caches().attributes.get(&handle)?;
        Some(Ok(Entry { handle, attributes }))
    }

    fn no_entry(&self, name: &[u8]) -> Error {
        self.error("LOOKUP", Reason::Status(Status::NoEntry)).about(name)
    }

    /// Which of the `wanted` things the caller may do, from memory while the file is believed not to have changed.
    /// [`Mount::access`] always asks.
    ///
    /// # Errors
    /// What the server says.
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

    /// Has the server judge where memory might tell a user what another one has asked for.
    ///
    /// # Errors
    /// [`Status::AccessDenied`] unless the user's rights to the file suffice; what else the server says.
    pub(crate) async fn judge(&self, file: &Handle, suffice: impl FnOnce(Rights) -> bool) -> Result<()> {
        if !self.0.users.are_several() || suffice(self.rights(file, Rights::ALL).await?) {
            return Ok(());
        }
        Err(self.error("ACCESS", Reason::Status(Status::AccessDenied)))
    }

    async fn ask_rights(&self, file: &Handle, state: FileState) -> Result<Rights> {
        let rights = self.access(file, Rights::ALL).await?;
        self.caches().access.learn(file, self.principal(), (state, rights));
        Ok(rights)
    }

    /// The target of a symbolic link, from memory while the link is believed not to have changed. [`Mount::readlink`] always asks.
    ///
    /// # Errors
    /// What the server says.
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

    /// Notes that a call is sent now whose reply carries attributes.
    pub(crate) fn ask(&self) -> Asked {
        self.caches().attributes.ask()
    }

    /// Takes in what a reply says of a file.
    pub(crate) fn learn(&self, asked: Asked, file: &Handle, attributes: &Attributes) {
        self.caches().attributes.learn(asked, file, attributes);
        if self.version() == Version::V2 && attributes.kind == FileKind::Directory {
            self.caches().names.take_next(asked, file, DirVersion::of(attributes));
        }
    }

    /// The version that a directory is believed to have.
    pub(super) fn dir_version(&self, dir: &Handle) -> Option<DirVersion> {
        self.caches().attributes.get(dir).as_ref().map(DirVersion::of)
    }

    /// Takes in what a lookup found that was made when the directory had that version.
    pub(super) fn learn_lookup(&self, asked: Asked, place: Place<'_>, version: DirVersion, found: &Result<Entry>) {
        let file = match found {
            Ok(entry) => Some(entry.handle),
            Err(error) if error.status() == Some(Status::NoEntry) => None,
            Err(_) => return,
        };
        self.caches().names.learn(asked, place, version, file);
    }

    /// Notes that this client changed a file, or may have when the reply was lost, and that nobody told what it is like now.
    pub(crate) fn outdate(&self, file: &Handle) {
        self.caches().attributes.outdate(file);
    }

    /// Forgets what is known of a directory and its listing.
    pub(crate) fn outdate_dir(&self, dir: &Handle) {
        self.outdate(dir);
        self.outdate_listing(dir);
    }

    /// Notes that this client changed what a name leads to, and tells which file that was, as far as it was known.
    pub(crate) fn outdate_name(&self, place: Place<'_>) -> Option<Handle> {
        let now = self.outdate_listing(place.dir);
        self.caches().names.outdate(now, place)
    }

    /// As [`Mount::outdate_name`], for a change that was made and of whose directory the version of NFS tells nothing.
    pub(super) fn replace_name(&self, asked: Asked, place: Place<'_>, file: Option<Option<Handle>>) -> Option<Handle> {
        let now = self.outdate_listing(place.dir);
        self.caches().names.replace((asked, now), place, file)
    }

    fn outdate_listing(&self, dir: &Handle) -> Asked {
        let now = self.caches().attributes.turn();
        self.caches().directories.outdate(now, dir);
        now
    }
}

/// What the server asks the holder of a delegation for writing.
impl Mounted {
    /// Sends everything of a file that is changed by now to the server, and waits until it is there, or was refused.
    pub(crate) async fn write_back(&self, file: &Handle) {
        self.caches.blocks.write_back(file).await;
    }

    /// How long a file is with the changes that are not at the server, if there are any.
    pub(crate) fn unwritten_size(&self, file: &Handle) -> Option<u64> {
        self.caches.blocks.unwritten_size(file)
    }

    /// Forgets what is known of a name under which a file may have been made, and of the file, when nobody was there to be told.
    pub(crate) fn outdate_opened(&self, target: &Target, file: Option<&Handle>) {
        let now = self.caches.attributes.turn();
        file.into_iter().for_each(|file| self.caches.attributes.outdate(file));
        if let Target::Name { dir, name } = target {
            self.caches.attributes.outdate(dir);
            self.caches.directories.outdate(now, dir);
            self.caches.names.outdate(now, Place { dir, name });
        }
    }

    /// The attributes of a file as they were learned last, unless this client has changed it since.
    pub(crate) fn last_attributes(&self, file: &Handle) -> Option<Attributes> {
        self.caches.attributes.last(file)
    }
}
