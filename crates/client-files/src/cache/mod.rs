//! What a mount caches: attributes, names, rights, targets of links, listings and data.
//!
//! Operations of a [`Mount`](crate::Mount) under the names of the RFCs always ask the server; [`Dir`](crate::Dir) and
//! [`File`](crate::File) ask the caches first. Every cache is bounded, has one short lock that is never held across a
//! wait, and is stale for no longer than [`Caching`](crate::Caching) says.
//!
//! # What makes an entry valid
//! - Attributes are valid for a time that grows while the file does not change (`attributes.rs`).
//! - Names, rights, targets and listings are kept with the version of the file or directory that was known when they
//!   were asked for. They are valid while the cache holds that version to be current.
//! - Replies are ordered by when their calls were sent and received, then by the file's times.
//!
//! # What makes it invalid
//! - Every change by this client invalidates what it touches, by a guard (`mount/change.rs`). So a lost reply, or a
//!   caller that is dropped, leaves nothing stale behind. Changes of names go on when their caller is dropped
//!   (`mount/name_changes.rs`).
//! - Replies to changes of a directory carry its version before and after. If nothing else lies in between, all other
//!   entries of the directory stay valid.
//! - NFSv2 carries no such versions. There the next attributes of the directory count as the result of this client's
//!   change, and answers about names expire all the same.
//!
//! The time comes from outside, with each question and each stamp of a call.
//!
//! Several callers with one question share one call (`questions.rs`).

mod access;
mod answers;
mod attributes;
mod blocks;
#[cfg(test)]
mod bounds;
mod directories;
mod names;
mod order;
mod questions;
mod symlinks;
mod version;

use crate::{Caching, Sizes};
pub(crate) use access::AccessCache;
pub(crate) use answers::FileState;
pub(crate) use attributes::{Asked, AttributeCache};
pub(crate) use blocks::{BlockCache, FileData, HoldAll, Passing, Promise};
pub(crate) use directories::{DirectoryCache, KeptPart, Part};
pub(crate) use names::{NameAt, NameCache};
pub use order::Order;
pub(crate) use questions::{Question, Questions};
pub(crate) use symlinks::SymlinkCache;
pub(crate) use version::DirVersion;

/// The caches of a mount.
#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) attributes: AttributeCache,
    pub(crate) names: NameCache,
    pub(crate) access: AccessCache,
    pub(crate) symlinks: SymlinkCache,
    pub(crate) blocks: BlockCache,
    pub(crate) directories: DirectoryCache,
    pub(crate) questions: Questions,
}

impl Caches {
    pub(crate) fn new(caching: &Caching, sizes: Sizes) -> Caches {
        Caches {
            attributes: AttributeCache::new(caching),
            names: NameCache::new(caching),
            access: AccessCache::new(caching),
            symlinks: SymlinkCache::new(caching),
            blocks: BlockCache::new(caching, sizes),
            directories: DirectoryCache::new(caching),
            questions: Questions::new(caching),
        }
    }
}
