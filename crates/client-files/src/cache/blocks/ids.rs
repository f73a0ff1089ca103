//! Indexes into the tables of the cache. Each table has a type of its own, so that none is used for another's.

/// Defines the index of a table (a `Slab`).
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(u32);

        impl $name {
            /// The index, which fits: the tables have at most as many entries as there are blocks or open files.
            pub(super) fn new(index: usize) -> $name {
                $name(u32::try_from(index).unwrap_or(u32::MAX))
            }

            pub(super) fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A file of [`BlockTable::files`](super::table::BlockTable::files).
    FileId
}
index! {
    /// A reader of a file: one open file of the mount.
    ReaderId
}
index! {
    /// A block of some file, in the table of all blocks.
    BlockId
}
