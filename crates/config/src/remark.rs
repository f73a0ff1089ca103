use std::fmt;

use crate::Origin;

/// Something that was accepted and is worth a line in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where it was said.
    pub origin: Origin,
    /// What is remarkable about it.
    pub kind: RemarkKind,
}

/// What is worth a line in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemarkKind {
    /// An option has no effect.
    NoEffect {
        /// The option.
        option: String,
        /// Why.
        why: &'static str,
    },
    /// An export names no client.
    NoClient {
        /// The export.
        export: String,
    },
    /// Some clients of an export asked for `async` and others for `sync`.
    MixedSync {
        /// The export.
        export: String,
    },
    /// `async` was asked for.
    Async {
        /// The export.
        export: String,
    },
    /// A file exports nothing.
    NoExports,
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemarkKind::NoEffect { option, why } => write!(f, "the option `{option}` has no effect: {why}"),
            RemarkKind::NoClient { export } => {
                write!(f, "{export} names no clients: only this machine may use it; write `*` for all clients")
            }
            RemarkKind::MixedSync { export } => write!(
                f,
                "{export} is `async` for some clients and `sync` for others: it is `sync` for all, because the option \
                 holds for a whole export"
            ),
            RemarkKind::Async { export } => write!(
                f,
                "{export} is `async`: a crash of this machine may lose acknowledged changes of names and attributes; \
                 data is as safe as clients request"
            ),
            RemarkKind::NoExports => f.write_str("nothing is exported"),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.kind)
    }
}
