//! Attributes from the cache, and how what replies tell gets into it.

use vfs::Attributes;

use super::Mount;
use crate::cache::Asked;
use crate::{Entry, Handle, Result};

impl Mount {
    /// The attributes of a file, from memory while they are believed ([`Caching`](crate::Caching)). [`Mount::getattr`] always asks.
    ///
    /// # Errors
    /// What the server says.
    pub async fn attributes(&self, file: &Handle) -> Result<Attributes> {
        let cached = self.0.caches.attributes.get(file);
        self.0.cache_recorder.attributes.look(cached.is_some());
        match cached {
            Some(attributes) => Ok(attributes),
            None => self.getattr(file).await,
        }
    }

    /// The attributes of a file that is opened: the server's own, so that what others wrote before they closed it is seen
    /// (close-to-open consistency), unless [`Caching::close_to_open`](crate::Caching::close_to_open) is off.
    ///
    /// # Errors
    /// What the server says.
    pub async fn attributes_at_open(&self, file: &Handle) -> Result<Attributes> {
        match self.0.options.caching.close_to_open {
            true => self.getattr(file).await,
            false => self.attributes(file).await,
        }
    }

    /// Notes that a call is sent now whose reply carries attributes.
    pub(crate) fn ask(&self) -> Asked {
        self.0.caches.attributes.ask()
    }

    /// Takes in what a reply says of a file.
    pub(crate) fn learn(&self, asked: Asked, file: &Handle, attributes: &Attributes) {
        self.0.caches.attributes.learn(asked, file, attributes);
    }

    /// Takes in the file that a reply tells of, if it does.
    pub(super) fn learn_entry(&self, asked: Asked, result: Result<Entry>) -> Result<Entry> {
        result.inspect(|entry| self.learn(asked, &entry.handle, &entry.attributes))
    }

    /// Notes that this client changed a file, or may have when the reply was lost, and that nobody told what it is like now.
    pub(crate) fn outdate(&self, file: &Handle) {
        self.0.caches.attributes.outdate(file);
    }
}
