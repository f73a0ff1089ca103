//! Exports whose names are not UTF-8: the write log tells them apart, and messages show them escaped.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use testing::Scratch;
use testing::program::{Server, executable, fails, wharf_ok};

/// Both are shown alike where other bytes than those of UTF-8 are replaced.
const NAMES: [&[u8]; 2] = [b"\xfe", b"\xff"];

struct Site {
    scratch: Scratch,
}

impl Site {
    fn new() -> Site {
        let site = Site { scratch: Scratch::on_disk() };
        (0..NAMES.len()).for_each(|number| fs::create_dir(site.dir(number)).unwrap());
        site
    }

    fn dir(&self, number: usize) -> PathBuf {
        self.scratch.path("").join(OsString::from_vec(NAMES[number].to_vec()))
    }

    fn text(&self, name: &str) -> String {
        self.scratch.path(name).to_str().unwrap().to_owned()
    }

    /// A server of these exports, which clients mount as `/0` and `/1`.
    fn serve(&self, numbers: &[usize], with_log: bool) -> Command {
        let mut command = Command::new(executable());
        command.args(["serve", "--listen", "127.0.0.1:0", "--no-root-squash", "--state-dir", &self.text("state")]);
        for number in numbers {
            let mut export = self.dir(*number).into_os_string();
            export.push(format!("=/{number}"));
            command.arg(export);
        }
        if with_log {
            command.args(["--write-log", &self.text("log"), "--write-log-size", "4M", "--write-log-max-age", "60s"]);
        }
        command
    }

    /// Has each export get a file, and kills the server.
    fn change_and_kill(&self, numbers: &[usize]) {
        let mut server = Server::spawn(numbers.len(), self.serve(numbers, true));
        for number in numbers {
            let file = self.scratch.file("file", &number.to_string());
            wharf_ok(&["cp", "--overwrite", file.to_str().unwrap(), &server.url(format!("/{number}"))]);
        }
        server.signal(Signal::KILL);
        server.wait();
    }

    /// Runs `wharf log ACTION` with the log.
    fn log(&self, action: &[&str]) -> Command {
        let mut command = Command::new(executable());
        command.arg("log").args(action).arg(self.text("log")).args(["--state-dir", &self.text("state")]);
        command
    }
}

fn succeeds(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn exports_whose_names_differ_in_other_bytes_than_those_of_utf8_keep_their_own_changes() {
    let site = Site::new();
    site.change_and_kill(&[0, 1]);
    let info = succeeds({
        let mut info = Command::new(executable());
        info.args(["log", "info", &site.text("log")]);
        info
    });
    for shown in ["\\376'\n", "\\377'\n"] {
        assert!(info.contains(shown), "{shown} is not in {info}");
    }
    (0..2).for_each(|number| fs::remove_file(site.dir(number).join("file")).unwrap());
    assert!(succeeds(site.log(&["replay"])).contains("were brought to storage"));
    for number in 0..2 {
        assert_eq!(fs::read_to_string(site.dir(number).join("file")).unwrap(), number.to_string());
    }
}

#[test]
fn export_with_changes_in_the_log_is_not_confused_with_another_one_that_is_shown_alike() {
    let site = Site::new();
    site.change_and_kill(&[0]);
    let said = fails(1, site.serve(&[0], false));
    assert!(said.contains("may be in the write log") && said.contains("\\376"), "{said}");
    let said = fails(1, site.serve(&[1], true));
    assert!(said.contains("which is not exported now") && said.contains("\\376"), "{said}");
    drop(Server::spawn(1, site.serve(&[1], false)));
    let mut discard = site.log(&["drain", "--discard"]);
    discard.arg("--export").arg(site.dir(1));
    let said = succeeds(discard);
    assert!(said.contains("\\376' no longer depends on the log") && !said.contains("\\377"), "{said}");
    drop(Server::spawn(1, site.serve(&[0], false)));
}
