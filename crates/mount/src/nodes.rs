//! The node IDs of files, and the kernel's lookup counts.

use std::collections::HashMap;
use std::sync::Mutex;

use rustix::io::Errno;
use vfs::{Attributes, Handle, Timestamp};

use crate::abi::ROOT;
use crate::sync::hold;

/// The files that the kernel knows. IDs are never reused, so they need no generation.
#[derive(Debug)]
pub(crate) struct Nodes(Mutex<Table>);

#[derive(Debug)]
struct Table {
    nodes: HashMap<u64, Node>,
    numbers: HashMap<Handle, u64>,
    next: u64,
}

#[derive(Debug)]
struct Node {
    handle: Handle,
    /// How many replies named it that the kernel has not forgotten yet.
    lookups: u64,
    /// The content version last sent to the kernel.
    told: Option<Version>,
    /// Its permission bits, as last seen.
    mode: u32,
    /// Of a directory: the ID of the one above and the name in it that last led here.
    name: Option<(u64, Box<[u8]>)>,
}

/// Shows whether the kernel's pages are still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    change: u64,
    modified: Timestamp,
    size_bytes: u64,
}

impl Version {
    fn of(attributes: &Attributes) -> Version {
        Version { change: attributes.change, modified: attributes.modified, size_bytes: attributes.size_bytes }
    }
}

impl Nodes {
    /// A table with only the root, which is never forgotten.
    pub(crate) fn new(root: Handle) -> Nodes {
        let node = Node { handle: root, lookups: 1, told: None, mode: 0, name: None };
        let (nodes, numbers) = (HashMap::from([(ROOT, node)]), HashMap::from([(root, ROOT)]));
        Nodes(Mutex::new(Table { nodes, numbers, next: ROOT + 1 }))
    }

    /// The handle of a file.
    ///
    /// # Errors
    /// ESTALE for an ID that the kernel does not have.
    pub(crate) fn handle(&self, number: u64) -> Result<Handle, Errno> {
        hold(&self.0).nodes.get(&number).map(|node| node.handle).ok_or(Errno::STALE)
    }

    /// The node ID of a file; counts one more lookup by the kernel.
    pub(crate) fn tell(&self, handle: Handle, attributes: &Attributes) -> u64 {
        let mut table = hold(&self.0);
        let table = &mut *table;
        let number = *table.numbers.entry(handle).or_insert(table.next);
        if number == table.next {
            table.next += 1;
        }
        let node = table.nodes.entry(number).or_insert(Node { handle, lookups: 0, told: None, mode: 0, name: None });
        node.lookups += 1;
        (node.told, node.mode) = (Some(Version::of(attributes)), attributes.mode);
        number
    }

    /// Notes the name that led to a directory in the one with ID `above`.
    pub(crate) fn note_name(&self, number: u64, above: u64, name: vfs::Name<'_>) {
        if let Some(node) = hold(&self.0).nodes.get_mut(&number) {
            node.name = Some((above, name.as_bytes().into()));
        }
    }

    /// The name that last led to a directory, and the handle of the one above.
    pub(crate) fn name(&self, number: u64) -> Option<(Handle, Box<[u8]>)> {
        let table = hold(&self.0);
        let (above, name) = table.nodes.get(&number)?.name.as_ref()?;
        Some((table.nodes.get(above)?.handle, name.clone()))
    }

    /// Notes the attributes that are sent to the kernel.
    pub(crate) fn tell_attributes(&self, number: u64, attributes: &Attributes) {
        if let Some(node) = hold(&self.0).nodes.get_mut(&number) {
            (node.told, node.mode) = (Some(Version::of(attributes)), attributes.mode);
        }
    }

    /// The permission bits without set-id bits, if the file has any. The set-group-ID bit counts only with group
    /// execution; otherwise it stands for mandatory locks.
    pub(crate) fn mode_without_set_ids(&self, number: u64) -> Option<u32> {
        let mode = hold(&self.0).nodes.get(&number).map(|node| node.mode & 0o7777)?;
        let lent = if mode & 0o010 == 0 { 0o4000 } else { 0o6000 };
        (mode & lent != 0).then_some(mode & !lent)
    }

    /// Notes the new permission bits of a file.
    pub(crate) fn note_mode(&self, number: u64, mode: u32) {
        if let Some(node) = hold(&self.0).nodes.get_mut(&number) {
            node.mode = mode;
        }
    }

    /// Whether these attributes show the content version last sent to the kernel.
    pub(crate) fn is_current(&self, number: u64, attributes: &Attributes) -> bool {
        hold(&self.0).nodes.get(&number).is_some_and(|node| node.told == Some(Version::of(attributes)))
    }

    /// Subtracts `count` lookups that the kernel has forgotten.
    pub(crate) fn forget(&self, number: u64, count: u64) {
        let mut table = hold(&self.0);
        let Some(node) = table.nodes.get_mut(&number).filter(|_| number != ROOT) else { return };
        node.lookups = node.lookups.saturating_sub(count);
        if node.lookups == 0 {
            let handle = node.handle;
            table.nodes.remove(&number);
            table.numbers.remove(&handle);
        }
    }

    /// How many files the kernel knows, including the root.
    #[cfg(test)]
    fn count(&self) -> usize {
        hold(&self.0).nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use vfs::FileKind;

    use super::*;

    fn file() -> Attributes {
        Attributes::new(FileKind::Regular, 5)
    }

    #[test]
    fn file_has_one_number_until_the_kernel_has_forgotten_all_it_was_told_and_then_never_again() {
        let nodes = Nodes::new(Handle::from_u64(1));
        let number = nodes.tell(Handle::from_u64(5), &file());
        assert_eq!(nodes.tell(Handle::from_u64(5), &file()), number);
        nodes.forget(number, 1);
        assert_eq!(nodes.handle(number), Ok(Handle::from_u64(5)));
        nodes.forget(number, 1);
        assert_eq!(nodes.handle(number), Err(Errno::STALE));
        assert_ne!(nodes.tell(Handle::from_u64(5), &file()), number);
        assert_eq!(nodes.count(), 2);
    }

    #[test]
    fn root_is_never_forgotten() {
        let nodes = Nodes::new(Handle::from_u64(1));
        assert_eq!(nodes.tell(Handle::from_u64(1), &file()), ROOT);
        nodes.forget(ROOT, u64::MAX);
        assert!(nodes.handle(ROOT).is_ok());
    }

    #[test]
    fn set_id_bits_are_seen_and_the_groups_only_where_it_may_run_the_file() {
        let nodes = Nodes::new(Handle::from_u64(1));
        for (mode, without) in
            [(0o755, None), (0o4755, Some(0o755)), (0o6711, Some(0o711)), (0o2644, None), (0o6644, Some(0o2644))]
        {
            let number = nodes.tell(Handle::from_u64(5), &Attributes { mode, ..file() });
            assert_eq!(nodes.mode_without_set_ids(number), without, "{mode:o}");
        }
    }

    #[test]
    fn pages_are_current_while_the_content_is_what_the_kernel_was_told() {
        let nodes = Nodes::new(Handle::from_u64(1));
        let number = nodes.tell(Handle::from_u64(5), &file());
        assert!(nodes.is_current(number, &Attributes { mode: 0, ..file() }));
        assert!(!nodes.is_current(number, &Attributes { change: 1, ..file() }));
        assert!(!nodes.is_current(number, &Attributes { size_bytes: 1, ..file() }));
    }
}
