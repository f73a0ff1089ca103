//! [`FaultFs`]: wraps a [`FileSystem`](vfs::FileSystem) and makes it fail, wait and write short by rules.
//!
//! A [`FaultPlan`] holds the rules, and they can be replaced while the file system is in use. Rules are made in code or
//! read from text. The text of a plan is a list of rules separated by commas:
//!
//! ```text
//! read:delay=50ms,write:error=nospace@3,sync:error=io%0.01,lookup(core):error=stale,write:short=100@5+,seed=7
//! ```
//!
//! - Before the colon: an [`Operation`] or `any`, and an optional name in parentheses.
//! - After it: `error=` and an [`InjectedError`], `delay=` and a number with `ns`, `us`, `ms` or `s`, `short=` and the
//!   maximum bytes of a write, or `wouldblock`.
//! - Then the calls: `@3` for the third call only, `@3+` from the third on, `%0.01` for one call in a hundred by
//!   chance, or nothing for every call. Only calls that match the rule's operation and name are counted.
//! - `seed=` and a number: the same calls in the same order get the same faults.
//!
//! All rules that match a call apply: delays add up, then the first error counts, then the smallest limit.
//!
//! [`FaultFs::losing`] returns a file system that can also crash: [`FaultFs::crash`] loses unsynced writes.
//!
//! A call that may not wait is never delayed: it returns [`Error::WouldBlock`](vfs::Error::WouldBlock) and is not
//! counted. The delay applies when it is repeated on a thread that may wait.
#![forbid(unsafe_code)]

mod error;
mod fault;
mod file;
mod filesystem;
mod operation;
mod parse;
mod plan;
mod rule;
mod unsynced;

pub use error::InjectedError;
pub use fault::Fault;
pub use filesystem::FaultFs;
pub use operation::Operation;
pub use parse::ParseError;
pub use plan::FaultPlan;
pub use rule::{Rule, Rules, When};
