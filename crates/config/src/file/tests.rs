use super::*;
use crate::{
    LimitSettings, LogFormat, LogLevel, LogSettings, ReadAhead, ReadPlus, ReplyMethod, ReplySettings, Rpcbind,
    StorageSettings, WriteLogSettings,
};
use access_rules::{DelegationPolicy, Squash};
use std::time::Duration;

fn parse(text: &str) -> Result<(ServerSettings, Vec<ExportSpec>), ConfigError> {
    let mut mistakes = Vec::new();
    let parsed = parse_toml(text, Path::new("wharf.toml"), &Defaults::privileged(), &mut mistakes);
    if mistakes.is_empty() { Ok(parsed) } else { Err(mistakes.remove(0)) }
}

fn refusal(text: &str) -> String {
    parse(text).expect_err("the text is accepted").to_string()
}

#[test]
fn every_setting_has_its_effect() {
    let text = r#"
[server]
listen = ["127.0.0.1:1234", "::1"]
rpcbind = "builtin"
state_dir = "/var/lib/wharf"
loops = 2
pin = true
fairness = false
busy_poll = "20us"
lease = "10s"
grace = "2m"
domain = "example.org"
read_plus = "zeros"
sendfile = "64K"
open_files = 5
open_file_idle = "500ms"
copy_from = ["192.0.2.7", "10.0.0.0/8"]
[log]
format = "json"
level = "debug"
"#;
    let (settings, _) = parse(text).unwrap();
    let expected = ServerSettings {
        listen: Some(vec!["127.0.0.1:1234".parse().unwrap(), "[::1]:2049".parse().unwrap()]),
        rpcbind: Some(Rpcbind::Builtin),
        state_dir: Some("/var/lib/wharf".into()),
        loops: Some(2),
        pin: Some(true),
        fairness: Some(false),
        busy_poll: Some(Some(Duration::from_micros(20))),
        lease: Some(Duration::from_secs(10)),
        grace: Some(Duration::from_secs(120)),
        domain: Some("example.org".to_owned()),
        read_plus: Some(ReadPlus::Zeros),
        sendfile_bytes: Some(Some(65_536)),
        open_files: Some(5),
        open_file_idle: Some(Duration::from_millis(500)),
        copy_from: Some(vec!["192.0.2.7".parse().unwrap(), "10.0.0.0/8".parse().unwrap()]),
        reply: ReplySettings::default(),
        storage: StorageSettings::default(),
        write_log: WriteLogSettings::default(),
        limits: LimitSettings::default(),
        log: LogSettings { format: Some(LogFormat::Json), level: Some(LogLevel::Debug) },
    };
    assert_eq!(settings, expected);
}

#[test]
fn every_limit_has_its_effect() {
    let text = r#"
[limits]
max_connections = 10
max_connections_per_client = 9
memory = "1G"
memory_per_client = "100M"
stall_timeout = "5s"
max_in_flight = 11
max_in_flight_bytes = "8M"
max_unsent_bytes = 4096
idle_timeout = "1h"
blocking_threads = 3
spare_blocking_threads = 1
"#;
    let (settings, _) = parse(text).unwrap();
    let expected = LimitSettings {
        max_connections: Some(10),
        max_connections_per_client: Some(9),
        memory: Some(1 << 30),
        memory_per_client: Some(100 << 20),
        stall_timeout: Some(Duration::from_secs(5)),
        max_in_flight: Some(11),
        max_in_flight_bytes: Some(8 << 20),
        max_unsent_bytes: Some(4096),
        idle_timeout: Some(Some(Duration::from_secs(3600))),
        blocking_threads: Some(3),
        spare_blocking_threads: Some(1),
    };
    assert_eq!(settings.limits, expected);
}

#[test]
fn every_way_to_send_replies_has_its_effect() {
    let text = "[reply]\nmethod = \"gather\"\nfragment = \"2K\"\nsegments = 32\nbatching = false\n";
    let expected = ReplySettings {
        method: Some(ReplyMethod::Gather),
        fragment: Some(Some(2048)),
        segments: Some(Some(32)),
        batching: Some(false),
    };
    assert_eq!(parse(text).unwrap().0.reply, expected);
    let unlimited = parse("[reply]\nfragment = \"whole\"\nsegments = \"none\"\n").unwrap().0.reply;
    assert_eq!((unlimited.fragment, unlimited.segments), (Some(None), Some(None)));
    assert!(refusal("[reply]\nfragment = 100\n").contains("at least 1K"));
}

