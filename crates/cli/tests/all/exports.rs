//! Which directories are exported, and what is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::{Resource, Rlimit, Signal};

use testing::Scratch;
use testing::program::namespace::Namespace;
use testing::program::{self, Server, wharf, wharf_fails, wharf_ok};

/// Whom servers without privileges run as.
const SOMEBODY: u32 = 4321;

fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

/// A `wharf serve` on a free port, as root and as somebody else where that can be.
fn commands(scratch: &Scratch) -> Vec<Command> {
    let program = scratch.path("wharf");
    if !program.exists() {
        program::copy_program(&program);
    }
    let serve = || {
        let mut command = Command::new(&program);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command
    };
    if !is_superuser() {
        return vec![serve()];
    }
    let mut unprivileged = serve();
    unprivileged.uid(SOMEBODY).gid(SOMEBODY);
    vec![serve(), unprivileged]
}

/// A directory that both servers may use.
fn shared_dir(scratch: &Scratch, name: &str) -> PathBuf {
    let dir = scratch.dir(name);
    give(&dir);
    dir
}

fn give(path: &Path) {
    if is_superuser() {
        chown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What a server said that did not start.
#[track_caller]
fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[test]
fn reload_serves_the_directory_that_is_at_the_path_now() {
    for which in 0..2 {
        let scratch = Scratch::new();
        let Some(mut command) = commands(&scratch).into_iter().nth(which) else { return };
        let (replaced, kept) = (shared_dir(&scratch, "replaced"), shared_dir(&scratch, "kept"));
        // Another user's directory is refused: the server makes its own, if it may.
        let state = if which == 0 { scratch.path("state") } else { shared_dir(&scratch, "state") };
        fs::write(replaced.join("old"), "old").unwrap();
        fs::write(kept.join("file"), "kept").unwrap();
        command.args([text(&replaced), text(&kept), "--state-dir", text(&state)]);
        let server = Server::spawn(2, command);
        let root = server.handle_of(&replaced);
        let kept_handle = server.handle_of(kept.join("file"));

        fs::rename(&replaced, scratch.path("moved")).unwrap();
        shared_dir(&scratch, "replaced");
        fs::write(replaced.join("new"), "new").unwrap();
        server.signal(Signal::HUP);
        server.wait_for_log("reloaded");
        assert_eq!(wharf_ok(&["ls", &server.url(&replaced)]), "new\n");
        let owner = SOMEBODY.to_string();
        wharf_ok(&["mkdir", "--uid", &owner, "--gid", &owner, &server.url(replaced.join("made"))]);
        assert!(replaced.join("made").is_dir() && !scratch.path("moved/made").exists());
        assert_ne!(server.handle_of(&replaced), root, "handles of the old directory are stale");
        assert_eq!(server.handle_of(kept.join("file")), kept_handle, "the other export notices nothing");
        assert!(server.log().contains("another directory is now at the path"), "{}", server.log());
    }
}

#[test]
fn call_that_waits_for_storage_is_answered_though_no_thread_can_be_started() {
    // Nobody else has processes of this user. Root may have any number.
    const ALONE: u32 = 4322;
    if !is_superuser() {
        return println!("skipped: only the superuser has a user whose threads it can count");
    }
    let scratch = Scratch::new();
    let (program, export, state) = (scratch.path("wharf"), scratch.dir("export"), scratch.dir("state"));
    program::copy_program(&program);
    [&export, &state].iter().for_each(|dir| chown(dir, Some(ALONE), Some(ALONE)).unwrap());
    let spawn = |mut command: Command| {
        command.args(["serve", "--listen", "127.0.0.1:0", text(&export), "--state-dir", text(&state)]);
        command.uid(ALONE).gid(ALONE);
        Server::spawn(1, command)
    };
    let server = spawn(Command::new(&program));
    let threads = fs::read_dir(format!("/proc/{}/task", server.pid().as_raw_nonzero())).unwrap().count();
    drop(server);
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nproc={threads}")).arg(&program);
    let server = spawn(limited);
    let owner = ALONE.to_string();
    wharf_ok(&["mkdir", "--uid", &owner, "--gid", &owner, &server.url(export.join("made"))]);
    assert!(export.join("made").is_dir());
}

#[test]
fn write_beyond_the_limit_of_file_sizes_fails_and_the_server_goes_on() {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.path("state"));
    let large = scratch.file("large", &"x".repeat(200 << 10));
    let server = Server::start(1, &[text(&export), "--no-root-squash", "--state-dir", text(&state)]);
    let limits = Rlimit { current: Some(100 << 10), maximum: None };
    rustix::process::prlimit(Some(server.pid()), Resource::Fsize, limits).unwrap();
    for version in ["3", "4.2"] {
        let url = format!("{}?version={version}", server.url(export.join(version)));
        let said = wharf_fails(1, &["cp", text(&large), &url]);
        assert!(said.to_lowercase().contains("too large"), "{said}");
        assert_eq!(wharf_ok(&["ls", &server.url(&export)]).lines().count(), 1 + usize::from(version != "3"));
    }
}

#[test]
fn reload_without_the_directory_is_refused_and_the_old_one_stays() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::write(export.join("old"), "old").unwrap();
    let server = Server::start(1, &[text(&export)]);
    fs::rename(&export, scratch.path("moved")).unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("the old exports stay in force");
    assert_eq!(wharf_ok(&["ls", &server.url(&export)]), "old\n");
}

