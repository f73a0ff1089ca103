//! The lock manager and the status monitor, driven by hand.

mod access;
mod host;
mod locks;
mod restarts;
mod shares;
mod waits;
