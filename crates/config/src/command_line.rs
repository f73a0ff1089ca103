use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use access_rules::{ClientPattern, DelegationPolicy, ExportOptions};

use crate::clients::parse_clients;
use crate::defaults::IdentityWords;
use crate::spec::rules_for;
use crate::{ConfigError, Defaults, ExportSpec, Origin, Reason, SizeError, Source, parse_size, path};

/// The exports of the command line and their options.
///
/// An export is one of:
///
/// - a directory, whose absolute path is its name, or with another name as in `data=/srv`; one whose path has `=/` in
///   it is taken as it is if it exists, and one whose name begins with `mem:` is written `./mem:…`
/// - `mem:SIZE`, named `/mem`, or with another name as in `mem:4G=/scratch`
/// - an `nfs://` URL of a directory at another server, named by the URL's path or by what follows the last `=/`
#[derive(Debug, Clone, Default)]
pub struct ExportFlags {
    /// What to export.
    pub exports: Vec<OsString>,
    /// The clients (`--client`).
    pub clients: Vec<String>,
    /// `--no-root-squash`
    pub no_root_squash: bool,
    /// `--all-squash`
    pub all_squash: bool,
    /// `--read-only`
    pub read_only: bool,
    /// `--anonuid`
    pub anonymous_uid: Option<u32>,
    /// `--anongid`
    pub anonymous_gid: Option<u32>,
    /// `--secure`: only privileged ports.
    pub secure: bool,
    /// `--no-acl`: clients may not read or set access lists.
    pub no_acl: bool,
    /// `--no-xattr`: clients may not use extended attributes.
    pub no_xattr: bool,
    /// `--delegations`: which files may be delegated to NFSv4 clients.
    pub delegations: DelegationPolicy,
    /// `--async`: acknowledge changes of names and attributes before they are on stable storage.
    pub is_async: bool,
    /// `--fault`
    pub fault: Option<String>,
}

/// The capacity of `mem:` without a size.
const DEFAULT_CAPACITY_BYTES: u64 = 1 << 30;

/// The prefix of URLs.
const URL_SCHEME: &str = "nfs://";

/// The default name of an export in memory.
const MEMORY_NAME: &str = "/mem";

impl ExportFlags {
    /// Returns the exports; relative directories are below `base`.
    ///
    /// # Errors
    /// All arguments that are wrong.
    pub fn parse(&self, base: &Path, defaults: &Defaults) -> Result<Vec<ExportSpec>, Vec<ConfigError>> {
        let mut mistakes = Vec::new();
        let exports = self.parse_what_can_be(base, defaults, &mut mistakes);
        if mistakes.is_empty() { Ok(exports) } else { Err(mistakes) }
    }

    /// Returns the exports that make sense; arguments that do not are added to `mistakes`.
    pub(crate) fn parse_what_can_be(
        &self,
        base: &Path,
        defaults: &Defaults,
        mistakes: &mut Vec<ConfigError>,
    ) -> Vec<ExportSpec> {
        let clients: Vec<ClientPattern> = self.clients.iter().filter_map(|text| client(text, mistakes)).collect();
        let options = self.options(defaults);
        let export = |argument: &OsString| self.export(argument, base, &clients, options);
        self.exports
            .iter()
            .filter_map(|argument| export(argument).map_err(|mistake| mistakes.push(mistake)).ok())
            .collect()
    }

    fn options(&self, defaults: &Defaults) -> ExportOptions {
        let words = IdentityWords {
            root: self.no_root_squash.then_some(false),
            all: self.all_squash.then_some(true),
            anonymous_uid: self.anonymous_uid,
            anonymous_gid: self.anonymous_gid,
        };
        ExportOptions {
            read_only: self.read_only,
            privileged_ports_only: self.secure,
            delegations: self.delegations,
            offers_acls: !self.no_acl,
            offers_xattrs: !self.no_xattr,
            ..words.options(defaults)
        }
    }

    fn export(
        &self,
        argument: &OsStr,
        base: &Path,
        clients: &[ClientPattern],
        options: ExportOptions,
    ) -> Result<ExportSpec, ConfigError> {
        let origin = Origin::Argument(argument.to_string_lossy().into_owned());
        let (source, name) =
            source_and_name(argument, base).map_err(|reason| ConfigError::at(origin.clone(), reason))?;
        Ok(ExportSpec {
            source,
            name,
            rules: rules_for(clients.to_vec(), options),
            names_clients: !self.clients.is_empty(),
            fsid: None,
            sync_metadata: !self.is_async,
            fault: self.fault.clone(),
            origin,
        })
    }
}

/// The clients that a flag names, unless it is wrong.
fn client(text: &str, mistakes: &mut Vec<ConfigError>) -> Option<ClientPattern> {
    let wrong = |reason| ConfigError::at(Origin::Argument(format!("--client {text}")), reason);
    parse_clients(text).map_err(|reason| mistakes.push(wrong(reason))).ok()
}