#[test]
fn state_inside_of_an_export_is_refused_however_its_path_is_written() {
    let scratch = Scratch::new();
    let export = shared_dir(&scratch, "export");
    symlink(&export, scratch.path("link")).unwrap();
    for state in [export.join("state"), scratch.path("link/deep/state"), export.clone(), scratch.path("link")] {
        for mut command in commands(&scratch) {
            let said = refused(&command.args([text(&export), "--state-dir", text(&state)]).output().unwrap());
            assert!(said.contains("inside the export") && said.contains("--state-dir DIR"), "{said}");
            assert!(!export.join("state").exists(), "nothing is made there");
        }
    }
}

#[test]
fn export_inside_of_the_state_directory_is_refused() {
    let scratch = Scratch::new();
    let state = shared_dir(&scratch, "state");
    fs::create_dir(state.join("export")).unwrap();
    give(&state.join("export"));
    for mut command in commands(&scratch) {
        let export = state.join("export");
        let said = refused(&command.args([text(&export), "--state-dir", text(&state)]).output().unwrap());
        assert!(said.contains("the export is inside") && said.contains("--state-dir DIR"), "{said}");
    }
}

#[test]
fn default_state_directory_inside_of_an_export_is_refused() {
    for name in ["STATE_DIRECTORY", "XDG_STATE_HOME"] {
        let scratch = Scratch::new();
        let export = shared_dir(&scratch, "export");
        // The superuser's is /var/lib/wharf unless the service manager gives one.
        for mut command in commands(&scratch).into_iter().skip(usize::from(is_superuser() && name != "STATE_DIRECTORY"))
        {
            command.env_remove("STATE_DIRECTORY").env(name, export.join("state")).arg(&export);
            let said = refused(&command.output().unwrap());
            assert!(said.contains("inside the export"), "{said}");
        }
    }
}

#[test]
fn bind_mounts_hide_nothing_of_where_the_state_is() {
    let Some(namespace) = Namespace::new() else { return };
    let scratch = Scratch::new();
    let [export, elsewhere] = ["export", "elsewhere"].map(|name| scratch.dir(name));
    let state = scratch.path("export/state");
    fs::create_dir(&state).unwrap();
    let wharf = |arguments: &[&str]| {
        let mut command = namespace.command(env!("CARGO_BIN_EXE_wharf"));
        refused(&command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).output().unwrap())
    };
    let bind = |from: &Path, to: &Path| {
        assert!(namespace.command("mount").arg("--bind").args([from, to]).status().unwrap().success());
    };
    // The state seems to be elsewhere, and clients could read it in the export all the same.
    bind(&state, &elsewhere);
    let said = wharf(&[text(&export), "--state-dir", text(&elsewhere)]);
    assert!(said.contains("inside the export"), "{said}");
    // So it is when the export is what was mounted.
    let other = scratch.dir("other");
    bind(&export, &other);
    let said = wharf(&[text(&other), "--state-dir", text(&state)]);
    assert!(said.contains("inside the export"), "{said}");
}

