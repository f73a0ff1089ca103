use super::*;
use crate::{RemarkKind, Source};
use access_rules::{DelegationPolicy, ExportOptions, Squash};
use std::path::PathBuf;

fn parse(text: &str) -> Result<(Vec<ExportSpec>, Vec<Remark>), ConfigError> {
    let mut mistakes = Vec::new();
    let parsed = parse_exports(text, Path::new("exports"), &Defaults::privileged(), &mut mistakes);
    if mistakes.is_empty() { Ok(parsed) } else { Err(mistakes.remove(0)) }
}

fn exports(text: &str) -> Vec<ExportSpec> {
    parse(text).unwrap().0
}

fn one(text: &str) -> ExportSpec {
    let mut exports = exports(text);
    assert_eq!(exports.len(), 1, "{text}");
    exports.remove(0)
}

/// The options of the only client of the only export.
fn options(text: &str) -> ExportOptions {
    let export = one(text);
    assert_eq!(export.rules.len(), 1, "{text}");
    export.rules[0].options
}

fn clients(export: &ExportSpec) -> Vec<String> {
    export.rules.iter().map(|rule| rule.clients.to_string()).collect()
}

fn refusal(text: &str) -> String {
    parse(text).expect_err("the text is accepted").to_string()
}

fn remarks(text: &str) -> Vec<String> {
    parse(text).unwrap().1.iter().map(Remark::to_string).collect()
}

#[test]
fn silence_means_what_exports_5_says() {
    let expected = ExportOptions {
        read_only: true,
        squash: Squash::Root,
        anonymous_uid: 65534,
        anonymous_gid: 65534,
        privileged_ports_only: true,
        delegations: DelegationPolicy::Auto,
        offers_acls: true,
        offers_xattrs: true,
    };
    assert_eq!(options("/srv 192.0.2.1"), expected);
    assert_eq!(options("/srv 192.0.2.1()"), expected);
    assert!(one("/srv 192.0.2.1").sync_metadata);
}

#[test]
fn each_option_has_its_effect() {
    assert!(!options("/srv *(rw)").read_only);
    assert!(options("/srv *(rw,ro)").read_only);
    assert!(!options("/srv *(insecure)").privileged_ports_only);
    assert!(options("/srv *(insecure,secure)").privileged_ports_only);
    assert_eq!(options("/srv *(delegations)").delegations, DelegationPolicy::Always);
    assert_eq!(options("/srv *(delegations,no_delegations)").delegations, DelegationPolicy::Off);
    assert_eq!(options("/srv *(delegations=off,delegations=auto)").delegations, DelegationPolicy::Auto);
    assert_eq!(options("/srv *(delegations=always)").delegations, DelegationPolicy::Always);
    assert!(!options("/srv *(no_acl)").offers_acls);
    assert!(options("/srv *(no_acl,acl)").offers_acls);
    assert!(!options("/srv *(no_xattr)").offers_xattrs);
    assert!(options("/srv *(no_xattr,xattr)").offers_xattrs);
    assert_eq!(options("/srv *(no_root_squash)").squash, Squash::None);
    assert_eq!(options("/srv *(no_root_squash,root_squash)").squash, Squash::Root);
    assert_eq!(options("/srv *(all_squash)").squash, Squash::All);
    assert_eq!(options("/srv *(all_squash,no_all_squash)").squash, Squash::Root);
    assert_eq!(options("/srv *(anonuid=150,anongid=100)").anonymous_uid, 150);
    assert_eq!(options("/srv *(anonuid=150,anongid=100)").anonymous_gid, 100);
    assert_eq!(options("/srv *(anonuid=-2)").anonymous_uid, u32::MAX - 1);
    assert_eq!(one("/srv *(fsid=7)").fsid, Some(7));
    assert_eq!(one("/srv *(fsid=root)").fsid, Some(0));
    assert_eq!(one("/srv *(fsid=00000000-0000-0001:0000.000000000002)").fsid, Some(3));
    assert!(!one("/srv *(async)").sync_metadata);
    assert!(one("/srv *(async,sync)").sync_metadata);
}

#[test]
fn unprivileged_default_gives_way_to_an_option() {
    let parse = |text| parse_exports(text, Path::new("exports"), &Defaults::unprivileged(7, 8), &mut Vec::new()).0;
    let squash = |text| parse(text)[0].rules[0].options.squash;
    assert_eq!(squash("/srv *"), Squash::All);
    assert_eq!(squash("/srv *(root_squash)"), Squash::Root);
    assert_eq!(squash("/srv *(no_root_squash)"), Squash::None);
}

