//! What a walk needs of the tree it copies, of the place for the copy, and of the route between them.

use std::future::Future;
use std::sync::Arc;

use client_files::SpecialFile;
use vfs::{Attributes, Timestamp};

use super::error::CopyError;
use super::job::Job;

/// The extended attributes of one side of a copy. Paths are for messages.
pub(super) trait Xattrs {
    /// A regular file or a directory there.
    type Holder;

    /// The names of all attributes.
    async fn names(&self, file: &Self::Holder, path: &[u8]) -> Result<Vec<Vec<u8>>, CopyError>;

    /// The value of one, if it still exists.
    async fn value(&self, file: &Self::Holder, path: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, CopyError>;

    /// Creates or replaces one.
    async fn set(&self, file: &Self::Holder, path: &[u8], name: &[u8], value: Vec<u8>) -> Result<(), CopyError>;

    /// Removes one, if it still exists.
    async fn remove(&self, file: &Self::Holder, path: &[u8], name: &[u8]) -> Result<(), CopyError>;
}

/// Where a tree is copied from.
pub(super) trait Origin: Xattrs {
    /// A file of any kind, as the walk met it.
    type File;
    /// A directory being listed.
    type Listing<'l>: Entries<Self::File>
    where
        Self: 'l;

    /// The attributes of a file when the walk met it.
    fn attributes(file: &Self::File) -> &Attributes;

    /// The object that holds a file's extended attributes.
    fn holder(file: &Self::File) -> &Self::Holder;

    /// The attributes of a file now, past all caches.
    async fn attributes_now(&self, file: &Self::File, path: &[u8]) -> Result<Attributes, CopyError>;

    async fn list(&self, dir: &Self::File) -> Result<Self::Listing<'_>, CopyError>;

    /// The target of a symbolic link.
    async fn readlink(&self, link: &Self::File, path: &[u8]) -> Result<Vec<u8>, CopyError>;
}

/// An entry of a directory.
pub(super) type Listed<F> = (Vec<u8>, Result<F, CopyError>);

/// The entries of a directory.
pub(super) trait Entries<F> {
    /// The next entry of the directory `path`: its name, and the file or why it cannot be looked up. Entries removed
    /// since the listing are left out.
    async fn next(&mut self, path: &[u8]) -> Result<Option<Listed<F>>, CopyError>;
}

/// Where a tree is copied to.
pub(super) trait Target: Xattrs<Holder = Self::Made> {
    /// A file or directory that was made there.
    type Made: Clone;
    /// A name for something to make.
    type Place;

    /// Whether files there may have several names.
    fn has_hard_links(&self) -> bool;

    /// The place for `name` in a directory that was made; `path` is the one below the tree's top.
    fn place(dir: &Self::Made, path: &[u8], name: &[u8]) -> Self::Place;

    /// The existing file of that name, if any.
    async fn existing(&self, to: &Self::Place) -> Result<Option<(Self::Made, Attributes)>, CopyError>;

    /// Sets the time of modification of an existing file.
    async fn set_modified(&self, made: &Self::Made, path: &[u8], time: Timestamp) -> Result<(), CopyError>;

    /// Makes a directory that files can be copied into, for a copy of the one with these attributes, or takes an
    /// existing one if allowed. Returns its attributes, too.
    async fn make_directory(
        &self,
        job: &Job,
        to: &Self::Place,
        like: &Attributes,
    ) -> Result<(Self::Made, Attributes), CopyError>;

    /// Makes the [mark](super::mark) of a directory that is to be made beside it. Returns whether that worked.
    async fn mark_beside(&self, to: &Self::Place, origin: &[u8]) -> bool;

    /// Moves the mark from beside a directory into it.
    async fn move_mark_in(&self, to: &Self::Place, dir: &Self::Made) -> Result<(), CopyError>;

    /// Makes the mark in a directory.
    async fn mark(&self, to: &Self::Place, dir: &Self::Made, origin: &[u8]) -> Result<(), CopyError>;

    /// Moves the mark beside its directory.
    async fn move_mark_out(&self, to: &Self::Place, dir: &Self::Made) -> Result<(), CopyError>;

    /// Removes the mark beside a directory.
    async fn unmark(&self, to: &Self::Place) -> Result<(), CopyError>;

    /// Makes a symbolic link like the one with these attributes.
    async fn make_symlink(
        &self,
        job: &Job,
        to: &Self::Place,
        target: Vec<u8>,
        like: &Attributes,
    ) -> Result<(), CopyError>;

    /// Makes a device, a socket or a FIFO like the one with these attributes.
    async fn make_special(
        &self,
        job: &Job,
        to: &Self::Place,
        node: SpecialFile,
        like: &Attributes,
    ) -> Result<(), CopyError>;

    /// Gives a copied file one more name.
    async fn make_link(&self, job: &Job, to: &Self::Place, copy: Self::Made) -> Result<(), CopyError>;

    /// Sets the final attributes of a directory, from those of its original.
    async fn finish(&self, job: &Job, path: &[u8], dir: Self::Made, like: &Attributes) -> Result<(), CopyError>;
}

/// What a walk copies from.
pub(super) type File<R> = <<R as Route>::Origin as Origin>::File;
/// What a walk makes.
pub(super) type Made<R> = <<R as Route>::Target as Target>::Made;
/// Where a walk makes it.
pub(super) type Place<R> = <<R as Route>::Target as Target>::Place;

/// From where to where a tree is copied, and how regular files get there.
pub(super) trait Route: Clone + 'static {
    type Origin: Origin;
    type Target: Target;

    fn origin(&self) -> &Self::Origin;

    fn target(&self) -> &Self::Target;

    /// Whether both sides are on one server, so that a file may be its own copy.
    fn is_one_server(&self) -> bool {
        false
    }

    /// Copies a regular file with all its attributes.
    fn copy(
        self,
        job: Arc<Job>,
        from: File<Self>,
        path: Vec<u8>,
        to: Place<Self>,
    ) -> impl Future<Output = Result<Made<Self>, CopyError>> + Send + 'static;
}
