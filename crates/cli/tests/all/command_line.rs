//! The command line as people type it who know cp(1), mount(8), rm(1), showmount(8) and rpcinfo(8).

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output, Stdio};

use testing::Scratch;
use testing::program::{Server, terminal, wharf, wharf_fails, wharf_ok};

/// Runs the program with something to read.
fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn options_may_stand_anywhere() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (a, b) = (scratch.file("a", "one"), scratch.file("b", "two"));
    let (a, b, url) = (a.to_str().unwrap(), b.to_str().unwrap(), |path: &str| server.url(format!("/mem/{path}")));
    wharf_ok(&["mkdir", &url("dir"), "-p"]);
    for (arguments, copied) in [
        (&["cp", a, "-v", &url("1")][..], "copied 1 files"),
        (&["cp", a, &url("2"), "-v"], "copied 1 files"),
        (&["cp", "--verify", a, "-v", b, "--overwrite", &url("dir")], "copied 1 files"),
    ] {
        let output = wharf(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(copied), "{arguments:?}: {said}");
    }
    assert_eq!(wharf_ok(&["ls", &url(""), "-R"]).lines().count(), 8);
    wharf_ok(&["rm", &url("dir"), "-r", &url("1")]);
    assert_eq!(wharf_ok(&["ls", &url("")]), "2\n");
    assert!(wharf_fails(2, &["cp", a, "-v"]).contains("<DST>"));
}

#[test]
fn lists_of_directories_are_separated_as_by_ls() {
    let scratch = Scratch::new();
    let tree = scratch.dir("tree");
    for dir in ["a", "a/inner", "b", "c"] {
        fs::create_dir(tree.join(dir)).unwrap();
    }
    fs::write(tree.join("a/file"), "").unwrap();
    let server = Server::start(1, &[tree.to_str().unwrap()]);
    let listed = wharf_ok(&["ls", "-R", &server.url(&tree)]);
    let export = tree.to_str().unwrap();
    let lists = [("", "a\nb\nc\n"), ("/a", "file\ninner\n"), ("/a/inner", ""), ("/b", ""), ("/c", "")];
    let expected = lists.map(|(dir, names)| format!("{export}{dir}:\n{names}"));
    assert_eq!(listed, expected.join("\n"));
}

#[test]
fn ls_takes_the_common_options_of_ls() {
    let scratch = Scratch::new();
    let tree = scratch.dir("tree");
    fs::create_dir(tree.join("dir")).unwrap();
    for (name, seconds, size) in [("old", 1, 3 << 10), ("new", 3, 5), ("dir", 2, 0)] {
        let path = tree.join(name);
        if name != "dir" {
            fs::write(&path, vec![0; size]).unwrap();
        }
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::open(&path).unwrap().set_modified(time).unwrap();
    }
    let server = Server::start(1, &[tree.to_str().unwrap()]);
    let url = server.url(&tree);
    assert_eq!(wharf_ok(&["ls", "-1t", &url]), "new\ndir\nold\n");
    assert_eq!(wharf_ok(&["ls", "-tr", &url]), "old\ndir\nnew\n");
    assert_eq!(wharf_ok(&["ls", "-d", &url]), format!("{}\n", tree.display()));
    let long = wharf_ok(&["ls", "-lh", &url]);
    assert!(long.lines().any(|line| line.contains(" 3.0K ") && line.ends_with(" old")), "{long}");
    assert!(wharf_ok(&["ls", "--help"]).contains("--human-readable"));
}

#[test]
fn unknown_option_of_find_is_named_as_it_was_typed() {
    let said = wharf_fails(2, &["find", "nfs://127.0.0.1/x", "-delete"]);
    assert!(said.contains("unexpected argument '--delete' found\n\nUsage"), "{said}");
}

