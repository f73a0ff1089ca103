use std::sync::Arc;
use std::time::SystemTime;

use vfs::{FileSystem, Memory};

/// A file system as after a start of the machine, though the test's machine goes on.
pub struct Rebooted {
    pub inner: Arc<dyn FileSystem>,
    pub at: SystemTime,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Rebooted {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time,
        lease, read_dir, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr,
        list_xattrs, remove_xattr, acls, set_acls, maintain, sync_all, space, losses, log_marks, set_log_mark);

    fn memory(&self) -> Option<Memory> {
        Some(Memory { since: self.at.into(), ..self.inner.memory()? })
    }
}
