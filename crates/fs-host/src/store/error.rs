use std::io;

/// Why the store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it belongs to {0}")]
    Foreign(String),
}
