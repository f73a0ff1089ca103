//! Handles in records.

use vfs::Handle;
use xdr::{Decode, Decoder, Encode, Encoder};

/// A file, by its outer handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) Handle);

impl FileId {
    /// No file.
    pub(crate) fn none() -> FileId {
        FileId(crate::aliases::none())
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.as_bytes().is_empty()
    }
}

impl Encode for FileId {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.0.as_bytes());
    }
}

impl<'r> Decode<'r> for FileId {
    fn decode(from: &mut Decoder<'r>) -> xdr::Result<FileId> {
        let bytes = from.opaque(Handle::MAX_BYTES)?;
        Ok(FileId(Handle::new(bytes).unwrap_or_else(|| unreachable!("the length was checked"))))
    }
}
