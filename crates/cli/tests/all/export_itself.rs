//! URLs that name an export itself, or a directory that a server of an older version mounts as well as an export.

use std::fs;

use testing::Scratch;
use testing::program::{Server, snapshot, wharf_fails, wharf_ok};

/// Older versions have one export for `/`, and let clients mount any directory in it.
const VERSIONS: [&str; 4] = ["2", "3", "4.0", "4.2"];

#[test]
fn directory_of_the_only_export_is_copied_to_again_moved_and_removed_in_every_version() {
    let scratch = Scratch::new();
    let (tree, export) = (scratch.dir("tree"), scratch.dir("export"));
    fs::write(tree.join("file"), "content").unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let from = tree.to_str().unwrap();
    for version in VERSIONS {
        let url = |name: &str| server.url(format!("/{name}?version={version}"));
        fs::create_dir(export.join("res")).unwrap();
        for _ in 0..2 {
            wharf_ok(&["cp", "-r", "-T", "--resume", from, &url("res")]);
        }
        assert!(snapshot(&tree) == snapshot(&export.join("res")), "{version}");
        assert_eq!(wharf_ok(&["ls", &url("res")]), "file\n", "{version}");
        assert!(wharf_fails(1, &["mkdir", &url("res")]).contains("file exists"), "{version}");
        fs::create_dir(export.join("other")).unwrap();
        wharf_ok(&["mv", &url("res"), &url("other")]);
        wharf_ok(&["rm", "-r", &url("other")]);
        assert_eq!(fs::read_dir(&export).unwrap().count(), 0, "{version}");
    }
}

#[test]
fn export_itself_takes_a_copy_and_is_neither_removed_nor_renamed() {
    let scratch = Scratch::new();
    let (tree, export) = (scratch.dir("tree"), scratch.dir("export"));
    fs::write(tree.join("file"), "content").unwrap();
    let second = scratch.dir("second");
    let server = Server::start(2, &["--no-root-squash", export.to_str().unwrap(), second.to_str().unwrap()]);
    for version in VERSIONS {
        let url = |path: &std::path::Path| format!("{}?version={version}", server.url(path));
        for _ in 0..2 {
            wharf_ok(&["cp", "-r", "-T", "--resume", tree.to_str().unwrap(), &url(&export)]);
        }
        assert!(snapshot(&tree) == snapshot(&export), "{version}");
        for arguments in [
            &["rm", "-r", &url(&export)][..],
            &["mv", &url(&export), &url(&export.join("x"))],
            &["mkdir", &url(&export)],
        ] {
            let said = wharf_fails(1, arguments);
            assert!(said.contains("this is the export itself"), "{version}: {said}");
        }
        assert!(snapshot(&tree) == snapshot(&export), "{version}");
        fs::remove_file(export.join("file")).unwrap();
    }
}

#[test]
fn file_of_the_only_export_is_reached_without_its_name_in_every_version() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", &format!("{}=/name", export.to_str().unwrap())]);
    let local = scratch.path("local");
    fs::write(&local, "content").unwrap();
    for version in VERSIONS {
        let url = |path: &str| format!("{}?version={version}", server.url(path));
        wharf_ok(&["mkdir", &url("/d")]);
        wharf_ok(&["mkdir", &url("/d/e")]);
        wharf_ok(&["cp", local.to_str().unwrap(), &url("/q")]);
        assert_eq!(wharf_ok(&["cat", &url("/q")]), "content", "{version}");
        assert_eq!(wharf_ok(&["ls", &url("/d")]), "e\n", "{version}");
        // One export, under whatever names.
        for (from, to) in
            [("/q", "/d/e/q"), ("/d/e/q", "/p"), ("/p", "/name/d"), ("/d/p", "/name/r"), ("/name/r", "/d/")]
        {
            wharf_ok(&["mv", &url(from), &url(to)]);
        }
        wharf_ok(&["ln", &url("/d/r"), &url("/name/l")]);
        wharf_ok(&["cp", &url("/l"), &url("/name/d/copy")]);
        wharf_ok(&["cp", &url("/name/l"), &url("/m")]);
        let names = |dir: &str| snapshot(&export.join(dir)).len();
        assert_eq!((names("d"), names("")), (4, 7), "{version}");
        wharf_ok(&["rm", &url("/m"), &url("/l")]);
        assert!(wharf_fails(1, &["mkdir", &url("/no/such")]).contains("no such"), "{version}");
        wharf_ok(&["rm", "-r", &url("/d")]);
        assert_eq!(fs::read_dir(&export).unwrap().count(), 0, "{version}");
    }
}
