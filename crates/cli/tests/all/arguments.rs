//! Arguments and standard streams that programs and shells give, and hands hardly ever type.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output};

use testing::Scratch;
use testing::program::{Server, wharf_fails, wharf_ok};

/// Runs a shell script with the program as `$0` and a URL as `$1`.
fn shell(script: &str, url: &OsStr) -> Output {
    Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_wharf")]).arg(url).output().unwrap()
}

#[test]
fn closed_standard_streams_are_failures_and_dev_null_is_none() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::write(export.join("file"), "text").unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let url = server.url(export.join("file"));
    let new = server.url(export.join("new"));
    for (script, url) in [
        (r#"exec "$0" cat "$1" >&-"#, &url),
        (r#"exec "$0" ls "$1" >&-"#, &url),
        (r#"exec "$0" cp "$1" - >&-"#, &url),
        (r#"exec "$0" cp - "$1" <&-"#, &new),
    ] {
        let output = shell(script, url.as_ref());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("Bad file descriptor"), "{script}: {said}");
    }
    // Some programs open /dev/null for both.
    for (script, url) in [
        (r#"exec "$0" cat "$1" >/dev/null"#, &url),
        (r#"exec "$0" cat "$1" 1<>/dev/null"#, &url),
        (r#"exec "$0" cp --overwrite - "$1" <>/dev/null"#, &new),
    ] {
        let output = shell(script, url.as_ref());
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(fs::read(export.join("new")).unwrap(), b"");
}

#[test]
fn name_that_is_not_utf_8_is_an_argument_like_others() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let name = OsStr::from_bytes(b"a\xff");
    fs::write(export.join(name), "text").unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let url = [server.url(&export).as_bytes(), b"/a\xff"].concat();
    let url = OsStr::from_bytes(&url);
    let out = scratch.path("out");
    for script in [r#"exec "$0" cat "$1""#, r#"exec "$0" cp "$1" -"#] {
        let output = shell(script, url);
        assert_eq!(output.stdout, b"text", "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let copied = shell(&format!(r#"exec "$0" cp "$1" {}"#, out.display()), url);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(fs::read(out).unwrap(), b"text");
}

#[test]
fn unknown_flag_is_not_taken_for_a_file_and_sizes_that_do_not_fit_are_wrong_arguments() {
    let said = wharf_fails(2, &["cat", "-R", "nfs://127.0.0.1/x"]);
    assert!(said.contains("unexpected argument '-R'") && !said.contains("tip"), "{said}");
    let said = wharf_fails(2, &["ls", "--jsn", "nfs://127.0.0.1/x"]);
    assert!(said.contains("'--json'"), "{said}");
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", scratch.dir("export").to_str().unwrap()]);
    let url = server.url(scratch.path("export"));
    let said = wharf_fails(2, &["bench", &url, "--size", "1K", "--bs", "4K"]);
    assert!(said.contains("does not fit"), "{said}");
}

#[test]
fn options_of_serve_without_what_they_are_for_are_refused() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let (dir, exports) = (export.to_str().unwrap(), scratch.file("exports", &format!("{}\n", export.display())));
    let exports = exports.to_str().unwrap();
    for (code, arguments, part) in [
        (2, &["--exports", exports, "--read-only"][..], "--read-only is for DIRs on the command line"),
        (2, &["--exports", exports, "--client", "*"], "--client is for DIRs on the command line"),
        (2, &[dir, "--anonuid", "4294967295"], "is no user and no group"),
        (1, &[dir, "--write-log-size", "5M"], "name it with --write-log PATH"),
        (1, &[dir, "--listen", "2050", "--listen", "2050"], "leave one out of `listen`"),
        (1, &[dir, "--state-dir", "/proc/x"], "cannot use the state directory /proc/x"),
    ] {
        let said = wharf_fails(code, &[&["serve", "--check", "--listen", "127.0.0.1:0"], arguments].concat());
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
    let state = scratch.path("state");
    let good = ["serve", "--check", "--listen", "127.0.0.1:0", dir, "--state-dir", state.to_str().unwrap()];
    wharf_ok(&good);
    assert!(!state.exists() && fs::read_dir(scratch.path("")).unwrap().count() == 2);
}

#[test]
fn options_that_make_no_difference_are_not_listed() {
    for command in ["showmount", "rpcinfo"] {
        let help = wharf_ok(&[command, "--help"]);
        assert!(help.contains("--timeout") && !help.contains("--rsize") && !help.contains("--max-names"), "{help}");
    }
    assert!(wharf_ok(&["cat", "--help"]).contains("--rsize"));
}
