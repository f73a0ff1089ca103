use std::fmt;

use crate::Origin;

/// A remark for the log about something that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where it was said.
    pub origin: Origin,
    /// What the remark is about.
    pub kind: RemarkKind,
}

/// The kinds of remarks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemarkKind {
    /// An option has no effect.
    NoEffect {
        /// The option.
        option: String,
        /// Why.
        why: &'static str,
    },
    /// An export names no clients.
    NoClient {
        /// The export.
        export: String,
    },
    /// Some clients of an export have `async`, others `sync`.
    MixedSync {
        /// The export.
        export: String,
    },
    /// `async` was asked for.
    Async {
        /// The export.
        export: String,
    },
    /// The server's user owns all files, whatever the options of the export say.
    OneUser {
        /// The export.
        export: String,
        /// The user.
        uid: u32,
    },
    /// Another export is the root of NFSv4, by `fsid=0`, and this one is not below it.
    BesideRoot {
        /// The export.
        export: String,
        /// The one that is the root.
        root: String,
    },
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
            RemarkKind::OneUser { export, uid } => write!(
                f,
                "files that clients create in {export} belong to user {uid}, whatever the options for users and groups \
                 say: {uid} runs this server, and only root can act as others"
            ),
            RemarkKind::BesideRoot { export, root } => write!(
                f,
                "clients of NFSv4 do not reach {export}: {root} is their root (fsid=0), and {export} is not below it; \
                 give {root} another fsid, or export the directory above both with fsid=0"
            ),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.kind)
    }
}
