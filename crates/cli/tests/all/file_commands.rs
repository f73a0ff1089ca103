//! `wharf chmod`, `chown`, `touch`, `truncate`, `df`, `du` and `find`, beside what the classic tools do on the
//! directory that is served.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::Scratch;
use testing::program::{Server, wharf, wharf_fails, wharf_ok};

const VERSIONS: [&str; 4] = ["2", "3", "4.0", "4.2"];

/// A served directory, and a tree in it.
struct Export {
    scratch: Scratch,
    dir: PathBuf,
    server: Server,
}

impl Export {
    fn start() -> Export {
        let scratch = Scratch::new();
        let dir = scratch.dir("export");
        let server = Server::start(1, &["--no-root-squash", dir.to_str().unwrap()]);
        Export { scratch, dir, server }
    }

    /// Makes the same tree again.
    fn make_tree(&self) -> PathBuf {
        let tree = self.dir.join("tree");
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(tree.join("empty")).unwrap();
        fs::write(tree.join("a/large.txt"), vec![1; 300_000]).unwrap();
        fs::write(tree.join("a/b/small.TXT"), "text").unwrap();
        fs::write(tree.join("none"), "").unwrap();
        fs::hard_link(tree.join("a/large.txt"), tree.join("a/b/second")).unwrap();
        symlink("a/large.txt", tree.join("link")).unwrap();
        symlink("missing", tree.join("dangling")).unwrap();
        tree
    }

    fn url(&self, path: &Path, version: &str) -> String {
        format!("{}?version={version}", self.server.url(path))
    }
}

/// What one of the classic tools prints, line by line in their order.
fn classic(program: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program).args(arguments).output().unwrap();
    sorted(&String::from_utf8(output.stdout).unwrap())
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The attributes of every file of a tree that commands change, but the times that change with them.
fn attributes(tree: &Path) -> Vec<String> {
    let all = classic("find", &[tree.to_str().unwrap(), "-printf", "%P %m %U:%G %y\n"]);
    assert!(!all.is_empty());
    all
}

#[test]
fn permissions_are_changed_as_chmod_does() {
    let export = Export::start();
    for version in VERSIONS {
        for arguments in [&["640"][..], &["u+x,go-w"], &["-R", "go=u-w"], &["-R", "a+X"], &["-R", "7755"], &["g-s,-t"]]
        {
            let tree = export.make_tree();
            let (there, here) = (export.url(&tree, version), tree.to_str().unwrap());
            wharf_ok(&[&["chmod"][..], arguments, &[&there]].concat());
            let ours = attributes(&tree);
            export.make_tree();
            assert!(Command::new("chmod").args(arguments).arg(here).status().unwrap().success());
            assert_eq!(ours, attributes(&tree), "{version} {arguments:?}");
        }
        // A link at the top is followed.
        let tree = export.make_tree();
        wharf_ok(&["chmod", "600", &export.url(&tree.join("link"), version)]);
        assert_eq!(fs::metadata(tree.join("a/large.txt")).unwrap().mode() & 0o7777, 0o600);
    }
    let (missing, there) =
        (export.url(&export.dir.join("missing"), "3"), export.url(&export.dir.join("tree/none"), "3"));
    let said = wharf_fails(1, &["chmod", "604", &missing, &there]);
    assert!(said.contains("missing: no such file") && said.lines().count() == 1, "{said}");
    assert_eq!(fs::metadata(export.dir.join("tree/none")).unwrap().mode() & 0o7777, 0o604);
    assert!(wharf_fails(2, &["chmod", "999", &there]).contains("u+x,go-w"));
}

