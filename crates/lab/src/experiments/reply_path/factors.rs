//! The factors.

pub(super) const WAY: &str = "way";
pub(super) const LOAD: &str = "load";
pub(super) const SIZE: &str = "size";
