//! The files that a server keeps for itself: keys, records, logs.
//!
//! What always holds:
//!
//! - They are opened, made, renamed and removed as the server, though the thread may use files as a client just then
//!   ([`AsServer`]).
//! - Nobody else can change them: the directory and each file belong to the server or to root, no other user may write
//!   them, and a file has one name ([`Refusal`]). So a planted file is never used, a symbolic link is never followed,
//!   and nobody truncates a file that is mapped.
//! - Directories are made with mode 0700 and files with mode 0600, whatever the umask is.
//! - A file that is missing or damaged is reported in one form ([`Flaw`]).
//! - A lock ends with its holder, though a child of the process has a copy of the descriptor ([`Locked`]).

mod as_server;
mod check;
mod dir;
mod flaw;
mod locked;
mod remedy;

pub use as_server::AsServer;
pub use check::{Refusal, check, make_private};
pub use dir::OwnDir;
pub use flaw::{FileKind, Flaw};
pub use locked::Locked;
pub use remedy::{NAME_ANOTHER, explained, remedy};
