//! The factors and their levels, by which the figures of the source are found too.

pub(super) const LOAD: &str = "load";
pub(super) const CACHE: &str = "server cache";
pub(super) const TRANSPORT: &str = "transport";
pub(super) const VERSION: &str = "version";
pub(super) const STORAGE: &str = "stable storage";

pub(super) const READ: &str = "read";
pub(super) const WRITE: &str = "write";
pub(super) const WARM: &str = "warm";
pub(super) const FLUSHED: &str = "flushed";
pub(super) const TCP: &str = "tcp";
pub(super) const UDP: &str = "udp";
pub(super) const V2: &str = "2";
pub(super) const V3: &str = "3";
