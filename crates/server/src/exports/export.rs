use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use access_rules::{AccessRule, ExportOptions};
use vfs::FileSystem;

use super::ExportRules;

/// The lowest port that unprivileged users may send from.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// An exported file tree, with its name and its access rules.
#[derive(Clone)]
pub struct Export {
    /// The absolute path by which clients mount it.
    pub name: String,
    /// The files.
    pub file_system: Arc<dyn FileSystem>,
    /// The access rules; the first that matches a client decides.
    pub rules: Vec<AccessRule>,
    /// Replaces the name in file handles and in `fsid`, so that the export can be renamed (exports(5), `fsid=`). The
    /// export with 0 is the root of NFSv4's tree.
    pub fsid: Option<u64>,
}

impl Export {
    /// The options for `client`, or `None` if the export is not for it.
    pub fn options_for(&self, client: SocketAddr) -> Option<&ExportOptions> {
        let rule = self.rules.iter().find(|rule| rule.clients.matches(client.ip()))?;
        let port_is_good = !rule.options.privileged_ports_only || client.port() < FIRST_UNPRIVILEGED_PORT;
        port_is_good.then_some(&rule.options)
    }

    /// Whether a client at `address` may use the export from some port.
    pub fn is_offered_to(&self, address: IpAddr) -> bool {
        self.rules.iter().any(|rule| rule.clients.matches(address))
    }

    /// The claim of this export, if other exports may show the same directory.
    pub(crate) fn claim(&self) -> Option<ExportRules<'_>> {
        let origin = self.file_system.origin()?;
        Some(ExportRules { name: &self.name, rules: &self.rules, origin })
    }

    /// The bytes that identify this export, stable across restarts.
    pub(crate) fn identity(&self) -> Vec<u8> {
        match self.fsid {
            Some(fsid) => [b"fsid ".as_slice(), &fsid.to_be_bytes()].concat(),
            None => [b"name ".as_slice(), self.name.as_bytes()].concat(),
        }
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("name", &self.name).field("rules", &self.rules).finish_non_exhaustive()
    }
}
