use std::io;

/// The kind of a number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdKind {
    /// A user.
    User,
    /// A group.
    Group,
}

/// Resolves names of users and groups. Calls may block.
pub trait NameService: Send + Sync {
    /// The name of a number, if it has one.
    ///
    /// # Errors
    /// When it cannot be resolved now.
    fn name(&self, kind: IdKind, id: u32) -> io::Result<Option<String>>;

    /// The number of a name, if it has one.
    ///
    /// # Errors
    /// When it cannot be resolved now.
    fn id(&self, kind: IdKind, name: &str) -> io::Result<Option<u32>>;
}