#[test]
fn several_clients_have_options_of_their_own() {
    let export = one("/srv 192.0.2.1(rw) 10.0.0.0/8 10.1.0.0/255.255.0.0(all_squash) build.example.org fd00::/8(rw) *");
    let expected = ["192.0.2.1", "build.example.org", "10.0.0.0/8", "10.1.0.0/16", "fd00::/8", "*"];
    assert_eq!(clients(&export), expected);
    assert!(!export.rules[0].options.read_only && export.rules[1].options.read_only);
    assert_eq!(export.rules[3].options.squash, Squash::All);
}

#[test]
fn narrower_kind_of_client_decides_wherever_it_stands() {
    assert_eq!(clients(&one("/srv *(ro) 10.0.0.0/8 host 192.0.2.1")), ["host", "192.0.2.1", "10.0.0.0/8", "*"]);
}

#[test]
fn default_options_hold_for_the_clients_after_them() {
    let export = one("/srv -rw,insecure a b(ro) -anonuid=3 c");
    let of = |index: usize| export.rules[index].options;
    assert!(!of(0).read_only && !of(0).privileged_ports_only);
    assert!(of(1).read_only && !of(1).privileged_ports_only);
    assert_eq!((of(1).anonymous_uid, of(2).anonymous_uid), (65534, 3));
    assert!(!of(2).read_only);
}

