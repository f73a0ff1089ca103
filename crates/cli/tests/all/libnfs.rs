//! The tools of libnfs against our server, in both directions.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use testing::Scratch;
use testing::program::{Server, make_tree};

/// Runs a tool, or says that it is not here.
fn tool(name: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(name).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: {name} cannot be run ({error}); install libnfs-utils");
            None
        }
    }
}

fn succeeds(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn url(server: &Server, path: &Path, parameters: &str) -> String {
    let port = server.port();
    format!("nfs://127.0.0.1{}?nfsport={port}&mountport={port}&{parameters}", path.display())
}

fn server_with_tree(scratch: &Scratch) -> (Server, std::path::PathBuf) {
    let export = scratch.dir("export");
    make_tree(&export.join("tree"));
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    (server, export)
}

#[test]
fn nfs_ls_lists_what_is_there() {
    let scratch = Scratch::new();
    let (server, export) = server_with_tree(&scratch);
    let Some(output) = tool("nfs-ls", &["-R", &url(&server, &export.join("tree"), "version=3")]) else { return };
    let listing = succeeds(&output);
    for name in ["large", "file-70000", "with space"] {
        assert!(listing.contains(name), "{name} is not in: {listing}");
    }
}

#[test]
fn nfs_cat_reads_every_byte() {
    let scratch = Scratch::new();
    let (server, export) = server_with_tree(&scratch);
    let path = export.join("tree/a/large");
    let Some(output) = tool("nfs-cat", &[&url(&server, &path, "version=3")]) else { return };
    succeeds(&output);
    assert!(output.stdout == fs::read(&path).unwrap());
}

#[test]
fn nfs_cp_copies_in_and_out() {
    let scratch = Scratch::new();
    let (server, export) = server_with_tree(&scratch);
    let bytes: Vec<u8> = (0..5_000_003_u32).map(|index| (index % 251) as u8).collect();
    let (original, back) = (scratch.path("original"), scratch.path("back"));
    fs::write(&original, &bytes).unwrap();
    let remote = url(&server, &export.join("copied"), "version=3");
    let Some(output) = tool("nfs-cp", &[original.to_str().unwrap(), &remote]) else { return };
    succeeds(&output);
    assert!(fs::read(export.join("copied")).unwrap() == bytes, "what arrived differs");
    let Some(output) = tool("nfs-cp", &[&remote, back.to_str().unwrap()]) else { return };
    succeeds(&output);
    assert!(fs::read(&back).unwrap() == bytes, "what came back differs");
}
