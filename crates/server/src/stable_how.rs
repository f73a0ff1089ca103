//! Converts stability between the protocols and the file system (RFC 1813 §3.3.7, RFC 8881 §18.32).

use proto::nfs3::StableHow;
use vfs::Stability;

/// The stability that a client requests.
pub(crate) fn stability(stable: StableHow) -> Stability {
    match stable {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::Data,
        StableHow::FileSync => Stability::File,
    }
}

/// The stability that a reply reports.
pub(crate) fn stable_how(stability: Stability) -> StableHow {
    match stability {
        Stability::Unstable => StableHow::Unstable,
        Stability::Data => StableHow::DataSync,
        Stability::File => StableHow::FileSync,
    }
}
