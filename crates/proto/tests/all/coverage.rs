//! `docs/coverage.md` has a row for every procedure, and names tests that there are.

use std::fs;
use std::path::{Path, PathBuf};

use proto::{mount, nfs2, nfs3, nfsacl, rpcbind};

const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Where tests are, below the top.
const TEST_FOLDERS: [&str; 3] = ["crates", "fuzz/properties", "xtask"];
/// How many folders deep they are at most.
const MAX_DEPTH: usize = 8;

fn page() -> String {
    fs::read_to_string(format!("{TOP}/docs/coverage.md")).unwrap()
}

/// The text below a heading, up to the next one.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("\n## {heading}")).unwrap_or_else(|| panic!("no section {heading:?}"));
    rest.split("\n## ").next().unwrap()
}

/// The cells of the rows of all tables.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

#[test]
fn every_procedure_has_its_row() {
    let page = page();
    for (heading, procedures) in [
        ("NFS version 2", &nfs2::PROCEDURES[..]),
        ("NFS version 3", &nfs3::PROCEDURES[..]),
        ("NFSACL", &nfsacl::PROCEDURES[..]),
        ("MOUNT", &mount::PROCEDURES[..]),
        ("Port mapper", &rpcbind::portmap::PROCEDURES[..]),
        ("rpcbind versions 3 and 4", &rpcbind::PROCEDURES[..]),
    ] {
        let listed: Vec<(String, String)> =
            rows(section(&page, heading)).skip(1).map(|cells| (cells[0].to_owned(), cells[1].to_owned())).collect();
        let expected: Vec<(String, String)> =
            procedures.iter().enumerate().map(|(number, name)| (number.to_string(), (*name).to_owned())).collect();
        assert_eq!(listed, expected, "{heading}");
    }
}

#[test]
fn every_row_says_what_is_done_and_which_test_shows_it() {
    for cells in rows(&page()).filter(|cells| cells.last() != Some(&"Shown by")) {
        let [.., server, client, _, shown_by] = cells.as_slice() else { panic!("{cells:?}") };
        assert!(["done", "partial", "refused"].contains(server), "{cells:?}");
        assert!(["done", "partial", "refused", "—"].contains(client), "{cells:?}");
        assert!(shown_by.contains("::"), "{cells:?}");
    }
}

#[test]
fn every_test_that_the_page_names_exists() {
    let mut sources = Vec::new();
    for folder in TEST_FOLDERS {
        collect_sources(&Path::new(TOP).join(folder), MAX_DEPTH, &mut sources);
    }
    let page = page();
    let named: Vec<(&str, &str)> =
        page.split('`').skip(1).step_by(2).filter_map(|code| code.split_once("::")).collect();
    assert!(named.len() > 50, "the page names only {} tests", named.len());
    for (file, test) in named {
        assert!(exists(&sources, file, test), "there is no test {file}::{test}");
    }
}

fn exists(sources: &[PathBuf], file: &str, test: &str) -> bool {
    if file == "kernel" {
        return Path::new(TOP).join(format!("tests/kernel/cases/{test}.sh")).exists();
    }
    let declaration = format!("fn {test}(");
    sources
        .iter()
        .filter(|path| is_called(path, file))
        .any(|path| fs::read_to_string(path).unwrap().contains(&declaration))
}

/// Whether a source is `NAME.rs`, `NAME/main.rs` or `NAME/mod.rs`.
fn is_called(path: &Path, name: &str) -> bool {
    let stem = path.file_stem();
    let is_main = stem.is_some_and(|stem| stem == "main" || stem == "mod");
    let named = if is_main { path.parent().and_then(Path::file_name) } else { stem };
    named.is_some_and(|named| named == name)
}

fn collect_sources(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() && depth > 0 && entry.file_name() != "target" {
            collect_sources(&path, depth - 1, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}