#[test]
fn reload_that_exports_the_state_directory_is_refused() {
    let scratch = Scratch::new();
    let (first, state) = (scratch.dir("first"), scratch.dir("state"));
    let line = |dir: &Path| format!("{} 127.0.0.0/8(ro,insecure)\n", dir.display());
    let exports = scratch.file("exports", &line(&first));
    let server = Server::start(1, &["--exports", text(&exports), "--state-dir", text(&state)]);
    fs::write(&exports, line(&first) + &line(&state)).unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("inside the export");
    assert!(!wharf(&["ls", &server.url(&state)]).status.success());
}

#[test]
fn key_that_is_damaged_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    let state = scratch.dir("state");
    let serve = ["serve", "mem:1M", "--listen", "127.0.0.1:0", "--state-dir", text(&state)];
    let key = state.join("handle-key");
    for bytes in [vec![0; 16], vec![0; 36], Vec::new(), vec![7, 1, 2, 3], b"wharf key 1\n and what else comes".to_vec()]
    {
        fs::write(&key, &bytes).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let said = wharf_fails(1, &serve);
        assert!(said.contains(text(&key)) && said.contains("damaged") && said.contains("move it elsewhere"), "{said}");
        assert_eq!(fs::read(&key).unwrap(), bytes);
    }
}

#[test]
fn handles_survive_a_restart_with_a_key_of_either_form() {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.dir("state"));
    let old_form = b"\x8f\x11\x2a\xc3\x04\x55\x60\x77\x98\x19\xaa\x0b\xfc\x2d\xee\x31";
    for key in [None, Some(old_form)] {
        if let Some(key) = key {
            fs::write(state.join("handle-key"), key).unwrap();
        }
        let handle = || Server::start(1, &[text(&export), "--state-dir", text(&state)]).handle_of(&export);
        assert_eq!(handle(), handle());
    }
}

#[test]
fn key_that_others_may_read_becomes_private_with_a_warning() {
    let scratch = Scratch::new();
    let state = scratch.dir("state");
    let arguments = ["mem:1M", "--state-dir", text(&state)];
    drop(Server::start(1, &arguments));
    let key = state.join("handle-key");
    let mode = || fs::metadata(&key).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let server = Server::start(1, &arguments);
    server.wait_for_log("other users could read the key");
    assert_eq!(mode(), 0o600);
}

#[test]
fn state_that_others_can_change_is_neither_used_nor_passed_by_check() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    let serve = ["serve", "mem:1M", "--listen", "127.0.0.1:0", "--state-dir", text(&state)];
    drop(Server::start(1, &serve[1..]));
    let is_refused = |part: &str, remedy: &str| {
        for check in [&[][..], &["--check"]] {
            let said = wharf_fails(1, &[&serve[..], check].concat());
            assert!(said.contains(part) && said.contains(remedy), "{check:?}: {said}");
        }
    };
    let (key, set_mode) = (state.join("handle-key"), |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    });
    set_mode(&state, 0o1777);
    is_refused("other users can change it (mode 1777)", "chmod go-w");
    set_mode(&state, 0o700);
    set_mode(&key, 0o666);
    is_refused("other users can change it (mode 0666)", "chmod go-w");
    set_mode(&key, 0o600);
    fs::rename(&key, state.join("planted")).unwrap();
    symlink(state.join("planted"), &key).unwrap();
    is_refused("handle-key: it is a symbolic link", "put the file itself in its place");
    if rustix::process::geteuid().is_root() {
        chown(&state, Some(54_321), None).unwrap();
        is_refused("it belongs to user 54321", "chown 0");
    }
}

