//! [`FaultFs`]: a [`FileSystem`](vfs::FileSystem) around another one that fails, waits and writes short by rule.
//!
//! A [`FaultPlan`] holds the rules, and can be given others while the file system is in use. Rules are made in code or
//! read from text; the text of a plan is a list of rules with commas between them:
//!
//! ```text
//! read:delay=50ms,write:error=nospace@3,sync:error=io%0.01,lookup(core):error=stale,write:short=100@5+,seed=7
//! ```
//!
//! - Before the colon: one of the [`Operation`]s or `any`, and in parentheses the name it is about, if one matters.
//! - After it: `error=` and an [`InjectedError`], `delay=` and a number with `ns`, `us`, `ms` or `s`, `short=` and the
//!   most bytes that one write takes, or `wouldblock`.
//! - Then when: `@3` for the third call only, `@3+` from the third on, `%0.01` for one call in a hundred by chance, or
//!   nothing for every call. What counts as a call is one that the rule's operation and name select.
//! - `seed=` and a number decides all chances: the same calls in the same order meet the same faults.
//!
//! Every rule that selects a call applies to it: delays add up, then the first error counts, then the smallest limit.
//!
//! [`FaultFs::losing`] makes one that can crash besides: [`FaultFs::crash`] loses what was written and not synced.
//!
//! A call that may not wait is never delayed: it answers [`Error::WouldBlock`](vfs::Error::WouldBlock), counts for
//! nothing, and meets its delay when it comes back from a thread that may.
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
