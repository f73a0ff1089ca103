//! Write logs of servers that may not set attributes of the system: of an ordinary user, and of the superuser of a user
//! namespace. Their marks are attributes of the user, and the handles of files come from the state directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use testing::Scratch;
use testing::program::{Server, copy_program, fails, wharf_ok};

/// Whom servers without privileges run as.
const SOMEBODY: u32 = 4321;
const MARK: &str = "user.wharf.write-log";
const TRUSTED_MARK: &str = "trusted.wharf.write-log";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    AsUser,
    /// The user is the superuser of the namespace.
    InNamespaceOfUser,
    InNamespaceOfRoot,
}

/// An export, a log and state directories of a user.
struct Site {
    scratch: Scratch,
    runs: Runs,
}

impl Site {
    fn new(runs: Runs) -> Site {
        let site = Site { scratch: Scratch::on_disk(), runs };
        copy_program(&site.scratch.path("wharf"));
        let (home, export) = (site.scratch.dir("home"), site.scratch.dir("home/export"));
        if runs != Runs::InNamespaceOfRoot {
            [home, export].iter().for_each(|dir| chown(dir, Some(SOMEBODY), Some(SOMEBODY)).unwrap());
        }
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path("home").join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = self.scratch.path("wharf");
        let mut command = if self.runs == Runs::AsUser { Command::new(program) } else { in_namespace(&program) };
        if self.runs != Runs::InNamespaceOfRoot {
            command.uid(SOMEBODY).gid(SOMEBODY);
        }
        command.args(arguments);
        command
    }

    fn serve(&self, with_log: bool, state: &str) -> Command {
        let (export, log) = (self.text("export"), self.text("log"));
        let mut command = self.command(&["serve", &export, "--listen", "127.0.0.1:0", "--no-root-squash"]);
        command.args(["--state-dir", &self.text(state)]);
        if with_log {
            command.args(["--write-log", &log, "--write-log-size", "4M", "--write-log-max-age", "60s"]);
        }
        command
    }

    /// Makes a file by way of a server, which is then killed.
    fn change_and_kill(&self, name: &str, state: &str) {
        let mut server = Server::spawn(1, self.serve(true, state));
        let file = self.scratch.file("file", name);
        let to = server.url(self.path("export").join(name));
        wharf_ok(&["cp", "--overwrite", file.to_str().unwrap(), &to]);
        kill(&mut server);
    }

    /// `wharf log ACTION` with the log.
    fn log(&self, action: &[&str], state: &str) -> Command {
        self.command(&[&["log"], action, &[&self.text("log"), "--state-dir", &self.text(state)]].concat())
    }

    fn assert_has(&self, name: &str) {
        assert_eq!(fs::read_to_string(self.path("export").join(name)).unwrap(), name, "{:?}", self.runs);
    }

    fn lose(&self, name: &str) {
        fs::remove_file(self.path("export").join(name)).unwrap();
    }

    fn mark(&self, name: &str) -> Option<String> {
        let mut value = vec![0; 4096];
        let length = rustix::fs::getxattr(self.path("export"), name, &mut value).ok()?;
        Some(String::from_utf8(value[..length].to_vec()).unwrap())
    }
}

fn in_namespace(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user"]).arg(program);
    command
}

fn kill(server: &mut Server) {
    server.signal(Signal::KILL);
    server.wait();
}

fn succeeds(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

/// A site for each way to run that this machine has.
fn sites() -> Vec<Site> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only the superuser can start servers as somebody else");
        return Vec::new();
    }
    let mut ways = vec![Runs::AsUser];
    if in_namespace("true").status().is_ok_and(|status| status.success()) {
        ways.extend([Runs::InNamespaceOfUser, Runs::InNamespaceOfRoot]);
    } else {
        println!("skipped: there are no user namespaces here");
    }
    ways.into_iter().map(Site::new).collect()
}

#[test]
fn export_of_a_server_without_privileges_depends_on_its_log_until_the_log_is_replayed() {
    for site in sites() {
        site.change_and_kill("first", "state");
        let mark = site.mark(MARK).expect("the export is marked");
        assert!(mark.starts_with("needed ") && site.mark(TRUSTED_MARK).is_none(), "{:?}: {mark}", site.runs);
        let said = fails(1, site.serve(false, "state"));
        assert!(said.contains("may be in the write log"), "{:?}: {said}", site.runs);
        let said = fails(1, site.serve(false, "other-state"));
        assert!(said.contains(&format!("only its extended attribute {MARK} says so")), "{:?}: {said}", site.runs);
        site.lose("first");
        succeeds(site.log(&["replay"], "state"));
        site.assert_has("first");
        assert!(site.mark(MARK).unwrap().starts_with("released "), "{:?}", site.runs);
        drop(Server::spawn(1, site.serve(false, "state")));
    }
}

#[test]
fn log_of_a_server_without_privileges_is_replayed_though_its_state_directory_is_lost() {
    for site in sites() {
        site.change_and_kill("first", "state");
        fs::remove_dir_all(site.path("state")).unwrap();
        fails(1, site.log(&["replay"], "state"));
        assert!(succeeds(site.log(&["adopt"], "state")).contains("the next start replays"), "{:?}", site.runs);
        site.lose("first");
        let mut server = Server::spawn(1, site.serve(true, "state"));
        site.assert_has("first");
        kill(&mut server);
    }
}

#[test]
fn export_of_a_server_without_privileges_is_given_up_only_when_that_has_ended() {
    for site in sites() {
        let mut server = Server::spawn(1, site.serve(true, "state"));
        let mut discard = site.log(&["drain", "--discard"], "other-state");
        discard.arg("--export").arg(site.path("export"));
        let said = fails(1, discard);
        assert!(said.contains("a running server uses"), "{:?}: {said}", site.runs);
        kill(&mut server);
        site.change_and_kill("first", "state");
        let said = succeeds(site.log(&["drain", "--discard"], "state"));
        assert!(said.contains("no longer depends on the log"), "{:?}: {said}", site.runs);
        drop(Server::spawn(1, site.serve(false, "other-state")));
    }
}

#[test]
fn mark_that_others_may_have_written_refuses_a_start_with_the_remedy() {
    for site in sites() {
        site.change_and_kill("first", "state");
        fs::set_permissions(site.path("export"), fs::Permissions::from_mode(0o777)).unwrap();
        let said = fails(1, site.serve(false, "other-state"));
        let remedy = format!("setfattr -x {MARK} {}", site.text("export"));
        assert!(said.contains(&remedy), "{:?}: {said}", site.runs);
        rustix::fs::removexattr(site.path("export"), MARK).unwrap();
        drop(Server::spawn(1, site.serve(false, "other-state")));
        // The server's own state directory knows it all the same.
        fails(1, site.serve(false, "state"));
    }
}
