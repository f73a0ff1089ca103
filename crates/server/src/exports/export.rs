use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use vfs::FileSystem;

use super::{Claim, ClientPattern, ExportOptions};

/// Some clients and what they get.
#[derive(Debug, Clone)]
pub struct AccessRule {
    /// Which clients.
    pub clients: ClientPattern,
    /// How the export is offered to them.
    pub options: ExportOptions,
}

impl AccessRule {
    /// Whether both lists offer the same to the same clients, as they are written.
    pub fn are_same(a: &[AccessRule], b: &[AccessRule]) -> bool {
        let is_same =
            |a: &AccessRule, b: &AccessRule| a.options == b.options && a.clients.to_string() == b.clients.to_string();
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
    }
}

/// The lowest port that any user may send from.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// A tree of files with a name, and who may have it.
#[derive(Clone)]
pub struct Export {
    /// The name by which clients mount it: an absolute path.
    pub name: String,
    /// The files.
    pub file_system: Arc<dyn FileSystem>,
    /// Who gets it, and how: the first rule that matches a client decides.
    pub rules: Vec<AccessRule>,
    /// What goes into its handles and into `fsid` in place of the name, so that it can be renamed (exports(5), `fsid=`).
    pub fsid: Option<u64>,
}

impl Export {
    /// How the export is offered to `client`, or `None` when it is not.
    pub fn options_for(&self, client: SocketAddr) -> Option<&ExportOptions> {
        let rule = self.rules.iter().find(|rule| rule.clients.matches(client.ip()))?;
        let port_is_good = !rule.options.privileged_ports_only || client.port() < FIRST_UNPRIVILEGED_PORT;
        port_is_good.then_some(&rule.options)
    }

    /// Whether a client at `address` may have the export, from some port.
    pub fn is_offered_to(&self, address: IpAddr) -> bool {
        self.rules.iter().any(|rule| rule.clients.matches(address))
    }

    /// What this export claims, if it is of a directory that others may show too.
    pub(crate) fn claim(&self) -> Option<Claim<'_>> {
        let origin = self.file_system.origin()?;
        Some(Claim { name: &self.name, rules: &self.rules, origin })
    }

    /// The bytes that tell this export from all others, now and after a restart.
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
