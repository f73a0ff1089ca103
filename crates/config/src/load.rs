//! Merges all sources.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use access_rules::{AccessRule, Squash};

use crate::{
    ConfigError, Defaults, ExportFlags, ExportSpec, Origin, Position, Reason, Remark, RemarkKind, ServerSettings,
    Source, parse_exports, parse_toml,
};

/// The largest configuration file, in bytes: room for ten thousand exports.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The sources of a configuration.
#[derive(Debug, Clone)]
pub struct Sources {
    /// What the command line says.
    pub flags: ExportFlags,
    /// The TOML file (`--config`).
    pub config: Option<PathBuf>,
    /// The file in exports(5) syntax (`--exports`).
    pub exports: Option<PathBuf>,
    /// The base of relative directories on the command line.
    pub base: PathBuf,
    /// The defaults of exports.
    pub defaults: Defaults,
}

/// The merged configuration.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings of the TOML file.
    pub settings: ServerSettings,
    /// The exports: those of the command line, the TOML file and the exports(5) file, in this order.
    pub exports: Vec<ExportSpec>,
    /// Remarks for the log.
    pub remarks: Vec<Remark>,
}

/// Reads all sources.
///
/// # Errors
/// All mistakes of each source, and all exports that collide.
pub fn load(sources: &Sources) -> Result<Loaded, Vec<ConfigError>> {
    let (loaded, mistakes) = load_what_can_be(sources);
    if mistakes.is_empty() { Ok(loaded) } else { Err(mistakes) }
}

/// Reads all sources, and leaves out what is mistaken.
pub fn load_what_can_be(sources: &Sources) -> (Loaded, Vec<ConfigError>) {
    let Sources { flags, base, defaults, .. } = sources;
    let mut mistakes = Vec::new();
    let exports = flags.parse_what_can_be(base, defaults, &mut mistakes);
    let mut loaded = Loaded { settings: ServerSettings::default(), exports, remarks: Vec::new() };
    let text_of = |path: Option<&PathBuf>, mistakes: &mut Vec<ConfigError>| {
        let path = path?;
        read(path).map_err(|mistake| mistakes.push(mistake)).ok().map(|text| (path.clone(), text))
    };
    if let Some((path, text)) = text_of(sources.config.as_ref(), &mut mistakes) {
        let (settings, exports) = parse_toml(&text, &path, defaults, &mut mistakes);
        loaded.settings = settings;
        loaded.exports.extend(exports);
    }
    if let Some((path, text)) = text_of(sources.exports.as_ref(), &mut mistakes) {
        let (exports, remarks) = parse_exports(&text, &path, defaults, &mut mistakes);
        loaded.exports.extend(exports);
        loaded.remarks.extend(remarks);
    }
    mistakes.extend(mistaken_identities(&loaded.exports));
    loaded.remarks.extend(beside_root(&loaded.exports));
    loaded.remarks.extend(of_one_user(&loaded.exports, defaults));
    let file = sources.exports.as_ref().or(sources.config.as_ref());
    if let (true, true, Some(path)) = (loaded.exports.is_empty(), mistakes.is_empty(), file) {
        mistakes.push(ConfigError::NoExports { path: path.clone() });
    }
    (loaded, mistakes)
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let failed = |source: io::Error| ConfigError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ConfigError::TooLarge { path: path.to_owned(), max_bytes: MAX_FILE_BYTES });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let position = Position::of_offset(&String::from_utf8_lossy(valid), valid.len());
        ConfigError::at(Origin::file(path, position), Reason::NotUtf8)
    })
}

/// The exports that have the same identity as an earlier one.
fn mistaken_identities(exports: &[ExportSpec]) -> Vec<ConfigError> {
    let mut mistakes = Vec::new();
    let mut names: HashMap<&str, &ExportSpec> = HashMap::new();
    let mut fsids: HashMap<u64, &ExportSpec> = HashMap::new();
    for export in exports {
        if let Some(first) = names.insert(&export.name, export) {
            let is_repeated = matches!(export.origin, Origin::Argument(_)) && export.origin == first.origin;
            let first = || Reason::DuplicateName { name: export.name.clone(), first: first.origin.clone() };
            let reason = if is_repeated { Reason::Twice } else { first() };
            mistakes.push(ConfigError::at(export.origin.clone(), reason));
        }
        let Some(fsid) = export.fsid else { continue };
        if let Some(first) = fsids.insert(fsid, export) {
            let reason = Reason::DuplicateFsid { fsid, owner: first.name.clone() };
            mistakes.push(ConfigError::at(export.origin.clone(), reason));
        }
    }
    mistakes
}