fn source_and_name(argument: &OsStr, base: &Path) -> Result<(Source, String), Reason> {
    if let Some(memory) = argument.as_bytes().strip_prefix(b"mem:") {
        let memory = str::from_utf8(memory).map_err(|_| Reason::NotUtf8)?;
        return memory_and_name(memory);
    }
    if argument.as_bytes().starts_with(URL_SCHEME.as_bytes()) {
        return remote_and_name(argument.to_str().ok_or(Reason::NotUtf8)?);
    }
    // A directory may have `=/` in its path, and `://`.
    let exists = base.join(argument).exists();
    if let (false, Some(scheme)) = (exists, scheme(argument)) {
        return Err(Reason::Scheme(scheme.to_owned()));
    }
    let (dir, name) = if exists { (argument, None) } else { dir_and_name(argument)? };
    let name = match name {
        Some(name) => path::export_name(name)?,
        None => path::name_of_dir(&path::absolute(Path::new(dir), base))?,
    };
    Ok((Source::Dir(base.join(dir)), name))
}

/// Splits a directory from the name behind its last `=/`.
fn dir_and_name(argument: &OsStr) -> Result<(&OsStr, Option<&str>), Reason> {
    let bytes = argument.as_bytes();
    let Some(at) = bytes.windows(2).rposition(|pair| pair == b"=/").filter(|at| *at > 0) else {
        return Ok((argument, None));
    };
    let name = str::from_utf8(&bytes[at + 1..]).map_err(|_| Reason::NotUtf8)?;
    Ok((OsStr::from_bytes(&bytes[..at]), Some(name)))
}

/// The scheme of what looks like a URL.
fn scheme(argument: &OsStr) -> Option<&str> {
    let (scheme, _) = argument.to_str()?.split_once("://")?;
    let is_scheme =
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(scheme)
}

fn memory_and_name(memory: &str) -> Result<(Source, String), Reason> {
    let (size, name) = memory.split_once('=').unwrap_or((memory, MEMORY_NAME));
    let capacity_bytes = if size.is_empty() { DEFAULT_CAPACITY_BYTES } else { parse_size(size)? };
    if capacity_bytes == 0 {
        return Err(SizeError::Malformed(size.to_owned()).into());
    }
    Ok((Source::Memory { capacity_bytes }, path::export_name(name)?))
}

/// Splits a URL from the name behind it. Values of parameters contain no slash, so the last `=/` precedes the name. A
/// URL whose path contains `=/` requires a name.
fn remote_and_name(argument: &str) -> Result<(Source, String), Reason> {
    let named = argument.rfind("=/").map(|at| (&argument[..at], &argument[at + 1..]));
    let (url, name) = named.unwrap_or((argument, path_of_url(argument)));
    Ok((Source::Remote { url: url.to_owned() }, path::export_name(name)?))
}

