//! Whatever a client or a server decodes is the input of some target: compared with the lists of procedures and
//! operations, and against the types that `proto` gives them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use properties::{nfs4_callbacks, nfs4_replies};
use proto::nfs4::{CALLBACKS, OPERATIONS, Status};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The operations whose arguments or replies, as `what` says, a file of properties tries, in its order.
fn tried(program: &str, what: &str) -> Vec<String> {
    let text = read(&root().join("fuzz/properties/src").join(format!("{program}.rs")));
    let is_name = |letter: &char| letter.is_alphanumeric() || *letter == ':';
    let name = |rest: &str| rest.chars().take_while(is_name).collect::<String>();
    text.split(&format!(" {what}::<")).skip(1).map(name).collect()
}

/// The type of the arguments or the reply of each operation of a program.
fn types(folder: &str, prefix: &str, what: &str) -> BTreeMap<String, String> {
    let folder = root().join("crates/proto/src").join(folder);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut types = BTreeMap::new();
    for path in files.map(|file| file.expect("a folder that can be read").path()).filter(|path| path.is_file()) {
        let mut operation = String::new();
        for line in read(&path).lines().map(str::trim) {
            if let Some((_, name)) = line.split_once("Operation for ") {
                operation = format!("{prefix}{}", name.split(['<', ' ']).next().unwrap_or(name));
            } else if let Some(rest) = line.strip_prefix(&format!("type {what}<'a> = ")) {
                types.insert(operation.clone(), format!("{prefix}{}", rest.trim_end_matches(';')));
            }
        }
    }
    assert!(!types.is_empty(), "{}", folder.display());
    types
}

#[test]
fn every_type_of_the_smaller_programs_is_tried() {
    for program in ["mount", "nfsacl", "nlm", "nsm", "rpcbind"] {
        for (what, property) in [("Arguments", "arguments"), ("Reply", "reply")] {
            let mut all = types(program, "", what);
            if program == "rpcbind" {
                all.extend(types("rpcbind/portmap", "portmap::", what));
            }
            let tried: BTreeSet<&String> = tried(program, property).iter().filter_map(|name| all.get(name)).collect();
            for (operation, kind) in &all {
                // What has one word or none cannot be wrong but in its length.
                let is_plain = ["()", "bool", "u32"].contains(&kind.trim_start_matches("portmap::"));
                let is_tried = is_plain || is_tried_elsewhere(program, property, kind) || tried.contains(kind);
                assert!(is_tried, "no target decodes the {property} of {operation} of {program}: {kind}");
            }
        }
    }
}

/// A type that is an answer here and a question there, and decoded by the same code.
fn is_tried_elsewhere(program: &str, property: &str, kind: &str) -> bool {
    let other = if property == "reply" { ("Arguments", "arguments") } else { ("Reply", "reply") };
    let all = types(program, "", other.0);
    tried(program, other.1).iter().any(|name| all.get(name).is_some_and(|tried| tried == kind))
}

#[test]
fn every_procedure_of_nfsv2_and_nfsv3_is_tried_under_its_number() {
    let upper = |names: Vec<String>| names.iter().map(|name| name.to_uppercase()).collect::<Vec<_>>();
    for property in ["arguments", "reply"] {
        assert_eq!(upper(tried("nfs2", property)), proto::nfs2::PROCEDURES);
        assert_eq!(upper(tried("nfs3", property)), proto::nfs3::PROCEDURES);
    }
}

/// Operations of pNFS and of delegations of directories, which neither side speaks, have no types.
fn has_no_types(name: &str) -> bool {
    name.contains("LAYOUT") || name.contains("DEVICE") || name == "CB_NOTIFY"
}

#[test]
fn every_operation_of_nfsv4_has_a_decoder_that_its_target_reaches() {
    // A status, an empty tag and one result, which is a refusal; SETATTR and its like have more behind it.
    let refusal = |number: u32| -> Vec<u8> {
        let words = [Status::Io as u32, 0, 1, number, Status::Io as u32, 0, 0, 0];
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    };
    for operation in &OPERATIONS {
        let is_decoded = nfs4_replies(&refusal(operation.number as u32));
        assert_eq!(is_decoded, !has_no_types(operation.name), "{}", operation.name);
    }
    for callback in &CALLBACKS {
        let is_decoded = nfs4_callbacks(&[&[1], &refusal(callback.number as u32)[..]].concat());
        assert_eq!(is_decoded, !has_no_types(callback.name), "{}", callback.name);
    }
    assert!(!nfs4_replies(&refusal(9999)), "an operation that nobody knows");
}
