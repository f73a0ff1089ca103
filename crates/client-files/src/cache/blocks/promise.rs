//! A server's promise about a file, and its effect on own writes.

use std::fmt::Debug;

/// The promise that nobody else changes a file (RFC 8881 §10.4).
pub(crate) trait Promise: Debug + Send + Sync {
    /// Whether it has held since it was given.
    fn holds(&self) -> bool;
}