#[test]
fn every_key_of_storage_has_its_effect() {
    let settings = |text: &str| parse(&format!("[storage]\n{text}\n")).unwrap().0.storage;
    let expected = StorageSettings { gather_writes: Some(false), ..StorageSettings::default() };
    assert_eq!(settings("gather_writes = false"), expected);
    let expected = StorageSettings { group_commit: Some(false), ..StorageSettings::default() };
    assert_eq!(settings("group_commit = false"), expected);
    for (text, read_ahead) in [
        ("\"kernel\"", ReadAhead::Kernel),
        ("\"off\"", ReadAhead::Off),
        ("\"2M\"", ReadAhead::Streams(2 << 20)),
        ("4096", ReadAhead::Streams(4096)),
    ] {
        assert_eq!(settings(&format!("read_ahead = {text}")).read_ahead, Some(read_ahead), "{text}");
    }
    for (text, bytes) in [("\"off\"", 0), ("\"32M\"", 32 << 20), ("4096", 4096)] {
        assert_eq!(settings(&format!("metadata_cache = {text}")).metadata_cache, Some(bytes), "{text}");
    }
    let refused = refusal("[storage]\nmetadata_cache = \"much\"\n");
    assert!(refused.contains("much") && refused.contains("`off`"), "{refused}");
    let refused = refusal("[storage]\nread_ahead = \"far\"\n");
    assert!(refused.contains("far") && refused.contains("`kernel` and `off`"), "{refused}");
}

#[test]
fn every_key_of_an_export_has_its_effect() {
    let text = r#"
[[export]]
path = "/srv/data"
name = "/data"
clients = ["10.0.0.0/8", "build.example.org"]
read_only = true
squash = "all"
anonuid = 7
anongid = 8
secure = true
acl = false
xattr = false
delegations = true
fsid = 9
sync_metadata = false
fault = "read:delay=5ms"

[[export]]
memory = "64M"
name = "/scratch"
"#;
    let (_, exports) = parse(text).unwrap();
    let [data, scratch] = exports.as_slice() else { panic!("{} exports", exports.len()) };
    assert_eq!((data.name.as_str(), &data.source), ("/data", &Source::Dir("/srv/data".into())));
    assert_eq!((data.fsid, data.sync_metadata, data.names_clients), (Some(9), false, true));
    assert_eq!(data.fault.as_deref(), Some("read:delay=5ms"));
    assert_eq!(data.origin.to_string(), "wharf.toml:2:1");
    assert_eq!(data.rules.len(), 2);
    let expected = ExportOptions {
        read_only: true,
        squash: Squash::All,
        anonymous_uid: 7,
        anonymous_gid: 8,
        privileged_ports_only: true,
        delegations: DelegationPolicy::Always,
        offers_acls: false,
        offers_xattrs: false,
    };
    assert_eq!(data.rules[1].options, expected);
    assert_eq!(scratch.source, Source::Memory { capacity_bytes: 64 << 20 });
    assert!(!scratch.names_clients && scratch.sync_metadata);
}

#[test]
fn further_access_takes_over_what_it_does_not_say() {
    let text = "[[export]]\npath = \"/a\"\nclients = [\"10.0.0.0/8\"]\nread_only = true\nanonuid = 7\n\
                [[export.access]]\nclients = [\"192.0.2.7\"]\nread_only = false\nsquash = \"none\"\n";
    let (_, exports) = parse(text).unwrap();
    let [first, second] = exports[0].rules.as_slice() else { panic!("not two rules") };
    assert_eq!((first.options.read_only, first.options.squash), (true, Squash::Root));
    assert_eq!((second.options.read_only, second.options.squash), (false, Squash::None));
    assert_eq!(second.options.anonymous_uid, 7);
}

#[test]
fn export_with_access_alone_lets_in_nobody_else() {
    let text = "[[export]]\npath = \"/a\"\n[[export.access]]\nclients = [\"192.0.2.7\"]\n";
    let (_, exports) = parse(text).unwrap();
    assert!(exports[0].names_clients);
    assert_eq!(exports[0].rules.len(), 1);
}

#[test]
fn idle_timeout_can_be_switched_off() {
    let (settings, _) = parse("[limits]\nidle_timeout = \"never\"\n").unwrap();
    assert_eq!(settings.limits.idle_timeout, Some(None));
}

#[test]
fn unknown_key_is_refused_with_its_place_and_the_nearest_name() {
    assert_eq!(refusal("[server]\n  lissten = []\n"), "wharf.toml:2:3: unknown key `lissten`; did you mean `listen`?");
    let error = refusal("[[export]]\npath = \"/a\"\nreadonly = true\n");
    assert_eq!(error, "wharf.toml:3:1: unknown key `readonly`; did you mean `read_only`?");
    assert_eq!(refusal("[server]\ncolour = 1\n"), "wharf.toml:2:1: unknown key `colour`");
    assert_eq!(refusal("[sever]\n"), "wharf.toml:1:2: unknown key `sever`; did you mean `server`?");
}

#[test]
fn unknown_word_is_refused_with_its_place_and_the_nearest_one() {
    let error = refusal("[server]\nrpcbind = \"registre\"\n");
    assert_eq!(error, "wharf.toml:2:11: unknown value `registre`; did you mean `register`?");
    let error = refusal("[[export]]\npath = \"/a\"\nsquash = \"rot\"\n");
    assert_eq!(error, "wharf.toml:3:10: unknown value `rot`; did you mean `root`?");
}

