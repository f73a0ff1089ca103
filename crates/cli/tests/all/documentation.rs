//! What the documentation offers to copy, and the tests that it names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::Scratch;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn units_are_accepted_by_systemd() {
    let scratch = Scratch::new();
    let service = fs::read_to_string(format!("{DOCS}/wharf.service")).unwrap();
    let installed = service.replace("/usr/local/bin/wharf", env!("CARGO_BIN_EXE_wharf"));
    assert_ne!(installed, service);
    let service = scratch.file("wharf.service", &installed);
    let socket = scratch.path("wharf.socket");
    fs::copy(format!("{DOCS}/wharf.socket"), &socket).unwrap();
    let verify = Command::new("systemd-analyze").arg("verify").args([service, socket]).output();
    let Ok(output) = verify else {
        println!("skipped: there is no systemd-analyze; install systemd");
        return;
    };
    // Other units of the machine may have complaints of their own.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.lines().any(|line| line.contains("wharf")), "{said}");
}

#[test]
fn tests_that_the_page_of_file_systems_names_are_there() {
    let page = fs::read_to_string(format!("{DOCS}/file-systems.md")).unwrap();
    let sources = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")));
    let tests: Vec<&str> =
        sources.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.split('(').next()).collect();
    let spans = page.split('`').skip(1).step_by(2);
    // A name, or the end of one as of the row above.
    let names = spans.filter_map(|span| span.strip_prefix('…').or_else(|| Some(span.rsplit_once("::")?.1)));
    let names: Vec<&str> = names.filter(|name| *name != "tests").collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(tests.iter().any(|test| test.ends_with(name)), "there is no test {name}");
    }
}

/// All Rust files below a directory.
fn sources(dir: &Path) -> String {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(extension) if extension == "rs" => fs::read_to_string(path).unwrap(),
        _ => String::new(),
    };
    paths.map(text).collect()
}