#[test]
fn files_of_servers_are_named_as_mount_names_exports() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (port, local) = (server.port().to_string(), scratch.file("local", "text"));
    let run = |command: &str, rest: &[&str]| wharf_ok(&[&[command, "--port", &port], rest].concat());
    let (local, back) = (local.to_str().unwrap(), scratch.path("back"));
    run("mkdir", &["127.0.0.1:/mem/dir"]);
    run("cp", &[local, "127.0.0.1:/mem/dir/a:b"]);
    run("cp", &["127.0.0.1:/mem/dir/a:b", "127.0.0.1:/mem/copy"]);
    run("cp", &["127.0.0.1:/mem/copy", back.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&back).unwrap(), "text");
    run("mv", &["127.0.0.1:/mem/copy", "127.0.0.1:/mem/moved"]);
    run("ln", &["127.0.0.1:/mem/moved", "127.0.0.1:/mem/linked"]);
    assert_eq!(run("cat", &["127.0.0.1:/mem/linked"]), "text");
    assert!(run("stat", &["127.0.0.1:/mem/linked"]).contains("Links: 2"));
    run("rm", &["127.0.0.1:/mem/linked", "127.0.0.1:/mem/moved"]);
    assert_eq!(run("ls", &["127.0.0.1:/mem"]), "dir\n");
    assert!(run("bench", &["--size", "1M", "--bs", "64K", "127.0.0.1:/mem"]).contains("IOPS="));
    // A local file with such a name has a path in front, as for scp(1).
    let odd = scratch.dir("127.0.0.1:").join("local");
    fs::write(&odd, "here").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    let there = server.url("/mem/odd");
    command.args(["cp", "./127.0.0.1:/local", &there]).current_dir(odd.parent().unwrap().parent().unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(wharf_ok(&["cat", &there]), "here");
    assert!(wharf_fails(2, &["ls", "mem"]).contains("write nfs://host/export or host:/export"));
}

#[test]
fn standard_input_becomes_a_file_and_a_file_goes_to_standard_output() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|number| (number / 3) as u8).collect();
    for version in ["3", "4.2"] {
        let name = format!("file-{version}");
        let url = format!("{}?version={version}", server.url(export.join(&name)));
        let output = with_input(&["cp", "-", &url, "-v"], &bytes);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stderr).contains("copied 5000000 bytes of standard input"));
        assert!(fs::read(export.join(&name)).unwrap() == bytes, "{version}");
        assert!(wharf(&["cp", &url, "-"]).stdout == bytes, "{version}");
        // A new file has the mode that touch(1) gives it.
        let touched = scratch.path("touched");
        assert!(Command::new("touch").arg(&touched).status().unwrap().success());
        let mode = |path| fs::metadata(path).unwrap().mode();
        assert_eq!(mode(export.join(&name)), mode(touched), "{version}");
        let refused = with_input(&["cp", "-", &url], b"other");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("exists already; --overwrite replaces it"));
        assert!(with_input(&["cp", "--overwrite", "-", &url], b"other").status.success());
        assert_eq!(wharf_ok(&["cat", &url]), "other");
    }
    for (arguments, reason) in [
        (["cp", "-", &server.url(&export)], "is a directory; name a file in it"),
        (["cp", "-", "-"], "neither SRC nor DST is on a server"),
        (["cp", "--resume", "-"], "<DST>"),
    ] {
        let said = String::from_utf8_lossy(&with_input(&arguments, b"x").stderr).into_owned();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn standard_input_that_does_not_fit_leaves_a_file_that_is_named() {
    let server = Server::start(1, &["--no-root-squash", "mem:2M"]);
    let output = with_input(&["cp", "-", &server.url("/mem/file")], &vec![1; 8 << 20]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("/mem/file: no space left") && said.contains("; incomplete: file"), "{said}");
}

#[test]
fn what_is_not_there_need_not_be_removed_with_force() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (there, missing) = (server.url("/mem/there"), server.url("/mem/missing"));
    wharf_ok(&["cp", scratch.file("a", "a").to_str().unwrap(), &there]);
    assert!(wharf_fails(1, &["rm", &missing]).contains("no such file"));
    let output = wharf(&["rm", "-rf", &missing, &there, &server.url("/mem/missing/below")]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(wharf_ok(&["ls", &server.url("/mem")]), "");
    // Everything else is a failure still.
    wharf_ok(&["mkdir", &there]);
    assert!(wharf_fails(1, &["rm", "-f", &there]).contains("is a directory"));
}

#[test]
fn commands_go_on_with_the_next_file_after_a_failure() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (there, missing) = (server.url("/mem/there"), server.url("/mem/missing"));
    wharf_ok(&["cp", scratch.file("a", "text").to_str().unwrap(), &there]);
    for (arguments, shown) in [
        (&["cat", &missing, &there][..], "text"),
        (&["stat", &missing, &there], "File: /mem/there"),
        (&["ls", &missing, &there], "/mem/there"),
        (&["ls", "--json", &missing, &there], "\"path\": \"/mem/there\""),
        (&["mkdir", &there, &server.url("/mem/new")], ""),
        (&["rm", &missing, &there], ""),
    ] {
        let output = wharf(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{arguments:?}: {said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(shown), "{arguments:?}");
    }
    assert_eq!(wharf_ok(&["ls", &server.url("/mem")]), "new\n");
}

#[test]
fn programs_and_mounted_directories_are_listed_as_the_classic_tools_do() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(2, &["--no-root-squash", "mem:64M", export.to_str().unwrap()]);
    let host = server.address().to_string();
    let (programs, port) = (wharf_ok(&["rpcinfo", "-p", &host]), server.port());
    assert_eq!(programs.lines().next(), Some("   program vers proto   port  service"));
    assert!(programs.contains(&format!("\n    100003    3   tcp {port:>6}  nfs\n")), "{programs}");
    assert!(!programs.contains("tcp6"), "{programs}");
    for _ in 0..2 {
        wharf_ok(&["ls", "--version", "3", &server.url("/mem")]);
    }
    assert_eq!(wharf_ok(&["showmount", "-d", &host]), "/mem\n");
    assert_eq!(wharf_ok(&["showmount", "-d", "--json", &host]), "[\n  \"/mem\"\n]\n");
    assert!(wharf_ok(&["showmount", "-a", &host]).contains("127.0.0.1:/mem\n"));
}

