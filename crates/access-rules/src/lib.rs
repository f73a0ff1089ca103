//! Who may use an export, and with which options: what a configuration says and the server applies to each call.

#![forbid(unsafe_code)]

mod clients;
mod options;
mod rule;

pub use clients::{ClientPattern, ClientPatternError};
pub use options::{DelegationPolicy, ExportOptions, Squash};
pub use rule::AccessRule;