/// The exports that clients of NFSv4 do not reach, since another one is their root.
fn beside_root(exports: &[ExportSpec]) -> Vec<Remark> {
    let Some(root) = exports.iter().find(|export| export.fsid == Some(0)) else { return Vec::new() };
    let is_beside = |export: &&ExportSpec| !Path::new(&export.name).starts_with(&root.name);
    let remark = |export: &ExportSpec| Remark {
        origin: export.origin.clone(),
        kind: RemarkKind::BesideRoot { export: export.name.clone(), root: root.name.clone() },
    };
    exports.iter().filter(is_beside).map(remark).collect()
}

/// The exports whose options an unprivileged server cannot follow.
fn of_one_user(exports: &[ExportSpec], defaults: &Defaults) -> Vec<Remark> {
    let Defaults { squash: Squash::All, anonymous_uid: uid, anonymous_gid: gid } = *defaults else { return Vec::new() };
    let is_as_by_default = |rule: &AccessRule| {
        let options = &rule.options;
        (options.squash, options.anonymous_uid, options.anonymous_gid) == (Squash::All, uid, gid)
    };
    let has_others =
        |export: &&ExportSpec| matches!(export.source, Source::Dir(_)) && !export.rules.iter().all(is_as_by_default);
    let remark = |export: &ExportSpec| Remark {
        origin: export.origin.clone(),
        kind: RemarkKind::OneUser { export: export.name.clone(), uid },
    };
    exports.iter().filter(has_others).map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process;

    /// A directory for a test, removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("wharf-config-{test}-{}", process::id()));
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
            fs::write(self.0.join(name), text).unwrap();
            self.0.join(name)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn sources() -> Sources {
        Sources {
            flags: ExportFlags::default(),
            config: None,
            exports: None,
            base: "/".into(),
            defaults: Defaults::privileged(),
        }
    }

    #[test]
    fn all_sources_are_read_together() {
        let scratch = Scratch::new("together");
        let config = scratch.write("wharf.toml", "[server]\nloops = 3\n[[export]]\npath = \"/b\"\n");
        let exports = scratch.write("exports", "/c *(rw)\n");
        let flags = ExportFlags { exports: vec!["/a".into()], ..ExportFlags::default() };
        let loaded = load(&Sources { flags, config: Some(config), exports: Some(exports), ..sources() }).unwrap();
        let names: Vec<&str> = loaded.exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!(names, ["/a", "/b", "/c"]);
        assert_eq!(loaded.settings.loops, Some(3));
    }

    #[test]
    fn name_that_two_sources_export_is_refused_with_both_places() {
        let scratch = Scratch::new("twice");
        let exports = scratch.write("exports", "\n  /a *(rw)\n");
        let flags = ExportFlags { exports: vec!["/a".into()], ..ExportFlags::default() };
        let error = load(&Sources { flags, exports: Some(exports.clone()), ..sources() }).unwrap_err().remove(0);
        let expected = format!("{}:2:3: /a is already exported by /a", exports.display());
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn export_beside_the_one_with_fsid_0_is_remarked_on_and_a_second_root_refused() {
        let scratch = Scratch::new("root");
        let exports = scratch.write("exports", "/srv *(fsid=0)\n/srv/data *(rw)\n/srvx *(rw)\n");
        let loaded = load(&Sources { exports: Some(exports), ..sources() }).unwrap();
        let [remark] = &loaded.remarks[..] else { panic!("{:?}", loaded.remarks) };
        assert!(
            remark.to_string().contains(":3:1: clients of NFSv4 do not reach /srvx: /srv is their root"),
            "{remark}"
        );
        let exports = scratch.write("exports", "/srv *(fsid=0)\n/b *(fsid=root)\n");
        let error = load(&Sources { exports: Some(exports), ..sources() }).unwrap_err().remove(0).to_string();
        assert!(error.contains(":2:1: /srv already has the fsid 0"), "{error}");
    }

    #[test]
    fn options_that_an_unprivileged_server_cannot_follow_are_remarked_on() {
        let scratch = Scratch::new("one-user");
        let exports = scratch.write("exports", "/a *(rw)\n/b *(anonuid=7)\n/c *(no_root_squash)\n/d *(anonuid=-2)\n");
        let remarks =
            |defaults| load(&Sources { exports: Some(exports.clone()), defaults, ..sources() }).unwrap().remarks;
        let shown: Vec<_> = remarks(Defaults::unprivileged(7, 8)).iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].contains("/c belong to user 7") && shown[1].contains("/d belong to user 7"), "{shown:?}");
        assert!(remarks(Defaults::privileged()).is_empty());
    }

    #[test]
    fn fsid_of_two_exports_is_refused() {
        let scratch = Scratch::new("fsid");
        let exports = scratch.write("exports", "/a *(fsid=7)\n/b *(fsid=7)\n");
        let error = load(&Sources { exports: Some(exports), ..sources() }).unwrap_err().remove(0).to_string();
        assert!(error.contains(":2:1: /a already has the fsid 7"), "{error}");
    }

    #[test]
    fn file_that_is_missing_or_not_utf8_is_refused_by_its_name() {
        let scratch = Scratch::new("unreadable");
        let missing = scratch.0.join("missing");
        let error = load(&Sources { exports: Some(missing.clone()), ..sources() }).unwrap_err().remove(0);
        assert!(matches!(&error, ConfigError::Read { path, .. } if *path == missing), "{error}");
        let latin1 = scratch.write("latin1", b"/a *\n/b\xe4 *\n");
        let error = load(&Sources { exports: Some(latin1), ..sources() }).unwrap_err().remove(0).to_string();
        assert!(error.ends_with("latin1:2:3: not UTF-8"), "{error}");
    }

    #[test]
    fn mistakes_of_all_sources_are_told_at_once() {
        let scratch = Scratch::new("mistakes");
        let config = scratch.write("wharf.toml", "[[export]]\npath = \"b\"\n");
        let exports = scratch.write("exports", "/a *(fsid=7)\n/b *(fsid=7)\n/a2 *(fsid=7)\n");
        let flags = ExportFlags { exports: vec!["/a".into()], clients: vec!["@us".into()], ..ExportFlags::default() };
        let mistakes = load(&Sources { flags, config: Some(config), exports: Some(exports), ..sources() }).unwrap_err();
        assert_eq!(mistakes.len(), 5, "{mistakes:?}");
    }

    #[test]
    fn configuration_that_exports_nothing_is_refused() {
        let scratch = Scratch::new("empty");
        let exports = scratch.write("exports", "# nothing yet\n");
        let error = load(&Sources { exports: Some(exports), ..sources() }).unwrap_err().remove(0);
        assert!(error.to_string().contains("exports: nothing is exported"), "{error}");
        let config = scratch.write("wharf.toml", "[server]\nloops = 1\n");
        let flags = ExportFlags { exports: vec!["/a".into()], ..ExportFlags::default() };
        assert!(load(&Sources { config: Some(config.clone()), flags, ..sources() }).is_ok());
        assert!(load(&Sources { config: Some(config), ..sources() }).is_err());
    }

    #[test]
    fn each_mistake_of_each_file_is_reported_with_its_line() {
        let scratch = Scratch::new("each");
        let config = scratch.write(
            "wharf.toml",
            "[server]\nloops = \"two\"\nlissten = []\n[limits]\nmemory = 0\n[[export]]\npath = \"b\"\nsquash = \"yes\"\n\
             [[export]]\npath = \"/c\"\nclients = [\"@us\", \"10.0.0.0/33\"]\n[[export]]\npath = \"d\"\n",
        );
        let exports = scratch.write("exports", "/a *(rww,fsid=x) @us\nb *\n/c \"open\n/d 10.0.0.0/33\n");
        let mistakes = load(&Sources { config: Some(config), exports: Some(exports), ..sources() }).unwrap_err();
        let at: Vec<String> = mistakes
            .iter()
            .map(|mistake| mistake.to_string().split(": ").next().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect();
        let expected = [
            "wharf.toml:2:9",
            "wharf.toml:3:1",
            "wharf.toml:5:10",
            "wharf.toml:7:8",
            "wharf.toml:8:10",
            "wharf.toml:11:12",
            "wharf.toml:11:19",
            "wharf.toml:13:8",
            "exports:1:6",
            "exports:1:10",
            "exports:1:18",
            "exports:2:1",
            "exports:3:4",
            "exports:4:4",
        ];
        assert_eq!(at, expected, "{mistakes:#?}");
    }

    #[test]
    fn argument_that_is_given_twice_is_refused_as_such() {
        let flags = ExportFlags { exports: vec!["/a".into(), "/a".into()], ..ExportFlags::default() };
        let error = load(&Sources { flags, ..sources() }).unwrap_err().remove(0);
        assert_eq!(error.to_string(), "/a: given twice");
    }

    #[test]
    fn file_that_is_too_large_is_not_read_to_its_end() {
        let scratch = Scratch::new("large");
        let exports = scratch.write("exports", vec![b'#'; MAX_FILE_BYTES as usize + 1]);
        let error = load(&Sources { exports: Some(exports), ..sources() }).unwrap_err().remove(0);
        assert!(matches!(error, ConfigError::TooLarge { .. }), "{error}");
    }
}
