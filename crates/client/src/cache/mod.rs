//! What a mount keeps in memory of what the server told it.
//!
//! Every cache is bounded, has one short lock that is never held while something is waited for, and can be wrong for no
//! longer than [`Caching`](crate::Caching) says.

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

use vfs::{Attributes, Timestamp};

use crate::{Caching, Sizes};
pub(crate) use access::AccessCache;
pub(crate) use answers::FileState;
pub(crate) use attributes::{Asked, AttributeCache};
pub(crate) use blocks::{BlockCache, FileData, HoldAll, Passing, Promise};
pub(crate) use directories::{DirectoryCache, KeptPart, Part};
pub(crate) use names::{NameCache, Place};
pub(crate) use order::Order;
pub(crate) use questions::{Question, Questions};
pub(crate) use symlinks::SymlinkCache;

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

/// What changes whenever the names of a directory do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DirVersion {
    change: u64,
    modified: Timestamp,
}

impl DirVersion {
    pub(crate) fn of(attributes: &Attributes) -> DirVersion {
        DirVersion { change: attributes.change, modified: attributes.modified }
    }
}