/// A reply log behind a symbolic link would overwrite any file of root's.
#[test]
fn link_in_place_of_a_file_of_the_state_directory_leads_nowhere() {
    let scratch = Scratch::new();
    let (state, victim) = (scratch.path("state"), scratch.file("victim", "precious"));
    let arguments = ["mem:1M", "--state-dir", text(&state)];
    drop(Server::start(1, &arguments));
    for name in ["replies-0", "replies-1", "client-records"] {
        let (file, kept) = (state.join(name), state.join("kept"));
        let existed = fs::rename(&file, &kept).is_ok();
        symlink(&victim, &file).unwrap();
        let said = wharf_fails(1, &[&["serve", "--listen", "127.0.0.1:0"], &arguments[..]].concat());
        assert!(said.contains(name) && said.contains("symbolic link"), "{said}");
        fs::remove_file(&file).unwrap();
        if existed {
            fs::rename(&kept, &file).unwrap();
        }
    }
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn check_prints_what_would_be_served_and_serves_nothing() {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.path("state"));
    let config = format!(
        "[server]\nlisten = [\"192.0.2.1:1\"]\nstate_dir = \"{}\"\n\
         [[export]]\npath = \"{}\"\nclients = [\"10.0.0.0/8\"]\nread_only = true\n\
         [[export.access]]\nclients = [\"10.0.0.1\"]\nsquash = \"none\"\n\
         [[export]]\nmemory = \"4M\"\nname = \"/m\"\nclients = [\"*\"]\n",
        state.display(),
        export.display()
    );
    let config = scratch.file("wharf.toml", &config);
    // An address of nobody's, which no server could take.
    let shown = wharf_ok(&["serve", "--check", "--config", text(&config)]);
    for part in [
        text(&export),
        "10.0.0.0/8  ro,sync,root_squash,insecure",
        "10.0.0.1",
        "memory, 4096KiB",
        "192.0.2.1:1",
        text(&state),
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&wharf_ok(&["serve", "--check", "--json", "--config", text(&config)])).unwrap();
    assert_eq!(json["exports"][0]["clients"][0]["options"][0], "ro");
    assert_eq!(json["exports"][1]["name"], "/m");
    assert_eq!(json["listen"][0], "192.0.2.1:1");
    assert!(!state.exists(), "nothing is made");
}

#[test]
fn check_and_start_report_the_same_mistakes_all_of_them() {
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.dir("state"));
    fs::create_dir(state.join("inside")).unwrap();
    fs::write(state.join("handle-key"), [0; 16]).unwrap();
    symlink(&export, scratch.path("again")).unwrap();
    let lines = format!(
        "{export} 192.0.2.1(rw)\n{again} 192.0.2.2(rw)\n{missing} *(rw)\n{inside} *(rw)\n",
        export = export.display(),
        again = scratch.path("again").display(),
        missing = scratch.path("missing").display(),
        inside = state.join("inside").display(),
    );
    let exports = scratch.file("exports", &lines);
    let bad = scratch.file(
        "wharf.toml",
        "[server]\nloops = \"many\"\n[limits]\nmax_connections = 0\n[write_log]\npath = \"memory\"\n",
    );
    let arguments = [
        &["--config", text(&bad), "--exports", text(&exports), "--state-dir", text(&state), "--loops", "100000"][..],
        &["--listen", "0.0.0.0:0", "mem:1M"],
    ]
    .concat();
    let said = wharf_fails(1, &[&["serve", "--check"], &arguments[..]].concat());
    assert_eq!(wharf_fails(1, &[&["serve"], &arguments[..]].concat()), said);
    for part in [
        "wharf.toml:2:9: `loops` requires a number",
        "wharf.toml:4:19: 0 would serve nobody",
        "100000 event loops are too many",
        "add --lose-my-data",
        "are the same directory",
        "missing for serving: No such file",
        "the export is inside",
        "handle-key is damaged",
        "other machines can reach 0.0.0.0:0",
    ] {
        assert!(said.contains(part), "{part:?} is not told in {said}");
    }
    assert_eq!(said.lines().filter(|line| line.starts_with("wharf: ")).count(), 9, "{said}");
}

#[test]
fn check_and_start_refuse_a_write_log_without_a_place_of_its_own() {
    let scratch = Scratch::on_disk();
    let (export, state) = (scratch.dir("export"), scratch.dir("state"));
    let (inside, nowhere) = (export.join("log"), scratch.path("missing").join("log"));
    for (place, part) in [(&inside, "is inside the export"), (&nowhere, "No such file"), (&state, "neither a file nor")]
    {
        let serve = ["serve", text(&export), "--listen", "127.0.0.1:0", "--state-dir", text(&state)];
        let serve = [&serve[..], &["--write-log", text(place)]].concat();
        let said = wharf_fails(1, &serve);
        assert!(said.contains(part) && said.contains(text(place)), "{said}");
        assert_eq!(wharf_fails(1, &[&serve[..], &["--check"]].concat()), said);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let log = scratch.path("log");
    wharf_ok(&["serve", text(&export), "--state-dir", text(&state), "--write-log", text(&log), "--check"]);
    assert!(!log.exists(), "a check makes nothing");
}

#[test]
fn check_does_not_disturb_a_server_that_is_running() {
    let scratch = Scratch::new();
    let (export, state) = (shared_dir(&scratch, "export"), shared_dir(&scratch, "state"));
    // The last one has a store where nobody is privileged, which one process at a time may use.
    let command = || commands(&scratch).pop().unwrap();
    let arguments = [text(&export), "--state-dir", text(&state)];
    let (mut serve, mut check) = (command(), command());
    serve.args(arguments);
    let server = Server::spawn(1, serve);
    let output = check.arg("--check").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("store"));
    assert_eq!(wharf_ok(&["ls", &server.url(&export)]), "");
}

