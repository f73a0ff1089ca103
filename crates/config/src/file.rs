//! The TOML file: `[server]`, `[reply]`, `[storage]`, `[limits]`, `[log]`, and an `[[export]]` for each export.
//!
//! ```toml
//! [server]
//! listen = ["127.0.0.1:2049", "[::1]:2049"]
//! rpcbind = "off"                 # or "builtin", "register"
//! read_plus = "extents"           # or "none", "data", "zeros"
//! sendfile = "24K"                # or "never"
//! open_files = 1024
//! open_file_idle = "10s"
//!
//! [reply]
//! method = "sendfile"             # or "gather", "copy"
//! fragment = "whole"              # or a size
//! segments = "none"               # or a number
//! batching = true
//!
//! [storage]
//! read_ahead = "4M"               # or "kernel", "off"
//! gather_writes = true
//! group_commit = true
//! metadata_cache = "64M"          # or "off"
//!
//! [limits]
//! max_connections = 16384
//! memory = "256M"
//! idle_timeout = "15m"            # or "never"
//!
//! [log]
//! format = "text"                 # or "json"
//! level = "info"
//!
//! [[export]]
//! path = "/srv/data"              # or memory = "4G" and a name
//! clients = ["10.0.0.0/8", "build.example.org"]
//! read_only = true
//!
//! [[export.access]]               # further clients, with options of their own; the first that match decide
//! clients = ["192.0.2.7"]
//! read_only = false
//! squash = "none"                 # or "root", "all"
//! ```

mod keys;
mod text;

use std::ops::Range;
use std::path::Path;

use access_rules::{AccessRule, ClientPattern, DelegationPolicy, ExportOptions};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use text::FileText;

use crate::clients::parse_clients;
use crate::command_line::path_of_url;
use crate::defaults::IdentityWords;
use crate::id::Id;
use crate::size::Size;
use crate::spec::rules_for;
use crate::{ConfigError, Defaults, ExportSpec, PathReason, Reason, ServerSettings, Source, path};

/// The tables of a file.
const TABLES: [&str; 7] = ["server", "reply", "storage", "write_log", "limits", "log", "export"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    path: Option<Spanned<String>>,
    memory: Option<Spanned<Size>>,
    url: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
    #[serde(default)]
    clients: Vec<Spanned<String>>,
    #[serde(default)]
    access: Vec<Access>,
    read_only: Option<bool>,
    squash: Option<SquashWord>,
    anonuid: Option<Id>,
    anongid: Option<Id>,
    secure: Option<bool>,
    acl: Option<bool>,
    xattr: Option<bool>,
    #[serde(default)]
    delegations: DelegationsWord,
    fsid: Option<u64>,
    sync_metadata: Option<bool>,
    fault: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Access {
    #[serde(default)]
    clients: Vec<Spanned<String>>,
    read_only: Option<bool>,
    squash: Option<SquashWord>,
    anonuid: Option<Id>,
    anongid: Option<Id>,
    secure: Option<bool>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SquashWord {
    None,
    Root,
    All,
}

/// Reads what makes sense of a TOML file; messages call it `path`. All mistakes in it are added to `mistakes`.
pub fn parse_toml(
    text: &str,
    path: &Path,
    defaults: &Defaults,
    mistakes: &mut Vec<ConfigError>,
) -> (ServerSettings, Vec<ExportSpec>) {
    let mut found = Vec::new();
    let read = read_tables(&FileText { text, path }, defaults, &mut found);
    // The parser's order is that of the keys.
    found.sort_by_key(ConfigError::position);
    mistakes.append(&mut found);
    read
}

fn read_tables(
    place: &FileText<'_>,
    defaults: &Defaults,
    mistakes: &mut Vec<ConfigError>,
) -> (ServerSettings, Vec<ExportSpec>) {
    let (file, errors) = DeTable::parse_recoverable(place.text);
    let is_whole = errors.is_empty();
    mistakes.extend(errors.iter().map(|error| place.syntax(error)));
    let (mut settings, mut exports) = (ServerSettings::default(), Vec::new());
    for (name, value) in file.get_ref() {
        match name.get_ref().as_ref() {
            "server" => {
                let server = keys::section(value, place, mistakes);
                settings = settings.or(server);
            }
            "reply" => settings.reply = keys::section(value, place, mistakes),
            "storage" => settings.storage = keys::section(value, place, mistakes),
            "write_log" => settings.write_log = keys::section(value, place, mistakes),
            "limits" => settings.limits = keys::section(value, place, mistakes),
            "log" => settings.log = keys::section(value, place, mistakes),
            "export" => {
                for table in keys::tables(value, place, mistakes) {
                    let before = mistakes.len();
                    let export: Option<Export> = keys::read(&table, place, mistakes);
                    // What cannot be read may have said what seems to be missing.
                    let is_whole = is_whole && mistakes.len() == before;
                    let mut reader = ExportReader { place, defaults, mistakes, is_whole };
                    exports.extend(export.and_then(|export| reader.spec(&export, table.span())));
                }
            }
            other => mistakes.push(place.bad(name.span())(keys::unknown("key", other, &TABLES.map(str::to_owned)))),
        }
    }
    (settings, exports)
}

/// Reads one export.
struct ExportReader<'a> {
    place: &'a FileText<'a>,
    defaults: &'a Defaults,
    mistakes: &'a mut Vec<ConfigError>,
    /// Whether all keys of the export made sense.
    is_whole: bool,
}

impl ExportReader<'_> {
    /// The export of a table at `whole`, unless something in it makes no sense.
    fn spec(&mut self, export: &Export, whole: Range<usize>) -> Option<ExportSpec> {
        let before = self.mistakes.len();
        let has_source = export.path.is_some() || export.memory.is_some() || export.url.is_some();
        if !self.is_whole && !has_source {
            return None;
        }
        let source_and_name = self.source_and_name(export, &whole);
        let clients = self.client_patterns(&export.clients);
        let names_clients = !(clients.is_empty() && export.access.is_empty());
        let options = export_options(export, self.defaults);
        let mut rules = if clients.is_empty() && names_clients { Vec::new() } else { rules_for(clients, options) };
        for access in &export.access {
            let options = access_options(access, options, self.defaults);
            let clients = self.client_patterns(&access.clients);
            rules.extend(clients.into_iter().map(|clients| AccessRule { clients, options }));
        }
        let (source, name) = self.note(source_and_name)?;
        (self.is_whole && self.mistakes.len() == before).then(|| ExportSpec {
            source,
            name,
            rules,
            names_clients,
            fsid: export.fsid,
            sync_metadata: export.sync_metadata.unwrap_or(true),
            fault: export.fault.clone(),
            origin: self.place.origin(whole),
        })
    }

    fn note<T>(&mut self, read: Result<T, ConfigError>) -> Option<T> {
        read.map_err(|mistake| self.mistakes.push(mistake)).ok()
    }

    fn source_and_name(&self, export: &Export, whole: &Range<usize>) -> Result<(Source, String), ConfigError> {
        let place = self.place;
        let name = match &export.name {
            Some(name) => Some(path::export_name(name.get_ref()).map_err(place.bad(name.span()))?),
            None => None,
        };
        match (&export.path, &export.memory, &export.url) {
            (Some(dir), None, None) => {
                let own_name = path::export_name(dir.get_ref()).map_err(place.bad::<PathReason>(dir.span()))?;
                Ok((Source::Dir(dir.get_ref().into()), name.unwrap_or(own_name)))
            }
            (None, Some(memory), None) => {
                let capacity_bytes = memory.get_ref().bytes().map_err(place.bad(memory.span()))?;
                let name = name.ok_or(Reason::Nameless).map_err(place.bad(whole.clone()))?;
                Ok((Source::Memory { capacity_bytes }, name))
            }
            (None, None, Some(url)) => {
                let own_name =
                    || path::export_name(path_of_url(url.get_ref())).map_err(place.bad::<PathReason>(url.span()));
                let name = name.map_or_else(own_name, Ok)?;
                Ok((Source::Remote { url: url.get_ref().clone() }, name))
            }
            _ => Err(place.bad(whole.clone())(Reason::NoSource)),
        }
    }

    fn client_patterns(&mut self, clients: &[Spanned<String>]) -> Vec<ClientPattern> {
        let place = self.place;
        let read = clients.iter().map(|text| parse_clients(text.get_ref()).map_err(place.bad(text.span())));
        read.filter_map(|read| read.map_err(|mistake| self.mistakes.push(mistake)).ok()).collect()
    }
}

