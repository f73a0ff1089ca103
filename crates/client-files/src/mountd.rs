//! The MOUNT protocol: handles of exports, and lists of them (RFC 1094 Appendix A, RFC 1813 §5).

pub use client_calls::mountd::{ExportEntry, MountEntry, dump, exports, mnt, umnt, version_for};

use crate::{Connection, Options, Result, Url, mount};

/// Connects to the MOUNT program of the URL's server, at a port of the options or the one that rpcbind knows.
///
/// # Errors
/// As for [`Mount::connect`](crate::Mount::connect).
pub async fn connect(url: &Url, options: &Options) -> Result<Connection> {
    mount::connect_mountd(url, options).await
}