#[test]
fn numbers_that_readers_of_json_would_round_are_strings() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let large = (1_u64 << 53) + 1;
    // Not every file system has files so long.
    let has_large = fs::File::create(export.join("large")).unwrap().set_len(large).is_ok();
    let stat = |name: &str| -> serde_json::Value {
        serde_json::from_str(&wharf_ok(&["stat", "--json", &server.url(export.join(name))])).unwrap()
    };
    let found = &stat("")[0];
    let fileid = fs::metadata(&export).unwrap().ino().to_string();
    assert_eq!(found["fileid"], fileid);
    assert!(found["fsid"].as_str().unwrap().parse::<u64>().is_ok(), "{found}");
    assert!(found["size_bytes"].is_u64(), "{found}");
    if has_large {
        assert_eq!(stat("large")[0]["size_bytes"], large.to_string());
    } else {
        println!("skipped in part: {} has no files of 8 PiB", export.display());
    }
}

#[test]
fn copy_shows_percent_and_the_time_that_is_left_on_a_terminal() {
    let scratch = Scratch::new();
    let tree = scratch.dir("tree");
    for number in 0..20 {
        fs::write(tree.join(format!("file-{number}")), vec![1; 1 << 20]).unwrap();
    }
    let server = Server::start(1, &["--no-root-squash", "--fault", "write:delay=30ms,read:delay=30ms", "mem:64M"]);
    let (here, there) = (tree.to_str().unwrap().to_owned(), server.url("/mem/copy"));
    let back = scratch.path("back").to_str().unwrap().to_owned();
    for (from, to) in [(&here, &there), (&there, &back)] {
        let arguments = ["cp", "-r", "--rsize", "64K", "--wsize", "64K", from, to];
        let (status, shown) = terminal(&arguments, |_, _| {});
        assert!(status.success(), "{shown}");
        assert!(shown.contains("% ") && shown.contains(" of 20.00 MiB") && shown.contains("s left"), "{shown}");
    }
}