#[test]
fn owners_are_changed_as_chown_does() {
    let export = Export::start();
    if std::os::unix::fs::chown(&export.dir, Some(1), None).is_err() {
        return println!("skipped: only the superuser can give files to other users");
    }
    for version in VERSIONS {
        for arguments in [&["7"][..], &["7:8"], &[":9"], &["-R", "root:7"], &["-h", "5"]] {
            for name in ["", "link", "a/b"] {
                let tree = export.make_tree();
                let file = if name.is_empty() { tree.clone() } else { tree.join(name) };
                wharf_ok(&[&["chown"][..], arguments, &[&export.url(&file, version)]].concat());
                let ours = attributes(&tree);
                export.make_tree();
                assert!(Command::new("chown").args(arguments).arg(&file).status().unwrap().success());
                assert_eq!(ours, attributes(&tree), "{version} {arguments:?} {name}");
            }
        }
    }
    assert!(wharf_fails(2, &["chown", "no-such-user", &export.server.url("/x")]).contains("no-such-user"));
}

#[test]
fn times_are_set_and_missing_files_made_as_touch_does() {
    let export = Export::start();
    for version in VERSIONS {
        let tree = export.make_tree();
        let file = tree.join("none");
        let url = export.url(&file, version);
        let times = || fs::metadata(&file).map(|file| (file.atime(), file.mtime())).unwrap();
        wharf_ok(&["touch", "-d", "2001-09-09 01:46:40", &url]);
        assert_eq!(times(), (1_000_000_000, 1_000_000_000), "{version}");
        wharf_ok(&["touch", "-m", "-t", "200902132331.30", &url]);
        wharf_ok(&["touch", "-a", "-d", "@5", &url]);
        assert_eq!(times(), (5, 1_234_567_890), "{version}");
        let new = tree.join("new");
        wharf_ok(&["touch", "-r", &url, &export.url(&new, version)]);
        assert_eq!(fs::metadata(&new).map(|new| (new.mtime(), new.len())).unwrap(), (1_234_567_890, 0), "{version}");
        wharf_ok(&["touch", &url]);
        assert!(times().1 > 1_700_000_000, "{version}");
        wharf_ok(&["touch", "-c", &export.url(&tree.join("absent"), version)]);
        assert!(!tree.join("absent").exists());
    }
    assert!(wharf_fails(2, &["touch", "-d", "soon", &export.server.url("/x")]).contains("2026-11-27"));
}

#[test]
fn sizes_are_set_as_truncate_does() {
    let export = Export::start();
    for version in VERSIONS {
        let tree = export.make_tree();
        let file = tree.join("a/b/small.TXT");
        for (size, wanted) in
            [("10", 10), ("+1K", 1034), ("-4", 1030), ("<1000", 1000), ("%512", 1024), ("/1000", 1000), (">2K", 2048)]
        {
            wharf_ok(&["truncate", "-s", size, &export.url(&file, version)]);
            assert_eq!(fs::metadata(&file).unwrap().len(), wanted, "{version} {size}");
        }
        let new = tree.join("new");
        wharf_ok(&["truncate", "-c", "-s", "5", &export.url(&new, version)]);
        assert!(!new.exists());
        wharf_ok(&["truncate", "-r", &export.url(&file, version), &export.url(&new, version)]);
        assert_eq!(fs::metadata(&new).unwrap().len(), 2048, "{version}");
    }
    assert!(wharf_fails(2, &["truncate", &export.server.url("/x")]).contains("--size"));
}

