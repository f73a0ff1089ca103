//! `wharf cp` between two names of one file, and of files whose length is not what it was.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

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
fn standard_input_is_never_copied_onto_itself() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let (file, hard, content) = (export.join("file"), export.join("hard"), "precious".repeat(1000));
    fs::write(&file, &content).unwrap();
    fs::hard_link(&file, &hard).unwrap();
    let (other, copy) = (scratch.file("other", "other"), export.join("copy"));
    let cp = |from: &str, input: &Path, to: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
        command.args(["cp", "--overwrite", from, &server.url(to)]).stdin(fs::File::open(input).unwrap());
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    for from in ["-", "/dev/stdin", "/proc/self/fd/0"] {
        for to in [&file, &hard] {
            let said = cp(from, &file, to);
            assert!(said.contains("the copy would be the file itself"), "{from}: {said}");
            assert_eq!(fs::read_to_string(&file).unwrap(), content, "{from}");
        }
        for input in [&file, &other, &file] {
            assert_eq!(cp(from, input, &copy), "", "{from}");
            assert_eq!(fs::read(&copy).unwrap(), fs::read(input).unwrap(), "{from}");
        }
    }
}

#[test]
fn links_are_followed_and_pipes_read_unless_a_tree_is_copied() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let (real, link) = (scratch.file("real", "content"), scratch.path("link"));
    symlink(&real, &link).unwrap();
    let url = |name: &str| server.url(export.join(name));
    wharf_ok(&["cp", link.to_str().unwrap(), &url("followed")]);
    wharf_ok(&["cp", "-r", link.to_str().unwrap(), &url("kept")]);
    assert_eq!(fs::read_link(export.join("kept")).unwrap(), real);
    fs::remove_file(export.join("kept")).unwrap();
    symlink("followed", export.join("there")).unwrap();
    wharf_ok(&["cp", &url("there"), scratch.path("back").to_str().unwrap()]);
    wharf_ok(&["cp", &url("there"), &url("across")]);
    // What a shell makes of <(printf content) is a link to a pipe, and gets its name in a directory.
    let shell =
        format!("\"$0\" cp <(printf content) '{0}' && \"$0\" cp <(printf content) '{0}/pipe'", server.url(&export));
    let mut bash = Command::new("bash");
    assert!(bash.args(["-c", &shell, env!("CARGO_BIN_EXE_wharf")]).status().unwrap().success());
    let named: Vec<_> = fs::read_dir(&export).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(named.len(), 5, "{named:?}");
    for copy in named.into_iter().chain([scratch.path("back")]) {
        assert_eq!(fs::read_to_string(&copy).unwrap(), "content", "{copy:?}");
    }
    let said = wharf_fails(1, &["cp", "--resume", "/dev/null", &url("null")]);
    assert!(said.contains("--resume cannot continue /dev/null"), "{said}");
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
