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

use std::ops::Range;
use std::path::Path;

use access_rules::{AccessRule, ClientPattern, DelegationPolicy, ExportOptions};
use serde::Deserialize;
use toml::Spanned;

use crate::clients::parse_clients;
use crate::command_line::path_of_url;
use crate::defaults::IdentityWords;
use crate::size::Size;
use crate::spec::rules_for;
use crate::{
    ConfigError, Defaults, ExportSpec, LimitSettings, LogSettings, Origin, PathReason, Position, Reason, ReplySettings,
    ServerSettings, Source, StorageSettings, WriteLogSettings, path, suggestion,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    server: ServerSettings,
    #[serde(default)]
    reply: ReplySettings,
    #[serde(default)]
    storage: StorageSettings,
    #[serde(default)]
    write_log: WriteLogSettings,
    #[serde(default)]
    limits: LimitSettings,
    #[serde(default)]
    log: LogSettings,
    #[serde(default)]
    export: Vec<Spanned<Export>>,
}

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
    anonuid: Option<u32>,
    anongid: Option<u32>,
    secure: Option<bool>,
    #[serde(default)]
    delegations: DelegationsWord,
    fsid: Option<u64>,
    sync_metadata: Option<bool>,
    fault: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Access {
    clients: Vec<Spanned<String>>,
    read_only: Option<bool>,
    squash: Option<SquashWord>,
    anonuid: Option<u32>,
    anongid: Option<u32>,
    secure: Option<bool>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SquashWord {
    None,
    Root,
    All,
}

/// Reads a TOML file; messages call it `path`.
///
/// # Errors
/// [`ConfigError::Bad`] with the place of the first mistake.
pub fn parse_toml(
    text: &str,
    path: &Path,
    defaults: &Defaults,
) -> Result<(ServerSettings, Vec<ExportSpec>), ConfigError> {
    let place = FileText { text, path };
    let file: File = toml::from_str(text).map_err(|error| place.syntax(&error))?;
    let settings = ServerSettings {
        reply: file.reply,
        storage: file.storage,
        write_log: file.write_log,
        limits: file.limits,
        log: file.log,
        ..file.server
    };
    let exports: Result<Vec<ExportSpec>, ConfigError> =
        file.export.iter().map(|export| export_spec(export, &place, defaults)).collect();
    Ok((settings, exports?))
}

/// The text to which the offsets refer.
struct FileText<'a> {
    text: &'a str,
    path: &'a Path,
}

impl FileText<'_> {
    fn origin(&self, span: Range<usize>) -> Origin {
        Origin::file(self.path, Position::of_offset(self.text, span.start))
    }

    fn bad<R: Into<Reason>>(&self, span: Range<usize>) -> impl Fn(R) -> ConfigError {
        move |reason| ConfigError::at(self.origin(span.clone()), reason)
    }

    fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        ConfigError::at(self.origin(span), unknown_name(error.message()))
    }
}

/// Shortens serde's message about an unknown name ("unknown field `a`, expected one of `b`, `c`").
fn unknown_name(message: &str) -> Reason {
    let what = match message {
        _ if message.starts_with("unknown field") => "key",
        _ if message.starts_with("unknown variant") => "value",
        _ => return Reason::Toml(message.trim_end().replace('\n', "; ")),
    };
    let mut quoted = message.split('`').skip(1).step_by(2);
    let name = quoted.next().unwrap_or_default().to_owned();
    Reason::Unknown { what, nearest: suggestion::nearest(&name, quoted), name }
}

fn export_spec(export: &Spanned<Export>, place: &FileText<'_>, defaults: &Defaults) -> Result<ExportSpec, ConfigError> {
    let whole = export.span();
    let export = export.get_ref();
    let (source, name) = source_and_name(export, &whole, place)?;
    let clients = client_patterns(&export.clients, place)?;
    let names_clients = !(clients.is_empty() && export.access.is_empty());
    let options = export_options(export, defaults);
    let mut rules = if clients.is_empty() && names_clients { Vec::new() } else { rules_for(clients, options) };
    for access in &export.access {
        let clients = client_patterns(&access.clients, place)?;
        let options = access_options(access, options, defaults);
        rules.extend(clients.into_iter().map(|clients| AccessRule { clients, options }));
    }
    Ok(ExportSpec {
        source,
        name,
        rules,
        names_clients,
        fsid: export.fsid,
        sync_metadata: export.sync_metadata.unwrap_or(true),
        fault: export.fault.clone(),
        origin: place.origin(whole),
    })
}

fn source_and_name(
    export: &Export,
    whole: &Range<usize>,
    place: &FileText<'_>,
) -> Result<(Source, String), ConfigError> {
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

fn client_patterns(clients: &[Spanned<String>], place: &FileText<'_>) -> Result<Vec<ClientPattern>, ConfigError> {
    clients.iter().map(|text| parse_clients(text.get_ref()).map_err(place.bad(text.span()))).collect()
}

fn export_options(export: &Export, defaults: &Defaults) -> ExportOptions {
    let words = identity_words(export.squash, export.anonuid, export.anongid);
    ExportOptions {
        read_only: export.read_only.unwrap_or(false),
        privileged_ports_only: export.secure.unwrap_or(false),
        delegations: export.delegations.policy(),
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
        anonymous_uid: access.anonuid.unwrap_or(export.anonymous_uid),
        anonymous_gid: access.anongid.unwrap_or(export.anonymous_gid),
        privileged_ports_only: access.secure.unwrap_or(export.privileged_ports_only),
        delegations: export.delegations,
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

fn identity_words(squash: Option<SquashWord>, uid: Option<u32>, gid: Option<u32>) -> IdentityWords {
    let (root, all) = match squash {
        None => (None, None),
        Some(SquashWord::None) => (Some(false), Some(false)),
        Some(SquashWord::Root) => (Some(true), Some(false)),
        Some(SquashWord::All) => (None, Some(true)),
    };
    IdentityWords { root, all, anonymous_uid: uid, anonymous_gid: gid }
}

#[cfg(test)]
mod tests;
