//! Every wrapper of a file system or an open file in Wharf says of each method what it does with it.
//!
//! `clippy::missing_trait_methods` checks that for wrappers that deny it. These tests check it without clippy, and that
//! the wrappers deny it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

const TRAITS: [(&str, &str); 2] =
    [("FileSystem", include_str!("../src/filesystem.rs")), ("OpenFile", include_str!("../src/open_file.rs"))];
const LINT: &str = "#[deny(clippy::missing_trait_methods)]\n";

/// The names behind each `fn ` at the depth of an item of a trait.
fn methods(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("\n    fn ").map(|(at, fun)| &text[at + fun.len()..]);
    starts.map(|rest| &rest[..rest.find(['(', '<']).unwrap()]).collect()
}

/// The methods that a call of `forward!` in `block` names.
fn forwarded(block: &str) -> impl Iterator<Item = &str> {
    let lists = block.split("vfs::forward!(").skip(1);
    let names = lists.map(|list| &list[list.find(":\n").or(list.find(": ")).unwrap() + 1..list.find(");").unwrap()]);
    names.flat_map(|names| names.split(',').map(str::trim)).filter(|name| !name.is_empty())
}

fn source_files(dir: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            source_files(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// Each implementation of a trait in `source`, from its `impl` to its end, and what is in front of it.
fn implementations<'s>(source: &'s str, name: &str) -> Vec<(&'s str, &'s str)> {
    let heads = source.match_indices("\nimpl").map(|(at, _)| at + 1);
    let blocks = heads.map(|at| (&source[..at], source[at..].split("\n}").next().unwrap()));
    blocks.filter(|(_, block)| block.lines().next().unwrap().contains(&format!(" {name} for "))).collect()
}

#[test]
fn every_method_can_be_forwarded() {
    let table = include_str!("../src/forward.rs");
    for (name, source) in TRAITS {
        let of_trait = source.split(&format!("pub trait {name}")).nth(1).unwrap();
        let arms = table.split(&format!("/// The methods of [`{name}`]")).nth(1).unwrap().split("\n}").next().unwrap();
        let arms = arms.lines().filter_map(|line| line.strip_suffix(") => {")?.rsplit(' ').next());
        assert_eq!(arms.collect::<BTreeSet<_>>(), methods(of_trait), "{name}");
    }
}

#[test]
fn every_wrapper_names_each_method() {
    let mut files = Vec::new();
    source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files).unwrap();
    let mut wrappers = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (name, source) in TRAITS {
            let all = methods(source.split(&format!("pub trait {name}")).nth(1).unwrap());
            for (before, block) in implementations(&text, name) {
                if !block.contains("self.inner") {
                    continue;
                }
                wrappers += 1;
                let named: BTreeSet<&str> = methods(block).into_iter().chain(forwarded(block)).collect();
                let missing: Vec<_> = all.difference(&named).collect();
                assert!(missing.is_empty(), "{} leaves out {missing:?} of {name}", file.display());
                assert!(before.ends_with(LINT), "{}: {name} is implemented without {LINT}", file.display());
            }
        }
    }
    assert!(wrappers >= 9, "only {wrappers} wrappers were found");
}
