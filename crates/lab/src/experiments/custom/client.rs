//! What loads the servers of a user's experiment.

use std::fmt;
use std::path::PathBuf;

use crate::mounted::Mounter;

/// What loads, by its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) way: ClientWay,
}

/// How a load reaches the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientWay {
    /// Wharf's library, without a mount.
    Library,
    /// System calls on a mount.
    Mount { mounter: Mounter, options: String },
    /// Wharf's library on other hosts, which know the token in this file.
    Agents { agents: Vec<String>, token: PathBuf },
}

impl Client {
    /// Whether it mounts the export.
    pub(super) fn mounts(&self) -> bool {
        matches!(self.way, ClientWay::Mount { .. })
    }

    /// Whether it loads from other processes, which do not look at the server's.
    pub(super) fn is_elsewhere(&self) -> bool {
        matches!(self.way, ClientWay::Agents { .. })
    }
}

impl ClientWay {
    /// An agent that does not reach a server which listens on this machine only.
    pub(super) fn remote_agent(&self) -> Option<&str> {
        let is_here = |agent: &str| ["127.", "localhost:", "[::1]:"].iter().any(|start| agent.starts_with(start));
        match self {
            ClientWay::Agents { agents, .. } => agents.iter().map(String::as_str).find(|agent| !is_here(agent)),
            _ => None,
        }
    }
}

impl fmt::Display for ClientWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mount = |f: &mut fmt::Formatter<'_>, program: &str, options: &str| match options {
            "" => f.write_str(program),
            options => write!(f, "{program} -o {options}"),
        };
        match self {
            ClientWay::Library => f.write_str("Wharf's library"),
            ClientWay::Mount { mounter: Mounter::Kernel, options } => mount(f, "mount -t nfs", options),
            ClientWay::Mount { mounter: Mounter::Wharf, options } => mount(f, "wharf mount", options),
            ClientWay::Agents { agents, .. } => write!(f, "agents {}", agents.join(", ")),
        }
    }
}
