use xdr::{Decode, Encode};

use super::MAX_PATH_BYTES;

/// The path of a directory on the server (RFC 1094 §A.4.3, RFC 1813 §5.1.5; `dirpath`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirPath<'a> {
    /// Its bytes.
    #[xdr(max = MAX_PATH_BYTES)]
    pub path: &'a [u8],
}
