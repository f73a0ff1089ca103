//! `cargo xtask source`: rules of the house that no lint knows. Files do not get longer than a limit, nor do lines of
//! comments and documents. The server's own files are opened in one way. (Clippy limits functions; rustc refuses unsafe
//! code outside of `sys.rs`.)

mod columns;
mod own_files;

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{Failure, Outcome};

/// The most lines of a file, not counting its tests.
const MAX_FILE_LINES: usize = 800;
/// The deepest nesting of folders that is looked into.
const MAX_FOLDER_DEPTH: usize = 8;

/// Prints every place that breaks a rule.
pub fn run(root: &Path) -> Outcome {
    let mut complaints = Vec::new();
    for package in packages(root)? {
        for path in rust_files(&package)? {
            let shown = path.strip_prefix(root).unwrap_or(&path).display();
            complaints.extend(of_source(&path, root)?.into_iter().map(|text| format!("{shown}:{text}")));
        }
    }
    for path in documents(root)? {
        let text = read(&path)?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display();
        complaints.extend(columns::of_document(&text).into_iter().map(|complaint| format!("{shown}:{complaint}")));
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    match complaints.len() {
        0 => Ok(()),
        count => Err(Failure::Broken { count, what: "places break a rule" }),
    }
}

/// What is wrong in a source file, each with its line in front.
fn of_source(path: &Path, root: &Path) -> Outcome<Vec<String>> {
    let source = read(path)?;
    let mut complaints = columns::of_comments(&source);
    complaints.extend(own_files::of_source(path.strip_prefix(root).unwrap_or(path), &source));
    if source.lines().count() > MAX_FILE_LINES {
        let length = source.lines().count() - test_lines(tokens(path, &source)?);
        if length > MAX_FILE_LINES {
            complaints.push(format!("1: {length} lines without tests; {MAX_FILE_LINES} are the most"));
        }
    }
    Ok(complaints)
}

/// A file's text.
pub fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|source| Failure::File { path: path.to_owned(), source })
}

/// A source file's tokens, with their places.
pub fn tokens(path: &Path, source: &str) -> Outcome<TokenStream> {
    let failed = |source: proc_macro2::LexError| Failure::Syntax { path: path.to_owned(), source: source.into() };
    source.parse().map_err(failed)
}

/// How many lines belong to modules that are compiled for tests only.
fn test_lines(tokens: TokenStream) -> usize {
    let (mut count, mut start) = (0, None);
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_test_attribute(&group) => start = Some(group.span_open().start().line),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let end = group.span_close().end().line;
                count += start.take().map_or(0, |start| end + 1 - start);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => start = None,
            _ => {}
        }
    }
    count
}

/// Whether a group of tokens is the `[cfg(test)]` of an attribute.
pub fn is_test_attribute(group: &proc_macro2::Group) -> bool {
    let is_attribute = group.delimiter() == Delimiter::Bracket;
    is_attribute && group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// The folders of all crates.
pub fn packages(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut packages = list(&root.join("crates"))?;
    packages.extend([root.join("fuzz/properties"), root.join("xtask")]);
    packages.retain(|package| package.join("Cargo.toml").is_file());
    Ok(packages)
}

/// The source files in a folder.
pub fn rust_files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    find_files(folder, MAX_FOLDER_DEPTH, &|path| has_extension(path, "rs"), &mut files)?;
    Ok(files)
}

/// Everything in Markdown, but for the reports that the lab writes.
pub fn documents(root: &Path) -> Outcome<Vec<PathBuf>> {
    let is_document = |path: &Path| has_extension(path, "md") && !path.ends_with("report.md");
    let mut found: Vec<PathBuf> = list(root)?.into_iter().filter(|path| path.is_file() && is_document(path)).collect();
    for folder in ["crates", "docs", "fuzz", "tests"] {
        find_files(&root.join(folder), MAX_FOLDER_DEPTH, &is_document, &mut found)?;
    }
    Ok(found)
}

/// Whether a file's name ends like this.
pub fn has_extension(path: &Path, wanted: &str) -> bool {
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

    #[test]
    fn only_lines_of_test_modules_are_counted() {
        let source = "fn f() {\n    \"{\";\n}\n#[cfg(test)]\nmod tests {\n    fn inner() {}\n}\nfn g() {}\n";
        assert_eq!(test_lines(source.parse().unwrap()), 4);
        assert_eq!(test_lines("#[cfg(test)]\nmod tests;\nfn f() {\n}\n".parse().unwrap()), 0);
    }
}
