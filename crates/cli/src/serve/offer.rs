//! Describes what would be served, as text and JSON.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use config::{ExportSpec, Source};
use report::{Column, Table, units};
use serde::Serialize;
use server::{AccessRule, DelegationPolicy, ExportOptions, Squash};

/// All of it.
#[derive(Debug, Serialize)]
pub struct Offers {
    exports: Vec<Offer>,
    listen: Vec<SocketAddr>,
    state_dir: Option<String>,
    /// The remarks for the log.
    remarks: Vec<String>,
}

/// One export.
#[derive(Debug, Serialize)]
pub struct Offer {
    name: String,
    /// Where its files are.
    source: String,
    clients: Vec<Offered>,
    /// How handles identify files: by the kernel, or by a store in the state directory.
    handles: Option<&'static str>,
}

/// Clients and their options in the words of exports(5).
#[derive(Debug, Serialize)]
struct Offered {
    clients: String,
    options: Vec<String>,
}

impl Offers {
    /// Combines exports, addresses and state directory.
    pub fn new(exports: Vec<Offer>, listen: &[SocketAddr], state_dir: Option<&Path>, remarks: Vec<String>) -> Offers {
        let state_dir = state_dir.map(|dir| dir.display().to_string());
        Offers { exports, listen: listen.to_vec(), state_dir, remarks }
    }
}

impl Offer {
    /// What `spec` offers.
    pub fn of(spec: &ExportSpec, handles: Option<&'static str>) -> Offer {
        let source = match &spec.source {
            Source::Dir(dir) => dir.display().to_string(),
            Source::Memory { capacity_bytes } => format!("memory, {}", units::binary_bytes(*capacity_bytes as f64)),
            Source::Remote { url } => url.clone(),
        };
        let clients = spec.rules.iter().map(|rule| Offered::of(rule, spec.sync_metadata)).collect();
        Offer { name: spec.name.clone(), source, clients, handles }
    }
}

impl Offer {
    /// A row for each client; common values are in the first row.
    fn rows(&self) -> Vec<[String; 5]> {
        let nobody = Offered { clients: "(nobody)".to_owned(), options: Vec::new() };
        let clients = if self.clients.is_empty() { vec![&nobody] } else { self.clients.iter().collect() };
        let mut shared = [self.name.clone(), self.source.clone(), self.handles.unwrap_or("-").to_owned()];
        let row = |offered: &Offered| {
            let [name, source, handles] = std::mem::take(&mut shared);
            [name, source, handles, offered.clients.clone(), offered.options.join(",")]
        };
        clients.into_iter().map(row).collect()
    }
}

impl Offered {
    fn of(rule: &AccessRule, sync_metadata: bool) -> Offered {
        Offered { clients: rule.clients.to_string(), options: words(&rule.options, sync_metadata) }
    }
}

/// These options in the words of exports(5).
fn words(options: &ExportOptions, sync_metadata: bool) -> Vec<String> {
    let squash = match options.squash {
        Squash::None => "no_root_squash",
        Squash::Root => "root_squash",
        Squash::All => "all_squash",
    };
    let mut words = vec![
        if options.read_only { "ro" } else { "rw" }.to_owned(),
        if sync_metadata { "sync" } else { "async" }.to_owned(),
        squash.to_owned(),
        if options.privileged_ports_only { "secure" } else { "insecure" }.to_owned(),
    ];
    for (name, number) in [("anonuid", options.anonymous_uid), ("anongid", options.anonymous_gid)] {
        if options.squash != Squash::None && number != ExportOptions::NOBODY {
            words.push(format!("{name}={number}"));
        }
    }
    for (name, is_offered) in [("no_acl", options.offers_acls), ("no_xattr", options.offers_xattrs)] {
        if !is_offered {
            words.push(name.to_owned());
        }
    }
    match options.delegations {
        DelegationPolicy::Auto => {}
        DelegationPolicy::Always => words.push("delegations".to_owned()),
        DelegationPolicy::Off => words.push("no_delegations".to_owned()),
    }
    words
}

impl fmt::Display for Offers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["export", "files", "handles", "clients", "options"].map(Column::text));
        for row in self.exports.iter().flat_map(Offer::rows) {
            table.push(row);
        }
        f.write_str(&table.to_text())?;
        let listen: Vec<String> = self.listen.iter().map(SocketAddr::to_string).collect();
        writeln!(f, "\nlistens on {}", listen.join(", "))?;
        writeln!(f, "keeps its state in {}", self.state_dir.as_deref().unwrap_or("memory alone"))?;
        self.remarks.iter().try_for_each(|remark| writeln!(f, "remark: {remark}"))
    }
}
