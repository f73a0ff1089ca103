/// The reason why the exports form no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportTableError {
    /// Two exports have the same name.
    #[error("{0} is exported twice; each export needs a name of its own")]
    DuplicateName(String),
    /// Two exports have the same fsid.
    #[error("{first} and {second} have the same fsid; give each its own")]
    DuplicateFsid {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Two exports share a directory with different rules, so that a client could choose the more generous one.
    #[error(
        "{first} and {second} are the same directory and offer it differently, so that each client could choose what \
         it may do; give both the same clients and options, or export the directory once"
    )]
    SameDirectory {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}
