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
                write!(f, "{export} names no client: it is for this machine alone; write `*` to let everybody in")
            }
            RemarkKind::MixedSync { export } => write!(
                f,
                "{export} is `async` for some clients and `sync` for others: it is `sync` for all, because whether \
                 changes are safe is decided for an export as a whole"
            ),
            RemarkKind::Async { export } => write!(
                f,
                "{export} is `async`: names and attributes that were acknowledged may be lost in a crash of this \
                 machine; data is as safe as clients ask for"
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