fn export_options(export: &Export, defaults: &Defaults) -> ExportOptions {
    let words = identity_words(export.squash, export.anonuid, export.anongid);
    ExportOptions {
        read_only: export.read_only.unwrap_or(false),
        privileged_ports_only: export.secure.unwrap_or(false),
        delegations: export.delegations.policy(),
        offers_acls: export.acl.unwrap_or(true),
        offers_xattrs: export.xattr.unwrap_or(true),
        ..words.options(defaults)
    }
}

/// The options of further clients: those of the export, with the differences of this table.
fn access_options(access: &Access, export: ExportOptions, defaults: &Defaults) -> ExportOptions {
    let words = identity_words(access.squash, access.anonuid, access.anongid);
    let own = words.options(defaults);
    ExportOptions {
        read_only: access.read_only.unwrap_or(export.read_only),
        squash: if access.squash.is_some() { own.squash } else { export.squash },
        anonymous_uid: access.anonuid.map_or(export.anonymous_uid, |id| id.0),
        anonymous_gid: access.anongid.map_or(export.anonymous_gid, |id| id.0),
        privileged_ports_only: access.secure.unwrap_or(export.privileged_ports_only),
        delegations: export.delegations,
        offers_acls: export.offers_acls,
        offers_xattrs: export.offers_xattrs,
    }
}

/// Which files are delegated: by a word, or by what the key said before there were words.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum DelegationsWord {
    All(bool),
    Named(DelegationPolicyWord),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DelegationPolicyWord {
    Auto,
    Always,
    Off,
}

impl Default for DelegationsWord {
    fn default() -> DelegationsWord {
        DelegationsWord::Named(DelegationPolicyWord::Auto)
    }
}

impl DelegationsWord {
    fn policy(self) -> DelegationPolicy {
        match self {
            DelegationsWord::Named(DelegationPolicyWord::Auto) => DelegationPolicy::Auto,
            DelegationsWord::All(true) | DelegationsWord::Named(DelegationPolicyWord::Always) => {
                DelegationPolicy::Always
            }
            DelegationsWord::All(false) | DelegationsWord::Named(DelegationPolicyWord::Off) => DelegationPolicy::Off,
        }
    }
}

fn identity_words(squash: Option<SquashWord>, uid: Option<Id>, gid: Option<Id>) -> IdentityWords {
    let (root, all) = match squash {
        None => (None, None),
        Some(SquashWord::None) => (Some(false), Some(false)),
        Some(SquashWord::Root) => (Some(true), Some(false)),
        Some(SquashWord::All) => (None, Some(true)),
    };
    IdentityWords { root, all, anonymous_uid: uid.map(|id| id.0), anonymous_gid: gid.map(|id| id.0) }
}

#[cfg(test)]
mod tests;