#[test]
fn files_are_found_as_find_does() {
    let export = Export::start();
    let tree = export.make_tree();
    let here = tree.to_str().unwrap();
    for version in VERSIONS {
        let there = export.url(&tree, version);
        for conditions in [
            &[][..],
            &["-name", "*.txt"],
            &["-iname", "*.TXT"],
            &["-type", "f"],
            &["-type", "l,d"],
            &["-size", "+100k"],
            &["-size", "-2"],
            &["-empty"],
            &["-maxdepth", "1"],
            &["-mindepth", "2"],
            &["-mtime", "-1"],
            &["-mtime", "+0"],
            &["-name", "s*", "-type", "f", "-print"],
        ] {
            let ours = wharf_ok(&[&["find", &there][..], conditions].concat());
            // find(1) wants depths before tests, which these are.
            assert_eq!(sorted(&ours), classic("find", &[&[here][..], conditions].concat()), "{version} {conditions:?}");
        }
        let old = tree.join("none");
        wharf_ok(&["touch", "-d", "@1000", &export.url(&old, version)]);
        let newer = wharf_ok(&["find", &there, "-newer", &export.url(&old, version), "-type", "f"]);
        assert!(newer.contains("small.TXT") && !newer.contains("none"), "{version}: {newer}");
    }
    let urls = wharf_ok(&["find", "--url", "--print0", "-name", "small*", &export.server.url(&tree)]);
    assert_eq!(urls, format!("{}\0", export.server.url(tree.join("a/b/small.TXT"))));
    assert_eq!(wharf_ok(&["cat", urls.trim_end_matches('\0')]), "text");
    let with_version = format!("{}?version=3", export.server.url(&tree));
    let urls = wharf_ok(&["find", "--url", "-name", "small*", &with_version]);
    assert_eq!(urls, format!("{}?version=3\n", export.server.url(tree.join("a/b/small.TXT"))));
    let json = wharf_ok(&["find", "--json", "-name", "small*", &export.server.url(&tree)]);
    assert!(json.contains("\"size_bytes\": 4"), "{json}");
}

#[test]
fn names_that_may_not_be_looked_up_are_found_and_no_hint_for_root_is_given_to_others() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let dir = export.join("listable");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("a"), "").unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o744)).unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    for (more, is_found) in
        [(&[][..], true), (&["-name", "a"], true), (&["-size", "0"], false), (&["-type", "f"], false)]
    {
        let url = server.url(&dir);
        let output = wharf(&[&["find", "--uid", "1000", "--gid", "1000", &url], more].concat());
        let (found, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(!output.status.success() && said.contains("permission denied") && !said.contains("root"), "{said}");
        assert_eq!(found.lines().any(|line| line.ends_with("/a")), is_found, "{more:?}: {found}");
    }
}

#[test]
fn space_of_directories_is_counted_as_du_does() {
    let export = Export::start();
    let tree = export.make_tree();
    let here = tree.to_str().unwrap();
    // File systems may take the blocks of new files late.
    rustix::fs::syncfs(fs::File::open(&tree).unwrap()).unwrap();
    for version in VERSIONS {
        let there = export.url(&tree, version);
        for options in [&[][..], &["-s"], &["-a"], &["-d", "1"], &["-b"], &["-h"], &["-sc"]] {
            let ours = wharf_ok(&[&["du", &there][..], options].concat());
            assert_eq!(sorted(&ours), classic("du", &[&[here][..], options].concat()), "{version} {options:?}");
        }
    }
    let json = wharf_ok(&["du", "-s", "--json", &export.server.url(&tree)]);
    assert!(json.contains("\"bytes\""), "{json}");
    let said = wharf(&["du", &export.server.url(export.scratch.path("missing"))]);
    assert_eq!(said.status.code(), Some(1));
}

#[test]
fn space_of_a_file_system_is_shown() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    for version in VERSIONS {
        let url = server.url(format!("/mem?version={version}"));
        let text = wharf_ok(&["df", &url]);
        let mut lines = text.lines();
        assert_eq!(
            lines.next().unwrap().split_whitespace().collect::<Vec<_>>(),
            ["Export", "1K-blocks", "Used", "Available", "Use%"]
        );
        let line: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!((line[0], line[1]), ("127.0.0.1:/mem", "65536"), "{version}: {text}");
        assert!(wharf_ok(&["df", "-h", &url]).contains(" 64M "), "{version}");
    }
    let json = wharf_ok(&["df", "--json", &server.url("/mem")]);
    assert!(json.contains("\"total_bytes\": 67108864"), "{json}");
    assert!(wharf_ok(&["df", "-i", &server.url("/mem")]).contains("Free"));
}
