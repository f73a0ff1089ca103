//! How safe written bytes are, in the protocols' terms and in the file system's (RFC 1813 §3.3.7, RFC 8881 §18.32).

use proto::nfs3::StableHow;
use vfs::Stability;

/// What a client asks for.
pub(crate) fn stability(stable: StableHow) -> Stability {
    match stable {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::Data,
        StableHow::FileSync => Stability::File,
    }
}

/// What a client is told.
pub(crate) fn stable_how(stability: Stability) -> StableHow {
    match stability {
        Stability::Unstable => StableHow::Unstable,
        Stability::Data => StableHow::DataSync,
        Stability::File => StableHow::FileSync,
    }
}
