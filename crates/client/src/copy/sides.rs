//! What a walk asks of the tree that it walks through, of the place for the copy, and of the way from one to the other.

use std::future::Future;
use std::sync::Arc;

use vfs::Attributes;

use super::CopyError;
use super::job::Job;
use super::xattrs::Xattrs;
use crate::SpecialFile;

/// Where a tree is copied from.
pub(super) trait Origin: Xattrs {
    /// A file of any kind, as it was met.
    type File;
    /// A directory while its entries are asked for.
    type Listing<'l>: Entries<Self::File>
    where
        Self: 'l;

    /// The attributes that a file had when it was met.
    fn attributes(file: &Self::File) -> &Attributes;

    /// What has the extended attributes of a file.
    fn holder(file: &Self::File) -> &Self::Holder;

    /// Begins to list a directory.
    async fn list(&self, dir: &Self::File) -> Result<Self::Listing<'_>, CopyError>;

    /// Where a symbolic link leads.
    async fn readlink(&self, link: &Self::File, path: &[u8]) -> Result<Vec<u8>, CopyError>;
}

/// The entries of a directory.
pub(super) trait Entries<F> {
    /// The next one, with its name in the directory `path`. What is gone since that was listed is left out.
    async fn next(&mut self, path: &[u8]) -> Result<Option<(Vec<u8>, F)>, CopyError>;
}

/// Where a tree is copied to.
pub(super) trait Target: Xattrs<Holder = Self::Made> {
    /// Something that was made there.
    type Made: Clone;
    /// A name for something that is to be made.
    type Place;

    /// Whether files there may have several names.
    fn has_hard_links(&self) -> bool;

    /// The place with a name in a directory that was made; `path` is the one below the tree's top.
    fn place(dir: &Self::Made, path: &[u8], name: &[u8]) -> Self::Place;

    /// What is there under the name.
    async fn existing(&self, to: &Self::Place) -> Result<Option<(Self::Made, Attributes)>, CopyError>;

    /// Makes a directory that its files can be copied into, for a copy of the one with these attributes, or takes the
    /// one that is there when that is allowed; tells its attributes.
    async fn make_directory(
        &self,
        job: &Job,
        to: &Self::Place,
        like: &Attributes,
    ) -> Result<(Self::Made, Attributes), CopyError>;

    /// Marks a directory as a copy of `origin` that is not whole yet.
    async fn mark(&self, dir: &Self::Made, path: &[u8], origin: &[u8]) -> Result<(), CopyError>;

    /// Takes the mark away.
    async fn unmark(&self, dir: &Self::Made, path: &[u8]) -> Result<(), CopyError>;

    /// Makes a symbolic link like the one with these attributes.
    async fn make_symlink(
        &self,
        job: &Job,
        to: &Self::Place,
        target_and_like: (Vec<u8>, &Attributes),
    ) -> Result<(), CopyError>;

    /// Makes a device, a socket or a FIFO like the one with these attributes.
    async fn make_special(
        &self,
        job: &Job,
        to: &Self::Place,
        node_and_like: (SpecialFile, &Attributes),
    ) -> Result<(), CopyError>;

    /// Gives a file that was copied one more name.
    async fn make_link(&self, job: &Job, to: &Self::Place, copy: Self::Made) -> Result<(), CopyError>;

    /// Gives a directory the attributes that it shall have in the end: those of another one.
    async fn finish(&self, job: &Job, path: &[u8], dir: (Self::Made, &Attributes)) -> Result<(), CopyError>;
}

/// What a walk copies from.
pub(super) type File<R> = <<R as Route>::Origin as Origin>::File;
/// What a walk makes.
pub(super) type Made<R> = <<R as Route>::Target as Target>::Made;
/// Where a walk makes it.
pub(super) type Place<R> = <<R as Route>::Target as Target>::Place;

/// From where to where, and how regular files get there.
pub(super) trait Route: Clone + 'static {
    type Origin: Origin;
    type Target: Target;

    fn origin(&self) -> &Self::Origin;

    fn target(&self) -> &Self::Target;

    /// Whether both sides are on one server, so that a file may be its own copy.
    fn is_one_server(&self) -> bool {
        false
    }

    /// Copies a regular file with all that it has.
    fn copy(
        self,
        job: Arc<Job>,
        from: File<Self>,
        path: Vec<u8>,
        to: Place<Self>,
    ) -> impl Future<Output = Result<Made<Self>, CopyError>> + Send + 'static;
}
