use std::fmt;

/// A lease on a file: until it breaks, no local process writes to the file. Dropping it ends it, and local processes
/// that wait for that go on.
pub trait FileLease: Send + fmt::Debug {}

/// Runs when a lease breaks, at most once, on any thread. It may end the lease.
pub type OnLeaseBreak = Box<dyn FnOnce() + Send>;