#[test]
fn path_is_read_with_quotes_and_escapes() {
    for (text, path) in [
        (r#""/srv/my data" *"#, "/srv/my data"),
        (r#"/srv/"my data"/x *"#, "/srv/my data/x"),
        (r"/srv/my\040data *", "/srv/my data"),
        (r"/srv/caf\303\251 *", "/srv/café"),
        (r"/srv/a\b *", r"/srv/a\b"),
        (r"/srv/a\09 *", r"/srv/a\09"),
        (r"/srv/a\777 *", r"/srv/a\777"),
        (r#""/srv/a#b(c)" *"#, "/srv/a#b(c)"),
        (r"/srv/a#b *", "/srv/a#b"),
        ("/srv//x/ *", "/srv/x"),
    ] {
        let export = one(text);
        assert_eq!((export.name.as_str(), &export.source), (path, &Source::Dir(PathBuf::from(path))), "{text}");
    }
}

#[test]
fn comments_blank_lines_and_continuations_are_no_entries() {
    let text = "# first\n\n  \t\n/a \\\n   b(rw) \\\r\n\tc # a comment \\\n/d *\n#last";
    let exports = exports(text);
    assert_eq!(exports.len(), 2);
    assert_eq!(clients(&exports[0]), ["b", "c"]);
    assert_eq!(exports[1].name, "/d");
    assert_eq!(exports[0].origin.to_string(), "exports:4:1");
    assert_eq!(exports[1].origin.to_string(), "exports:7:1");
}

#[test]
fn continuation_ends_a_word() {
    assert_eq!(clients(&one("/a host\\\nother")), ["host", "other"]);
}

#[test]
fn lines_of_one_path_make_one_export() {
    let exports = exports("/a b(rw)\n/c *\n/a/ d\n");
    assert_eq!(exports.len(), 2);
    assert_eq!(clients(&exports[0]), ["b", "d"]);
}

#[test]
fn path_without_a_client_is_for_this_machine_alone() {
    for text in ["/a", "/a -rw", "/a (rw)"] {
        let export = one(text);
        assert!(!export.names_clients, "{text}");
        assert_eq!(clients(&export), ["127.0.0.0/8", "::1"], "{text}");
        assert_eq!(export.rules[0].options.read_only, text == "/a", "{text}");
        assert!(remarks(text)[0].contains("only this machine"), "{text}");
    }
}

#[test]
fn options_apart_from_their_client_are_refused() {
    assert!(refusal("/a host (rw)").starts_with("exports:1:9: a list of options without a client"));
    assert!(refusal("/a (rw) host").starts_with("exports:1:4: a list of options without a client"));
}

#[test]
fn option_without_effect_is_accepted_and_told() {
    let told = remarks("/a *(rw,subtree_check,no_subtree_check,crossmnt,sec=sys,no_wdelay)");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("exports:1:9: the option `subtree_check` has no effect: "), "{told:?}");
    assert!(told[1].starts_with("exports:1:40: the option `crossmnt` has no effect: "), "{told:?}");
}

#[test]
fn asynchronous_export_is_told() {
    assert!(remarks("/a *(async)")[0].contains("may lose"));
    let (exports, remarks) = parse("/a b(async) c").unwrap();
    assert!(exports[0].sync_metadata);
    assert_eq!(remarks[0].kind, RemarkKind::MixedSync { export: "/a".to_owned() });
}

#[test]
fn option_that_would_change_what_is_meant_is_refused() {
    for option in ["sec=krb5", "sec=sys:krb5p", "mp", "mountpoint=/x", "refer=/a@b", "pnfs", "xprtsec=tls"] {
        let error = refusal(&format!("/a *({option})"));
        assert!(error.starts_with(&format!("exports:1:6: the option `{option}` is refused: ")), "{error}");
    }
}

#[test]
fn unknown_option_is_refused_with_its_place_and_the_nearest_one() {
    let error = refusal("/ok *\n/a *(rw,no_rot_squash)\n");
    assert_eq!(error, "exports:2:9: unknown option `no_rot_squash`; did you mean `no_root_squash`?");
    assert_eq!(refusal("/a *(squash_everything)"), "exports:1:6: unknown option `squash_everything`");
    assert!(refusal("/a -rx *").starts_with("exports:1:5: unknown option `rx`"));
}

#[test]
fn value_that_makes_no_sense_is_refused() {
    for option in ["anonuid", "anonuid=", "anonuid=me", "anongid=4294967296", "anonuid=-2147483649", "fsid", "fsid=x"] {
        assert!(refusal(&format!("/a *({option})")).contains("requires a number"), "{option}");
    }
    for option in ["anonuid=-1", "anongid=4294967295"] {
        assert!(refusal(&format!("/a *({option})")).contains("other than -1"), "{option}");
    }
    assert_eq!(refusal("/a *(ro=1)"), "exports:1:6: `ro` requires no value");
}

#[test]
fn clients_that_cannot_be_told_apart_are_refused_with_their_place() {
    for (client, part) in [
        ("@trusted", "netgroups"),
        ("*.example.org", "wildcards"),
        ("gss/krb5", "Kerberos"),
        ("10.0.0.0/40", "prefix length"),
        ("10.0.0.999", "not an address"),
    ] {
        let error = refusal(&format!("/a ok {client}(rw)"));
        assert!(error.starts_with("exports:1:7: ") && error.contains(part), "{error}");
    }
}

#[test]
fn malformed_line_is_refused_with_its_place() {
    for (text, place, part) in [
        ("srv *", "1:1", "absolute path"),
        ("/srv/../etc *", "1:1", "`..`"),
        ("/a\\000b *", "1:1", "NUL"),
        ("/a\\377 *", "1:1", "UTF-8"),
        ("\"/a b *\n/c *", "1:1", "does not end"),
        ("/a\"b *", "1:3", "does not end"),
        ("/a *(rw", "1:4", "closing parenthesis"),
        ("/a *(rw, sync)", "1:4", "closing parenthesis"),
        ("/a *(rw)x", "1:9", "follow the closing parenthesis"),
        ("/a *(rw,,sync)", "1:9", "an option is missing"),
        ("/a *(rw,)", "1:9", "an option is missing"),
        ("/a - *", "1:5", "an option is missing"),
        ("/a b b(rw)", "1:6", "named twice"),
        ("/a b\n/a b", "2:4", "named twice"),
        ("/a\n/a *", "2:1", "already exported by exports:1:1"),
        ("/a b(fsid=1) c(fsid=2)", "1:16", "already has the fsid 1"),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(&format!("exports:{place}: ")) && error.contains(part), "{text}: {error}");
    }
}

#[test]
fn every_option_is_documented() {
    let page = include_str!("../../../../docs/exports.md");
    for option in vocabulary::names() {
        assert!([format!("`{option}`"), format!("`{option}=`")].iter().any(|code| page.contains(code)), "{option}");
    }
}

#[test]
fn example_of_the_documentation_is_accepted() {
    let (exports, remarks) = parse(include_str!("../../../../docs/examples/exports")).unwrap();
    assert_eq!(remarks, []);
    let names: Vec<&str> = exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(names, ["/srv/data", "/srv/build", "/srv/artifacts", "/srv/my data", "/srv/more data"]);
    assert_eq!(clients(&exports[1]), ["build.example.org", "10.0.0.0/8", "*"]);
}