#[test]
fn value_that_makes_no_sense_is_refused_with_its_place() {
    for (text, place, part) in [
        ("[server]\nlisten = [\"nas.example\"]\n", "2:10", "not an address"),
        ("[server]\nloops = \"two\"\n", "2:9", "`loops` requires a number"),
        ("[limits]\nmax_connections = 0\n", "2:19", "nobody"),
        ("[limits]\nmemory = \"0\"\n", "2:10", "nobody"),
        ("[limits]\nstall_timeout = \"0s\"\n", "2:17", "nobody"),
        ("[[export]]\npath = \"/a\"\nclients = \"10.0.0.0/8\"\n", "3:11", "clients = [\"10.0.0.0/8\"]"),
        ("[[export]]\npath = \"/a\"\nsquash = \"yes\"\n", "3:10", "none, root, all"),
        ("server = 3\n", "1:10", "table"),
        ("[server]\nloops = -1\n", "2:9", "`loops` requires a number that is not negative"),
        ("[limits]\nmax_unsent_bytes = \"4X\"\n", "2:20", "not a size"),
        ("[limits]\nidle_timeout = \"soon\"\n", "2:16", "not a time"),
        ("[[export]]\npath = \"srv\"\n", "2:8", "absolute path"),
        ("[[export]]\npath = \"/srv/..\"\n", "2:8", "`..`"),
        ("[[export]]\npath = \"/a\"\nname = \"b\"\n", "3:8", "absolute path"),
        ("[[export]]\nmemory = \"4Q\"\nname = \"/m\"\n", "2:10", "not a size"),
        ("[[export]]\npath = \"/a\"\nclients = [\"::1\", \"@us\"]\n", "3:19", "netgroups"),
        ("[[export]]\npath = \"/a\"\nclients = [\"10.0.0.0/33\"]\n", "3:12", "prefix length"),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(&format!("wharf.toml:{place}: ")) && error.contains(part), "{text}: {error}");
    }
}

#[test]
fn export_needs_one_source() {
    assert!(refusal("\n[[export]]\nname = \"/a\"\n").starts_with("wharf.toml:2:1: an export requires one"));
    assert!(refusal("[[export]]\npath = \"/a\"\nmemory = 5\n").contains("one of `path`, `memory` and `url`"));
    assert!(refusal("[[export]]\nurl = \"nfs://host/a\"\nmemory = 5\n").contains("one of `path`"));
    assert!(refusal("[[export]]\nmemory = 5\n").contains("requires a `name`"));
}

#[test]
fn text_that_is_no_toml_is_refused_with_its_place() {
    let error = refusal("[server]\nloops = \n");
    assert!(error.starts_with("wharf.toml:2:9: "), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

/// The keys of a table, as the refusal of an unknown one names them.
fn keys_of<'i, T: Deserialize<'i>>() -> Vec<String> {
    let error = toml::from_str::<T>("no_such_key = 1\n").err().expect("the key is unknown");
    error.message().split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented_and_has_its_place_in_the_example() {
    let page = include_str!("../../../../docs/exports.md");
    let example = include_str!("../../../../docs/examples/wharf.toml");
    for (table, keys) in [
        ("[server]", keys_of::<ServerSettings>()),
        ("[limits]", keys_of::<LimitSettings>()),
        ("[log]", keys_of::<LogSettings>()),
        ("[[export]]", keys_of::<Export>()),
        ("[[export.access]]", keys_of::<Access>()),
    ] {
        assert!(keys.len() > 1, "{table}: {keys:?}");
        for key in keys.iter().filter(|key| *key != "access") {
            assert!(page.contains(&format!("`{key}`")), "{table} {key} is not documented");
            assert!(example.lines().any(|line| line.starts_with(&format!("{key} = "))), "{table} {key} has no example");
        }
    }
}

#[test]
fn example_of_the_documentation_is_accepted() {
    let (settings, exports) = parse(include_str!("../../../../docs/examples/wharf.toml")).unwrap();
    assert_eq!(settings.limits.max_unsent_bytes, Some(4 << 20));
    let names: Vec<&str> = exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(names, ["/srv/data", "/artifacts", "/scratch", "/nas", "/slow"]);
    assert_eq!(exports[0].rules.len(), 5);
    assert_eq!(exports[1].fsid, Some(7));
}

#[test]
fn text_without_quotes_is_shown_with_them_and_no_user_is_refused() {
    for (text, part) in [
        ("[server]\ngrace = 90\n", "`grace` requires a text in quotes; write grace = \"90\""),
        ("[[export]]\npath = \"/a\"\nanonuid = 4294967295\n", "is no user and no group"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(part), "{refusal}");
    }
}
