//! The operations of NFSv4.2, driven by hand over a file system in memory and over a directory of this machine.

mod acls;
mod client;
mod copies;
mod edge;
mod from_server;
mod holes;
mod names;
mod offload;
pub mod place;
mod setattr;
mod umask;
mod xattrs;