/// The path of a URL, as written.
pub(crate) fn path_of_url(url: &str) -> &str {
    let place = url.strip_prefix(URL_SCHEME).unwrap_or(url);
    let place = place.split_once('?').map_or(place, |(place, _)| place);
    place.find('/').map_or("/", |slash| &place[slash..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use access_rules::Squash;

    fn flags(exports: &[&str]) -> ExportFlags {
        ExportFlags { exports: exports.iter().map(OsString::from).collect(), ..ExportFlags::default() }
    }

    fn parse(flags: &ExportFlags) -> Result<Vec<ExportSpec>, Vec<ConfigError>> {
        flags.parse(Path::new("/home/me"), &Defaults::privileged())
    }

    #[test]
    fn directory_is_called_by_its_absolute_path() {
        let exports = parse(&flags(&["data", "/srv/x/", "../you"])).unwrap();
        let names: Vec<&str> = exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!(names, ["/home/me/data", "/srv/x", "/home/you"]);
        assert_eq!(exports[0].source, Source::Dir("/home/me/data".into()));
    }

    #[test]
    fn directory_has_the_name_behind_its_last_equals_sign_unless_it_exists_with_it() {
        let exports = parse(&flags(&["data=/srv", "/home/a=b=/c/d", "x=y"])).unwrap();
        let pairs: Vec<(&Source, &str)> = exports.iter().map(|export| (&export.source, export.name.as_str())).collect();
        assert_eq!(pairs[0], (&Source::Dir("/home/me/data".into()), "/srv"));
        assert_eq!(pairs[1], (&Source::Dir("/home/a=b".into()), "/c/d"));
        assert_eq!(pairs[2], (&Source::Dir("/home/me/x=y".into()), "/home/me/x=y"));
        let base = std::env::temp_dir().join(format!("wharf-config-equals-{}", std::process::id()));
        std::fs::create_dir_all(base.join("a=/b")).unwrap();
        let export = flags(&["a=/b"]).parse(&base, &Defaults::privileged()).unwrap().remove(0);
        assert_eq!(export.source, Source::Dir(base.join("a=/b")));
        assert_eq!(Path::new(&export.name), base.join("a=/b"));
        std::fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn url_of_another_scheme_is_refused_by_its_scheme() {
        let error = parse(&flags(&["https://host/a"])).unwrap_err().remove(0).to_string();
        assert!(error.starts_with("https://host/a: `https` is not a scheme"), "{error}");
        assert_eq!(parse(&flags(&["a://"])).unwrap()[0].name, "/home/me/a:", "a directory");
    }

    #[test]
    fn all_wrong_arguments_are_reported_together() {
        let flags =
            ExportFlags { clients: vec!["@us".to_owned(), "10.0.0.0/33".to_owned()], ..flags(&["mem:4Q", "mem:0"]) };
        let mistakes = parse(&flags).unwrap_err();
        assert_eq!(mistakes.len(), 4, "{mistakes:?}");
        assert!(mistakes.iter().all(ConfigError::is_of_arguments));
    }

    #[test]
    fn memory_is_called_mem_unless_it_has_a_name() {
        let exports = parse(&flags(&["mem:4G", "mem:64M=/scratch", "mem:=/small", "./mem:x"])).unwrap();
        assert_eq!(exports[0].name, "/mem");
        assert_eq!(exports[0].source, Source::Memory { capacity_bytes: 4 << 30 });
        assert_eq!(exports[1].name, "/scratch");
        assert_eq!(exports[2].source, Source::Memory { capacity_bytes: 1 << 30 });
        assert_eq!(exports[3].source, Source::Dir("/home/me/./mem:x".into()));
        assert_eq!(exports[3].name, "/home/me/mem:x");
    }

    #[test]
    fn directory_of_another_server_is_called_by_its_path_unless_it_has_a_name() {
        let urls = ["nfs://host/srv/data", "nfs://host:2049/a?version=4.2=/b", "nfs://[::1]/=/c"];
        let exports = parse(&flags(&urls)).unwrap();
        let names: Vec<&str> = exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!(names, ["/srv/data", "/b", "/c"]);
        assert_eq!(exports[1].source, Source::Remote { url: "nfs://host:2049/a?version=4.2".to_owned() });
    }

    #[test]
    fn bad_memory_is_refused_with_its_argument() {
        for (argument, part) in [("mem:4X", "not a size"), ("mem:0", "not a size"), ("mem:4G=x", "absolute")] {
            let error = parse(&flags(&[argument])).unwrap_err().remove(0).to_string();
            assert!(error.starts_with(argument) && error.contains(part), "{error}");
        }
    }

    #[test]
    fn flags_become_options_of_every_export() {
        let flags = ExportFlags {
            no_root_squash: true,
            delegations: DelegationPolicy::Always,
            read_only: true,
            anonymous_uid: Some(5),
            anonymous_gid: Some(6),
            secure: true,
            is_async: true,
            clients: vec!["10.0.0.0/8".to_owned(), "::1".to_owned()],
            ..flags(&["/a", "/b"])
        };
        for export in parse(&flags).unwrap() {
            assert!(export.names_clients && !export.sync_metadata);
            assert_eq!(export.rules.len(), 2);
            let expected = ExportOptions {
                delegations: DelegationPolicy::Always,
                read_only: true,
                squash: Squash::None,
                anonymous_uid: 5,
                anonymous_gid: 6,
                privileged_ports_only: true,
                offers_acls: true,
                offers_xattrs: true,
            };
            assert!(export.rules.iter().all(|rule| rule.options == expected));
        }
    }

    #[test]
    fn without_clients_only_this_machine_is_let_in() {
        let export = parse(&flags(&["/a"])).unwrap().remove(0);
        let is_let_in = |address: &str| {
            let address = address.parse().unwrap();
            export.rules.iter().any(|rule| rule.clients.matches(address))
        };
        assert!(!export.names_clients);
        assert!(is_let_in("127.0.0.1") && is_let_in("::1") && !is_let_in("192.0.2.1"));
    }

    #[test]
    fn bad_client_is_refused_with_its_flag() {
        let flags = ExportFlags { clients: vec!["@trusted".to_owned()], ..flags(&["/a"]) };
        let error = parse(&flags).unwrap_err().remove(0).to_string();
        assert!(error.starts_with("--client @trusted: ") && error.contains("netgroups"), "{error}");
    }

    #[test]
    fn unprivileged_server_squashes_everybody_to_its_own_user() {
        let exports = flags(&["/a"]).parse(Path::new("/"), &Defaults::unprivileged(1000, 100)).unwrap();
        let options = exports[0].rules[0].options;
        assert_eq!((options.squash, options.anonymous_uid, options.anonymous_gid), (Squash::All, 1000, 100));
    }
}
