//! Files that the user may list but not look up: those of a directory without search permission.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use testing::Scratch;
use testing::program::{Server, wharf};

const USER: u32 = 4242;

#[test]
fn names_that_may_not_be_looked_up_are_listed_and_reported() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let dir = export.join("dir");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("a"), "1").unwrap();
    fs::write(dir.join("b"), "2").unwrap();
    fs::write(export.join("seen"), "3").unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o744)).unwrap();
    fs::set_permissions(&export, fs::Permissions::from_mode(0o755)).unwrap();
    if chown(&export, Some(USER), None).is_err() {
        return println!("skipped: only the superuser can give files to other users");
    }
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let uid = USER.to_string();
    for version in ["2", "3", "4.0", "4.1", "4.2"] {
        let run = |arguments: &[&str], url: &str| {
            let output = wharf(&[arguments, &["--uid", &uid, "--gid", &uid, "--version", version, url]].concat());
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let url = server.url(&dir);
        let shown = |names: &str| names.to_owned();
        for (arguments, wanted) in [
            (&["ls"][..], shown("a\nb\n")),
            (
                &["ls", "-l"],
                shown(
                    &["a", "b"]
                        .map(|name| format!("??????????   ?       ?       ?             ?                ? {name}\n"))
                        .concat(),
                ),
            ),
        ] {
            let (code, out, said) = run(arguments, &url);
            assert_eq!((code, out.as_str()), (Some(1), wanted.as_str()), "{version}: {said}");
            assert_eq!(said.lines().count(), 2, "{version}: {said}");
            assert!(said.contains("/dir/a: permission denied"), "{version}: {said}");
        }
        let (code, out, _) = run(&["ls", "--json"], &url);
        assert!(code == Some(1) && out.contains("/dir/a\"") && !out.contains("\"kind\""), "{version}: {out}");
        // The rest of the tree is shown and copied.
        let (code, out, said) = run(&["ls", "-R"], &server.url(&export));
        assert!(code == Some(1) && out.contains("seen") && out.contains("dir:\na\nb\n"), "{version}: {out} {said}");
        let copy = scratch.path(&format!("copy-{version}"));
        let output = wharf(&[
            "cp",
            "-r",
            "--uid",
            &uid,
            "--gid",
            &uid,
            "--version",
            version,
            &server.url(&export),
            copy.to_str().unwrap(),
        ]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{version}: {said}");
        assert!(said.contains("dir/a") && said.contains("dir/b"), "{version}: {said}");
        assert_eq!(fs::read_to_string(copy.join("seen")).unwrap(), "3", "{version}");
    }
}
