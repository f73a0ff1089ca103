//! Forwards calls from a wrapper to the wrapped file system.

/// Writes the methods of a [`FileSystem`](crate::FileSystem) or an [`OpenFile`](crate::OpenFile) that a wrapper hands
/// to the one it wraps.
///
/// Most methods of these traits have a default answer. A wrapper that leaves one out gives that answer in place of its
/// inner file system's: it loses a fast path or a feature, and nobody notices. So every wrapper names each method,
/// here or by a function of its own, and its `impl` denies `clippy::missing_trait_methods`: a method that a trait gains
/// is then an error in every wrapper until somebody decides what the wrapper does with it.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use vfs::{Context, Entry, FileSystem, Found, Place, Result};
///
/// /// Counts the names that are looked up.
/// struct Counted {
///     inner: Arc<dyn FileSystem>,
///     names: AtomicU64,
/// }
///
/// #[deny(clippy::missing_trait_methods)]
/// impl FileSystem for Counted {
///     vfs::forward!(FileSystem for self.inner:
///         root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
///         set_attributes, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time, lease,
///         read_dir, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr,
///         list_xattrs, remove_xattr, acls, set_acls, maintain, sync_all, memory, losses, log_marks,
///         set_log_mark, space);
///
///     fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
///         self.names.fetch_add(1, Ordering::Relaxed);
///         self.inner.lookup(cx, place)
///     }
///
///     fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
///         self.names.fetch_add(1, Ordering::Relaxed);
///         self.inner.find(cx, place)
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward {
    (FileSystem for $self:ident.$inner:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward_file_system!($self.$inner $method);)+
    };
    (OpenFile for $self:ident.$inner:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward_open_file!($self.$inner $method);)+
    };
}

