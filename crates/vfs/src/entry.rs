use crate::{Attributes, Handle, Name};

/// A file together with its attributes at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The file.
    pub handle: Handle,
    /// Its attributes.
    pub attributes: Attributes,
}

/// A file that a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The file. Its kind and number never change.
    pub entry: Entry,
    /// Whether the attributes are current.
    pub is_current: bool,
}

/// A name in a directory, used or free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The directory.
    pub dir: Handle,
    /// The name in it.
    pub name: Name<'a>,
}
