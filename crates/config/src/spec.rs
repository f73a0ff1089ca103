use std::path::PathBuf;

use server::{AccessRule, ClientPattern, ExportOptions};

use crate::{Origin, clients};

/// Where the files of an export are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// In a directory of this machine; the path is absolute.
    Dir(PathBuf),
    /// In memory, empty at first.
    Memory {
        /// The most bytes that they take.
        capacity_bytes: u64,
    },
    /// At another server.
    Remote {
        /// The URL of the directory, as it was written.
        url: String,
    },
}

/// One export, as it was asked for.
#[derive(Debug, Clone)]
pub struct ExportSpec {
    /// Where its files are.
    pub source: Source,
    /// The name by which clients mount it: an absolute path.
    pub name: String,
    /// Who gets it, and how: the first rule that matches a client decides.
    pub rules: Vec<AccessRule>,
    /// Whether somebody said who the clients are; otherwise the rules let in this machine alone.
    pub names_clients: bool,
    /// What goes into its handles in place of its name.
    pub fsid: Option<u64>,
    /// Whether changes of the tree are on stable storage before they are acknowledged.
    pub sync_metadata: bool,
    /// Which faults to inject, in the syntax of crate `fs-fault`.
    pub fault: Option<String>,
    /// Where it was asked for.
    pub origin: Origin,
}

/// The rules that offer an export to `clients` with `options`, or to this machine alone when there are none.
pub(crate) fn rules_for(clients: Vec<ClientPattern>, options: ExportOptions) -> Vec<AccessRule> {
    let clients = if clients.is_empty() { clients::loopback().to_vec() } else { clients };
    clients.into_iter().map(|clients| AccessRule { clients, options }).collect()
}
