/// An operation of a file system: the methods of `FileSystem` and `OpenFile`.
///
/// The attributes of an open file are also [`Operation::Attributes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// `attributes`
    Attributes,
    /// `access`
    Access,
    /// `set_attributes`
    SetAttributes,
    /// `lookup`: `find`, too.
    Lookup,
    /// `parent`
    Parent,
    /// `read_link`
    ReadLink,
    /// `open`
    Open,
    /// `read_dir`
    ReadDir,
    /// `create`
    Create,
    /// `make_node`
    MakeNode,
    /// `link`
    Link,
    /// `remove`: `remove_seen`, too.
    Remove,
    /// `remove_dir`
    RemoveDir,
    /// `rename`
    Rename,
    /// `space`
    Space,
    /// `read`: `read_at` and `read_lent` of an open file.
    Read,
    /// `write`: `write_at` of an open file, or `write_parts_at`.
    Write,
    /// A write with stable storage requested; it is also a [`Operation::Write`].
    StableWrite,
    /// `sync` of an open file.
    Sync,
    /// `seek` in an open file.
    Seek,
    /// `allocate` in an open file.
    Allocate,
    /// `deallocate` in an open file.
    Deallocate,
    /// `copy`: `copy_range` into an open file.
    Copy,
    /// `clone`: `clone_range` into an open file.
    Clone,
    /// `get_xattr`
    GetXattr,
    /// `set_xattr`
    SetXattr,
    /// `list_xattrs`
    ListXattrs,
    /// `remove_xattr`
    RemoveXattr,
    /// `acls`
    Acls,
    /// `set_acls`
    SetAcls,
    /// `sync_all`
    SyncAll,
}

impl Operation {
    /// How many there are.
    pub const COUNT: usize = 31;

    /// All operations, with their names in a plan.
    pub const ALL: [(Operation, &'static str); Self::COUNT] = [
        (Operation::Attributes, "attributes"),
        (Operation::Access, "access"),
        (Operation::SetAttributes, "set_attributes"),
        (Operation::Lookup, "lookup"),
        (Operation::Parent, "parent"),
        (Operation::ReadLink, "read_link"),
        (Operation::Open, "open"),
        (Operation::ReadDir, "read_dir"),
        (Operation::Create, "create"),
        (Operation::MakeNode, "make_node"),
        (Operation::Link, "link"),
        (Operation::Remove, "remove"),
        (Operation::RemoveDir, "remove_dir"),
        (Operation::Rename, "rename"),
        (Operation::Space, "space"),
        (Operation::Read, "read"),
        (Operation::Write, "write"),
        (Operation::StableWrite, "stable_write"),
        (Operation::Sync, "sync"),
        (Operation::Seek, "seek"),
        (Operation::Allocate, "allocate"),
        (Operation::Deallocate, "deallocate"),
        (Operation::Copy, "copy"),
        (Operation::Clone, "clone"),
        (Operation::GetXattr, "get_xattr"),
        (Operation::SetXattr, "set_xattr"),
        (Operation::ListXattrs, "list_xattrs"),
        (Operation::RemoveXattr, "remove_xattr"),
        (Operation::Acls, "acls"),
        (Operation::SetAcls, "set_acls"),
        (Operation::SyncAll, "sync_all"),
    ];

    /// Whether calls of this operation have a name that a rule can select.
    pub fn has_name(self) -> bool {
        use Operation::{Create, Link, Lookup, MakeNode, Remove, RemoveDir, Rename};
        matches!(self, Lookup | Create | MakeNode | Link | Remove | RemoveDir | Rename)
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// This operation as a bit of a set.
    pub(crate) fn bit(self) -> u32 {
        1 << self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_operations_is_in_their_order() {
        assert!(Operation::ALL.iter().enumerate().all(|(index, (operation, _))| operation.index() == index));
    }
}
