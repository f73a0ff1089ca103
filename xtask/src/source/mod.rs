//! `cargo xtask source`: rules of the house that no lint knows.
//!
//! - `unsafe` stands only in the `sys.rs` of crates that make system calls; every other crate forbids it.
//! - Functions and files do not get longer than a limit, nor do lines of comments and documents.

mod blank;
mod columns;
mod outline;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failure, Outcome};

/// The crates that make system calls, each in one `sys.rs`.
const UNSAFE_CRATES: [&str; 4] = ["net", "fs-host", "daemon", "lab"];
/// The most lines of a function.
const MAX_FUNCTION_LINES: usize = 60;
/// The most lines of a file, not counting its tests.
const MAX_FILE_LINES: usize = 800;
/// The deepest nesting of folders that is looked into.
const MAX_FOLDER_DEPTH: usize = 8;

/// Prints every place that breaks a rule.
pub fn run(root: &Path) -> Outcome {
    let mut complaints = Vec::new();
    for package in packages(root)? {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = Vec::new();
        find_files(&package, MAX_FOLDER_DEPTH, &|path| has_extension(path, "rs"), &mut files)?;
        for path in files {
            let source = fs::read_to_string(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
            let shown = path.strip_prefix(root).unwrap_or(&path).to_owned();
            let inside = path.strip_prefix(&package).unwrap_or(&path).to_owned();
            let file = SourceFile { package: &name, inside: &inside, source: &source };
            complaints.extend(file.complaints().into_iter().map(|text| format!("{}:{text}", shown.display())));
        }
    }
    for path in documents(root)? {
        let text = fs::read_to_string(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display();
        complaints.extend(columns::of_document(&text).into_iter().map(|complaint| format!("{shown}:{complaint}")));
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    match complaints.len() {
        0 => Ok(()),
        count => Err(Failure::Broken { count, what: "places break a rule" }),
    }
}

/// A file of a crate.
struct SourceFile<'a> {
    package: &'a str,
    /// Its path inside the crate's folder.
    inside: &'a Path,
    source: &'a str,
}

impl SourceFile<'_> {
    /// What is wrong, each with its line in front.
    fn complaints(&self) -> Vec<String> {
        let code = blank::blank(self.source);
        let mut complaints = self.unsafe_complaints(&code);
        complaints.extend(columns::of_comments(self.source));
        for function in outline::functions(&code) {
            let length = function.lines.len();
            if length > MAX_FUNCTION_LINES {
                let (line, name) = (function.lines.start + 1, function.name);
                complaints.push(format!("{line}: `{name}` has {length} lines; {MAX_FUNCTION_LINES} are the most"));
            }
        }
        let length = code.lines().count() - outline::test_line_count(&code).min(code.lines().count());
        if length > MAX_FILE_LINES {
            complaints.push(format!("1: {length} lines without tests; {MAX_FILE_LINES} are the most"));
        }
        complaints
    }

    fn unsafe_complaints(&self, code: &str) -> Vec<String> {
        let may_be_unsafe = UNSAFE_CRATES.contains(&self.package);
        let is_root = [Path::new("src/lib.rs"), Path::new("src/main.rs")].contains(&self.inside);
        let mut complaints = Vec::new();
        if is_root && !may_be_unsafe && !code.contains("#![forbid(unsafe_code)]") {
            complaints.push("1: `#![forbid(unsafe_code)]` is missing".to_owned());
        }
        if !(may_be_unsafe && self.inside == Path::new("src/sys.rs")) {
            let lines = outline::lines_with_word(code, "unsafe");
            complaints.extend(lines.iter().map(|line| format!("{}: `unsafe` outside of a sys.rs", line + 1)));
        }
        complaints
    }
}

/// The folders of all crates.
fn packages(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut packages = list(&root.join("crates"))?;
    packages.extend([root.join("fuzz/properties"), root.join("xtask")]);
    packages.retain(|package| package.join("Cargo.toml").is_file());
    Ok(packages)
}

/// Everything in Markdown, but for the reports that the lab writes.
fn documents(root: &Path) -> Outcome<Vec<PathBuf>> {
    let is_document = |path: &Path| has_extension(path, "md") && !path.ends_with("report.md");
    let mut found: Vec<PathBuf> = list(root)?.into_iter().filter(|path| path.is_file() && is_document(path)).collect();
    for folder in ["crates", "docs", "fuzz", "tests"] {
        find_files(&root.join(folder), MAX_FOLDER_DEPTH, &is_document, &mut found)?;
    }
    Ok(found)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn find_files(folder: &Path, depth: usize, is_one: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) -> Outcome {
    for path in list(folder)? {
        let is_target = path.ends_with("target");
        if path.is_dir() && depth > 0 && !is_target {
            find_files(&path, depth - 1, is_one, found)?;
        } else if is_one(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// What is in a folder, sorted.
fn list(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let failed = |source| Failure::File { path: folder.to_owned(), source };
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(failed)?.collect();
    let mut paths: Vec<PathBuf> = entries.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(package: &str, inside: &str, source: &str) -> Vec<String> {
        SourceFile { package, inside: Path::new(inside), source }.complaints()
    }

    #[test]
    fn unsafe_code_is_allowed_in_one_file_of_few_crates() {
        let code = "fn f() { unsafe { g() } }\n";
        assert!(complaints("net", "src/sys.rs", code).is_empty());
        assert_eq!(complaints("net", "src/tcp.rs", code), ["1: `unsafe` outside of a sys.rs"]);
        assert_eq!(complaints("vfs", "src/sys.rs", code).len(), 1);
        assert!(complaints("vfs", "src/a.rs", "// unsafe\nconst S: &str = \"unsafe\";\n").is_empty());
    }

    #[test]
    fn crate_that_does_not_forbid_unsafe_code_is_named() {
        assert_eq!(complaints("vfs", "src/lib.rs", "mod a;\n"), ["1: `#![forbid(unsafe_code)]` is missing"]);
        assert!(complaints("vfs", "src/lib.rs", "#![forbid(unsafe_code)]\n").is_empty());
        assert!(complaints("net", "src/lib.rs", "mod sys;\n").is_empty());
    }

    #[test]
    fn long_functions_and_long_files_are_named_and_tests_do_not_count() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
        assert!(complaints("vfs", "src/a.rs", &function(60)).is_empty());
        assert_eq!(complaints("vfs", "src/a.rs", &function(61)), ["1: `f` has 61 lines; 60 are the most"]);
        let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(800), "\n".repeat(99));
        assert!(complaints("vfs", "src/a.rs", &tested).is_empty());
        assert_eq!(complaints("vfs", "src/a.rs", &"\n".repeat(801)).len(), 1);
    }
}