/// One method that calls the method of that name.
#[doc(hidden)]
#[macro_export]
macro_rules! forward_method {
    ($self:ident.$inner:ident $method:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {
        fn $method(&$self, $($argument: $type),*) $(-> $result)? {
            $self.$inner.$method($($argument),*)
        }
    };
}

/// The methods of [`FileSystem`](crate::FileSystem).
#[doc(hidden)]
#[macro_export]
macro_rules! forward_file_system {
    ($self:ident.$inner:ident root) => {
        $crate::forward_method!($self.$inner root() -> $crate::Handle);
    };
    ($self:ident.$inner:ident storage) => {
        $crate::forward_method!($self.$inner storage() -> Option<u64>);
    };
    ($self:ident.$inner:ident origin) => {
        $crate::forward_method!($self.$inner origin() -> Option<$crate::Origin>);
    };
    ($self:ident.$inner:ident set_borders) => {
        $crate::forward_method!($self.$inner set_borders(origins: &[$crate::Origin]));
    };
    ($self:ident.$inner:ident blocking) => {
        $crate::forward_method!($self.$inner blocking() -> $crate::Blocking);
    };
    ($self:ident.$inner:ident changes_wait) => {
        $crate::forward_method!($self.$inner changes_wait() -> bool);
    };
    ($self:ident.$inner:ident properties) => {
        $crate::forward_method!($self.$inner properties() -> $crate::Properties);
    };
    ($self:ident.$inner:ident is_read_only) => {
        $crate::forward_method!($self.$inner is_read_only(cx: &$crate::Context<'_>) -> $crate::Result<bool>);
    };
    ($self:ident.$inner:ident attributes) => {
        $crate::forward_method!($self.$inner attributes(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<$crate::Attributes>);
    };
    ($self:ident.$inner:ident access) => {
        $crate::forward_method!($self.$inner access(
            cx: &$crate::Context<'_>, node: &$crate::Handle, attributes: &$crate::Attributes, wanted: $crate::Access
        ) -> $crate::Result<$crate::Access>);
    };
    ($self:ident.$inner:ident set_attributes) => {
        $crate::forward_method!($self.$inner set_attributes(
            cx: &$crate::Context<'_>, node: &$crate::Handle, set: &$crate::SetAttributes
        ) -> $crate::Result<$crate::Attributes>);
    };
    ($self:ident.$inner:ident lookup) => {
        $crate::forward_method!($self.$inner lookup(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>
        ) -> $crate::Result<$crate::Entry>);
    };
    ($self:ident.$inner:ident find) => {
        $crate::forward_method!($self.$inner find(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>
        ) -> $crate::Result<$crate::Found>);
    };
    ($self:ident.$inner:ident parent) => {
        $crate::forward_method!($self.$inner parent(
            cx: &$crate::Context<'_>, dir: &$crate::Handle
        ) -> $crate::Result<$crate::Entry>);
    };
    ($self:ident.$inner:ident read_link) => {
        $crate::forward_method!($self.$inner read_link(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<Vec<u8>>);
    };
    ($self:ident.$inner:ident open) => {
        $crate::forward_method!($self.$inner open(
            cx: &$crate::Context<'_>, node: &$crate::Handle, mode: $crate::OpenMode
        ) -> $crate::Result<std::sync::Arc<dyn $crate::OpenFile>>);
    };
    ($self:ident.$inner:ident hold) => {
        $crate::forward_method!($self.$inner hold(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<$crate::FileHold>);
    };
    ($self:ident.$inner:ident has_local_locks) => {
        $crate::forward_method!($self.$inner has_local_locks() -> bool);
    };
    ($self:ident.$inner:ident open_for_locks) => {
        $crate::forward_method!($self.$inner open_for_locks(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<Box<dyn $crate::LockFile>>);
    };
    ($self:ident.$inner:ident lease_break_time) => {
        $crate::forward_method!($self.$inner lease_break_time() -> Option<std::time::Duration>);
    };
    ($self:ident.$inner:ident lease) => {
        $crate::forward_method!($self.$inner lease(
            cx: &$crate::Context<'_>, node: &$crate::Handle, on_break: $crate::OnLeaseBreak
        ) -> $crate::Result<Box<dyn $crate::FileLease>>);
    };
    ($self:ident.$inner:ident read_dir) => {
        $crate::forward_method!($self.$inner read_dir(
            cx: &$crate::Context<'_>, list: $crate::ReadDir<'_>, each: $crate::EachEntry<'_>
        ) -> $crate::Result<$crate::Listing>);
    };
    ($self:ident.$inner:ident create) => {
        $crate::forward_method!($self.$inner create(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>, mode: $crate::CreateMode, set: &$crate::SetAttributes
        ) -> $crate::Result<$crate::Entry>);
    };
    ($self:ident.$inner:ident make_node) => {
        $crate::forward_method!($self.$inner make_node(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>, node: $crate::NewNode<'_>, set: &$crate::SetAttributes
        ) -> $crate::Result<$crate::Entry>);
    };
    ($self:ident.$inner:ident link) => {
        $crate::forward_method!($self.$inner link(
            cx: &$crate::Context<'_>, node: &$crate::Handle, place: $crate::Place<'_>
        ) -> $crate::Result<$crate::Attributes>);
    };
    ($self:ident.$inner:ident remove) => {
        $crate::forward_method!($self.$inner remove(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident remove_seen) => {
        $crate::forward_method!($self.$inner remove_seen(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>, seen: &$crate::Entry
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident remove_dir) => {
        $crate::forward_method!($self.$inner remove_dir(
            cx: &$crate::Context<'_>, place: $crate::Place<'_>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident rename) => {
        $crate::forward_method!($self.$inner rename(
            cx: &$crate::Context<'_>, from: $crate::Place<'_>, to: $crate::Place<'_>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident get_xattr) => {
        $crate::forward_method!($self.$inner get_xattr(
            cx: &$crate::Context<'_>, node: &$crate::Handle, name: $crate::XattrName<'_>
        ) -> $crate::Result<Option<Vec<u8>>>);
    };
    ($self:ident.$inner:ident set_xattr) => {
        $crate::forward_method!($self.$inner set_xattr(
            cx: &$crate::Context<'_>, node: &$crate::Handle, set: &$crate::SetXattr<'_>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident list_xattrs) => {
        $crate::forward_method!($self.$inner list_xattrs(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<Vec<Box<[u8]>>>);
    };
    ($self:ident.$inner:ident remove_xattr) => {
        $crate::forward_method!($self.$inner remove_xattr(
            cx: &$crate::Context<'_>, node: &$crate::Handle, name: $crate::XattrName<'_>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident acls) => {
        $crate::forward_method!($self.$inner acls(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<$crate::Acls>);
    };
    ($self:ident.$inner:ident set_acls) => {
        $crate::forward_method!($self.$inner set_acls(
            cx: &$crate::Context<'_>, node: &$crate::Handle, acls: &$crate::Acls
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident maintain) => {
        $crate::forward_method!($self.$inner maintain());
    };
    ($self:ident.$inner:ident sync_all) => {
        $crate::forward_method!($self.$inner sync_all(cx: &$crate::Context<'_>) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident memory) => {
        $crate::forward_method!($self.$inner memory() -> Option<$crate::Memory>);
    };
    ($self:ident.$inner:ident losses) => {
        $crate::forward_method!($self.$inner losses() -> u64);
    };
    ($self:ident.$inner:ident log_marks) => {
        $crate::forward_method!($self.$inner log_marks(
            others: &[std::path::PathBuf]
        ) -> $crate::Result<Vec<$crate::LogMark>>);
    };
    ($self:ident.$inner:ident set_log_mark) => {
        $crate::forward_method!($self.$inner set_log_mark(mark: &[u8]) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident space) => {
        $crate::forward_method!($self.$inner space(
            cx: &$crate::Context<'_>, node: &$crate::Handle
        ) -> $crate::Result<$crate::Space>);
    };
}

/// The methods of [`OpenFile`](crate::OpenFile).
#[doc(hidden)]
#[macro_export]
macro_rules! forward_open_file {
    ($self:ident.$inner:ident read_at) => {
        $crate::forward_method!($self.$inner read_at(
            cx: &$crate::Context<'_>, offset_bytes: u64, into: &mut [u8]
        ) -> $crate::Result<usize>);
    };
    ($self:ident.$inner:ident read_lent) => {
        $crate::forward_method!($self.$inner read_lent(
            cx: &$crate::Context<'_>, offset_bytes: u64, into: &mut [u8]
        ) -> $crate::Result<$crate::ReadBytes>);
    };
    ($self:ident.$inner:ident write_at) => {
        $crate::forward_method!($self.$inner write_at(
            cx: &$crate::Context<'_>, offset_bytes: u64, data: &[u8], stability: $crate::Stability
        ) -> $crate::Result<$crate::Written>);
    };
    ($self:ident.$inner:ident write_parts_at) => {
        $crate::forward_method!($self.$inner write_parts_at(
            cx: &$crate::Context<'_>, offset_bytes: u64, parts: &[&[u8]], stability: $crate::Stability
        ) -> $crate::Result<$crate::Written>);
    };
    ($self:ident.$inner:ident sync) => {
        $crate::forward_method!($self.$inner sync(cx: &$crate::Context<'_>) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident check_written) => {
        $crate::forward_method!($self.$inner check_written(cx: &$crate::Context<'_>) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident seek) => {
        $crate::forward_method!($self.$inner seek(
            cx: &$crate::Context<'_>, offset_bytes: u64, what: $crate::Seek
        ) -> $crate::Result<Option<u64>>);
    };
    ($self:ident.$inner:ident allocate) => {
        $crate::forward_method!($self.$inner allocate(
            cx: &$crate::Context<'_>, range_bytes: std::ops::Range<u64>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident deallocate) => {
        $crate::forward_method!($self.$inner deallocate(
            cx: &$crate::Context<'_>, range_bytes: std::ops::Range<u64>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident copy_range) => {
        $crate::forward_method!($self.$inner copy_range(
            cx: &$crate::Context<'_>, from: &dyn $crate::OpenFile, range: $crate::CopyRange
        ) -> $crate::Result<u64>);
    };
    ($self:ident.$inner:ident clone_range) => {
        $crate::forward_method!($self.$inner clone_range(
            cx: &$crate::Context<'_>, from: &dyn $crate::OpenFile, range: $crate::CopyRange
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident lock) => {
        $crate::forward_method!($self.$inner lock(
            cx: &$crate::Context<'_>, owner: $crate::LockOwner, lock: $crate::FileLock
        ) -> $crate::Result<$crate::LockOutcome>);
    };
    ($self:ident.$inner:ident test_lock) => {
        $crate::forward_method!($self.$inner test_lock(
            cx: &$crate::Context<'_>, owner: $crate::LockOwner, lock: $crate::FileLock
        ) -> $crate::Result<$crate::LockOutcome>);
    };
    ($self:ident.$inner:ident unlock) => {
        $crate::forward_method!($self.$inner unlock(
            cx: &$crate::Context<'_>, owner: $crate::LockOwner, range_bytes: std::ops::RangeInclusive<u64>
        ) -> $crate::Result<()>);
    };
    ($self:ident.$inner:ident attributes) => {
        $crate::forward_method!($self.$inner attributes(
            cx: &$crate::Context<'_>
        ) -> $crate::Result<$crate::Attributes>);
    };
    ($self:ident.$inner:ident host_file) => {
        $crate::forward_method!($self.$inner host_file() -> Option<$crate::HostFile>);
    };
    ($self:ident.$inner:ident is_resident) => {
        $crate::forward_method!($self.$inner is_resident(offset_bytes: u64, length: usize) -> bool);
    };
    ($self:ident.$inner:ident evict) => {
        $crate::forward_method!($self.$inner evict(range_bytes: std::ops::Range<u64>) -> bool);
    };
}
