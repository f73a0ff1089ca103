use vfs::{Attributes, Timestamp};

/// Changes whenever the names of a directory change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DirVersion {
    pub(super) change: u64,
    pub(super) modified: Timestamp,
}

impl DirVersion {
    pub(crate) fn of(attributes: &Attributes) -> DirVersion {
        DirVersion { change: attributes.change, modified: attributes.modified }
    }
}