#[test]
fn start_tells_all_exports_that_cannot_be_served() {
    let scratch = Scratch::new();
    let (first, second) = (scratch.path("first"), scratch.path("second"));
    let state = scratch.path("state");
    let said =
        wharf_fails(1, &["serve", "--listen", "127.0.0.1:0", "--state-dir", text(&state), text(&first), text(&second)]);
    assert!(said.contains(text(&first)) && said.contains(text(&second)), "{said}");
}

#[test]
fn missing_export_is_reported_as_one_with_those_that_there_are() {
    let server = Server::start(2, &["mem:1M=/data/films", "mem:1M=/home"]);
    for version in ["2", "3", "4.0", "4.1", "4.2"] {
        for path in ["/data/flims", "/flims", "/data/flims/1984/film", "/other/film"] {
            let url = format!("{}?version={version}", server.url(path));
            for arguments in [&["ls", &url][..], &["cat", &url], &["mkdir", &url], &["rm", &url]] {
                let said = wharf_fails(1, arguments);
                assert!(said.contains("has no such export; it exports /data/films, /home"), "{arguments:?}: {said}");
            }
        }
        let url = format!("{}?version={version}", server.url("/home/missing"));
        let said = wharf_fails(1, &["ls", &url]);
        assert!(said.contains("no such file or directory"), "{version}: {said}");
    }
}

#[test]
fn export_that_is_not_for_this_client_is_no_missing_one() {
    let server = Server::start(1, &["mem:1M=/private", "--client", "192.0.2.1"]);
    for version in ["3", "4.2"] {
        let said = wharf_fails(1, &["ls", &format!("{}?version={version}", server.url("/private"))]);
        assert!(said.contains("refuses this client") || said.contains("permission denied"), "{said}");
    }
}

#[test]
fn inner_export_for_others_is_not_entered_by_way_of_the_outer_one() {
    let scratch = Scratch::new();
    let outer = scratch.dir("outer");
    fs::create_dir_all(outer.join("secret/sub")).unwrap();
    fs::write(outer.join("secret/sub/file"), "secret").unwrap();
    fs::write(outer.join("open"), "open").unwrap();
    let lines = |friend: &str| {
        let (outer, inner) = (outer.display(), outer.join("secret"));
        format!("{outer} 127.0.0.0/8(rw,insecure)\n{} {friend}(rw,insecure)\n", inner.display())
    };
    let exports = scratch.file("exports", &lines("192.0.2.1"));
    let server = Server::start(2, &["--exports", text(&exports)]);
    let url = |path: &str, version: &str| format!("{}?version={version}", server.url(outer.join(path)));
    let versions = ["2", "3", "4.0", "4.1", "4.2"];
    for version in versions {
        for path in ["secret", "secret/sub", "secret/sub/file", "./secret//sub/file"] {
            let said = wharf_fails(1, &["cat", &url(path, version)]);
            assert!(said.contains("permission denied") || said.contains("refuses this client"), "{version}: {said}");
        }
        assert_eq!(wharf_ok(&["cat", &url("open", version)]), "open");
        let output = wharf(&["ls", &url("", version)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"open\nsecret\n", "{version}: the listing goes on; {said}");
        assert!(said.contains("/secret: permission denied"), "{version}: {said}");
        assert_eq!(output.status.code(), Some(1), "{version}: a file could not be looked up");
    }
    fs::write(&exports, lines("127.0.0.0/8")).unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("reloaded");
    for version in versions {
        assert_eq!(wharf_ok(&["cat", &url("secret/sub/file", version)]), "secret", "{version}");
    }
}
