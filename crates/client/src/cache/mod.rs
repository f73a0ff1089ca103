//! What a mount keeps in memory of what the server told it.
//!
//! Every cache is bounded, has one short lock that is never held while something is waited for, and can be wrong for no
//! longer than [`Caching`](crate::Caching) says.

mod attributes;
mod order;

use crate::Caching;
pub(crate) use attributes::{Asked, AttributeCache};

/// The caches of a mount.
#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) attributes: AttributeCache,
}

impl Caches {
    pub(crate) fn new(caching: &Caching) -> Caches {
        Caches { attributes: AttributeCache::new(caching) }
    }
}
