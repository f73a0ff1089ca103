//! The server's own files are opened through the crate `own-files` alone: as the server, though the thread acts as a
//! client, and not if others can change them.

use std::path::Path;

/// Where the server's own files are used.
const PLACES: &[&str] = &["crates/daemon/src", "crates/stable/src", "crates/fs-host/src/store"];

/// Files in these places that open something else, and what.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/daemon/src/place.rs", "the identity of the machine"),
    ("crates/stable/src/device/file.rs", "the device of the write log, wherever it is, with a check of its own"),
    ("crates/stable/src/device/holder.rs", "/proc/locks"),
    ("crates/fs-host/src/store/index.rs", "the kernel's identity of this boot"),
];

/// What opens, makes, names or removes a file by its path.
const CALLS: &[&str] = &[
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions",
    "DirBuilder",
    "fs::copy(",
    "fs::create_dir",
    "fs::hard_link(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::remove_",
    "fs::rename(",
    "fs::set_permissions(",
    "fs::write(",
];

/// The calls in a source file that are not allowed there; `shown` is its path from the root.
pub(super) fn of_source(shown: &Path, source: &str) -> Vec<String> {
    let is_test = shown.ends_with("tests.rs");
    if is_test || !PLACES.iter().any(|place| shown.starts_with(place)) || is_exception(shown) {
        return Vec::new();
    }
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or(source);
    let lines = (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
    let found = lines.filter_map(|(number, line)| Some((number, CALLS.iter().find(|call| has_call(line, call))?)));
    found.map(|(number, call)| format!("{number}: {call} of the server's own files: use own_files::OwnDir")).collect()
}

/// Whether a line has a call, and not one whose name ends in the same way, such as `LogFile::open`.
fn has_call(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| !line[..at].ends_with(|before: char| before.is_alphanumeric()))
}

fn is_exception(shown: &Path) -> bool {
    EXCEPTIONS.iter().any(|(path, _)| shown == Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_the_server_that_is_opened_by_its_path_is_found() {
        let source = "// File::open(\nfn f() {\n    File::open(path);\n    LogFile::open(path);\n}\n#[cfg(test)]\nmod tests {\n    fs::write(a, b)\n}\n";
        let found = |path| of_source(Path::new(path), source);
        assert_eq!(found("crates/daemon/src/reply_log/mod.rs").len(), 1);
        assert!(found("crates/daemon/src/reply_log/mod.rs")[0].starts_with("3: File::open("));
        assert!(found("crates/cli/src/main.rs").is_empty());
        assert!(found("crates/stable/src/device/file.rs").is_empty());
    }
}
