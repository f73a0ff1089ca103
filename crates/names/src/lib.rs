//! Names of users and groups and their numbers.
//!
//! - [`NameService`] resolves them; [`MachineNames`] is the machine's own service (NSS: files, LDAP, SSSD …).
//! - [`AnswerCache`] caches answers, negative ones included, for a while and within a bound.
//!
//! A service may block for as long as a directory server takes to reply. Callers that must not block look into their
//! cache, and leave the query to a thread that may.

#![forbid(unsafe_code)]

mod answers;
mod machine;
mod service;

pub use answers::AnswerCache;
pub use machine::MachineNames;
pub use service::{IdKind, NameService};
