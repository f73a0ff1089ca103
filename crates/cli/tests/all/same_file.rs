//! `wharf cp` between two names of one file, and of files whose length is not what it was.

use std::fs;
use std::path::Path;

use testing::Scratch;
use testing::program::mounting::{Unmount, can_mount};
use testing::program::{Server, snapshot, wharf, wharf_fails, wharf_ok};

const VERSIONS: [&str; 4] = ["2", "3", "4.1", "4.2"];

#[test]
fn file_is_never_copied_onto_itself_through_the_servers_own_directory() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let file = export.join("file");
    for version in VERSIONS {
        fs::write(&file, "precious".repeat(1000)).unwrap();
        let before = snapshot(&export);
        let (path, url) = (file.to_str().unwrap(), format!("{}?version={version}", server.url(&file)));
        for (from, to) in [(path, url.as_str()), (&url, path), (&url, &url)] {
            let said = wharf_fails(1, &["cp", "--overwrite", from, to]);
            assert!(said.contains("the copy would be the file itself"), "{version}: {said}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "precious".repeat(1000), "{version}: {from} to {to}");
        }
        if version != "2" {
            assert!(snapshot(&export) == before, "{version}");
        }
        // A copy of the same length and time is none of these.
        let copy = scratch.path("copy");
        wharf_ok(&["cp", "--overwrite", &url, copy.to_str().unwrap()]);
        for (from, to) in [(copy.to_str().unwrap(), url.as_str()), (&url, copy.to_str().unwrap())] {
            wharf_ok(&["cp", "--overwrite", from, to]);
        }
    }
}

#[test]
fn file_is_never_copied_onto_itself_through_a_mount() {
    if !can_mount() {
        return;
    }
    let scratch = Scratch::new();
    let (export, dir) = (scratch.dir("export"), scratch.dir("mnt"));
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let content = "precious".repeat(1000);
    for mounted in ["3", "4.2"] {
        let options = format!("vers={mounted},mountport={}", server.port());
        wharf_ok(&["mount", &server.url(&export), dir.to_str().unwrap(), "-o", &options]);
        let _unmount = Unmount(&dir);
        for version in VERSIONS {
            let (file, link) = (export.join("file"), export.join("link"));
            fs::write(&file, &content).unwrap();
            fs::hard_link(&file, &link).unwrap();
            let path = dir.join("file");
            // The mount knows it.
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            let path = path.to_str().unwrap();
            let url = |file: &Path| format!("{}?version={version}", server.url(file));
            for (from, to) in [(path, url(&file)), (path, url(&link)), (&url(&link), path.to_owned())] {
                for option in ["--overwrite", "--resume"] {
                    // A whole copy is not made again.
                    let output = wharf(&["cp", option, from, &to]);
                    let said = String::from_utf8_lossy(&output.stderr);
                    let is_refused = said.contains("the copy would be the file itself");
                    assert!(is_refused || option == "--resume", "{mounted}, {version}: {from} to {to}: {said}");
                    assert_eq!(fs::read_to_string(&file).unwrap(), content, "{mounted}, {version}: {from} to {to}");
                }
            }
            fs::remove_file(link).unwrap();
        }
    }
}

#[test]
fn tree_is_not_copied_into_itself_and_nothing_is_made_before_that_is_seen() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let tree = export.join("tree");
    fs::create_dir_all(tree.join("sub")).unwrap();
    (0..8).for_each(|number| fs::write(tree.join(format!("file{number}")), "content").unwrap());
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    for version in VERSIONS {
        let url = |path: &Path| format!("{}?version={version}", server.url(path));
        let inside = tree.join("sub/in");
        let before = snapshot(&export);
        let (tree_there, inside_there) = (url(&tree), url(&inside));
        let (tree_here, inside_here) = (tree.to_str().unwrap(), inside.to_str().unwrap());
        for (from, to) in
            [(tree_there.as_str(), inside_there.as_str()), (tree_here, &inside_there), (&tree_there, inside_here)]
        {
            let said = wharf_fails(1, &["cp", "-r", from, to]);
            assert!(said.contains("the copy is inside of what is copied"), "{version}: {said}");
            let said = wharf_fails(1, &["cp", "-r", "-T", "--overwrite", from, to.trim_end_matches("/sub/in")]);
            assert!(said.contains("the copy is inside of what is copied"), "{version}: {said}");
            assert!(snapshot(&export) == before, "{version}: {from} to {to}");
        }
    }
}

#[test]
fn file_is_copied_to_its_end_whatever_its_attributes_say() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:8M"]);
    // The length of the first is 0 for lstat(2), that of the second 4096.
    for (number, file) in ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"].into_iter().enumerate() {
        let Ok(text) = fs::read_to_string(file) else { continue };
        for version in VERSIONS {
            let url = server.url(format!("/mem/{number}-{version}?version={version}"));
            wharf_ok(&["cp", "--verify", file, &url]);
            assert_eq!(wharf_ok(&["cat", &url]), text, "{version}");
            let copy = scratch.path(&format!("copy-{number}-{version}"));
            wharf_ok(&["cp", &url, copy.to_str().unwrap()]);
            assert_eq!(fs::read_to_string(copy).unwrap(), text, "{version}");
        }
    }
}
