use std::path::PathBuf;

use access_rules::{AccessRule, ClientPattern, ExportOptions};

use crate::{Origin, clients};

/// Where the files of an export are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// In a directory of this machine; the path is absolute.
    Dir(PathBuf),
    /// In memory, empty at first.
    Memory {
        /// The maximum size in bytes.
        capacity_bytes: u64,
    },
    /// At another server.
    Remote {
        /// The URL of the directory, as written.
        url: String,
    },
}

/// One export, as configured.
#[derive(Debug, Clone)]
pub struct ExportSpec {
    /// Where its files are.
    pub source: Source,
    /// The name by which clients mount it: an absolute path.
    pub name: String,
    /// Its clients and their options: the first rule that matches a client counts.
    pub rules: Vec<AccessRule>,
    /// Whether the configuration names the clients; otherwise the rules admit only this machine.
    pub names_clients: bool,
    /// The number that file handles contain instead of the name.
    pub fsid: Option<u64>,
    /// Whether changes of names and attributes are on stable storage before the server acknowledges them.
    pub sync_metadata: bool,
    /// The faults to inject, in the syntax of crate `fs-fault`.
    pub fault: Option<String>,
    /// Where it is configured.
    pub origin: Origin,
}

/// The rules that offer an export to `clients` with `options`, or only to this machine if there are none.
pub(crate) fn rules_for(clients: Vec<ClientPattern>, options: ExportOptions) -> Vec<AccessRule> {
    let clients = if clients.is_empty() { clients::loopback().to_vec() } else { clients };
    clients.into_iter().map(|clients| AccessRule { clients, options }).collect()
}
