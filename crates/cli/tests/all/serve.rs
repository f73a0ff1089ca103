//! How a server starts, hears signals and ends.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use testing::program::{self, Server, wharf, wharf_fails, wharf_ok};
use testing::{PATIENCE, Scratch, wait_until};

#[test]
fn wrong_arguments_end_with_2_and_name_the_mistake() {
    for (arguments, part) in [
        (&["serve"][..], "<DIR|--config <FILE>|--exports <FILE>>"),
        (&["serve", "/tmp", "--listen", "nowhere"], "nowhere"),
        (&["serve", "/tmp", "--rpcbind", "maybe"], "builtin, register, off"),
        (&["serve", "/tmp", "--idle-timeout", "soon"], "not a time"),
        (&["serve", "--config", "x", "--read-only"], "--read-only is for DIRs"),
        (&["serve", "/tmp", "--no-root-squash", "--all-squash"], "cannot be used with"),
        (&["ls", "http://x/y"], "nfs://"),
        (&["serve", "mem:1M", "--client", "@us"], "--client @us: @us: netgroups"),
        (&["serve", "mem:1M", "--client", "10.0.0.0/33"], "--client 10.0.0.0/33"),
        (&["serve", "mem:4Q"], "mem:4Q: \"4Q\" is not a size"),
        (&["serve", "mem:1M", "--fault", "read:explode"], "invalid fault plan"),
        (&["serve", "https://host/a"], "`https` is not a scheme that Wharf serves"),
        (&["serve", "mem:1M", "mem:1M"], "mem:1M: given twice"),
        (&["serve", "/tmp", "--anonuid", "nobody"], "is not a number; `id nobody` shows"),
        (&["serve", "/tmp", "--max-connections", "0"], "0 would serve nobody"),
        (&["serve", "/tmp", "--max-connections-per-client", "0"], "0 would serve nobody"),
        (&["serve", "/tmp", "--memory", "0"], "0 would serve nobody"),
        (&["serve", "/tmp", "--memory-per-client", "0"], "0 would serve nobody"),
        (&["serve", "/tmp", "--stall-timeout", "0s"], "0 would serve nobody"),
        (&["serve", "/tmp", "--idle-timeout", "0"], "0 would serve nobody"),
        (&["lab", "run", "reply-path", "--only", "nosuch=3"], "nosuch"),
        (&["fly"], "fly"),
    ] {
        let said = wharf_fails(2, arguments);
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

#[test]
fn what_cannot_be_served_ends_with_1_and_says_where_and_why() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    let bad = scratch.file("exports", "/srv *(rw)\n/data *(rw,no_rot_squash)\n");
    let bad = bad.to_str().unwrap();
    let missing = scratch.path("missing");
    let (missing, log) = (missing.to_str().unwrap(), scratch.path("log"));
    let log = log.to_str().unwrap();
    for (arguments, parts) in [
        (&["serve", missing, "--listen", "127.0.0.1:0"][..], &[missing, "No such file"][..]),
        (&["serve", "--exports", bad], &["exports:2:12: unknown option `no_rot_squash`"]),
        (&["serve", "--exports", missing], &[missing]),
        (&["serve", "mem:1M", "--loops", "100000", "--listen", "127.0.0.1:0"], &["event loops are too many"]),
        (&["serve", "mem:1M", "--write-log", log, "--write-log-size", "1K"], &["needs at least 1048576 bytes"]),
        (
            &["serve", "mem:1M", "--write-log", log, "--write-log-high-water", "20%"],
            &["low water mark of 25 % is above"],
        ),
    ] {
        let said = wharf_fails(1, &[arguments, &["--state-dir", state.to_str().unwrap()]].concat());
        assert!(parts.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
    }
}

#[test]
fn state_inside_of_an_export_is_refused_with_the_flag_that_moves_it() {
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::new();
    let home = scratch.dir("home");
    let program = scratch.path("wharf");
    program::copy_program(&program);
    let mut command = Command::new(&program);
    command.arg("serve").arg(&home).args(["--listen", "127.0.0.1:0"]).env("HOME", &home);
    command.env_remove("XDG_STATE_HOME").env_remove("STATE_DIRECTORY");
    // Handles of the superuser's server come from the kernel, and need no store.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&home, Some(4321), Some(4321)).unwrap();
        command.uid(4321).gid(4321);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("--state-dir DIR"), "{said}");
}

#[test]
fn listening_beyond_this_machine_without_clients_is_refused_with_the_flag_to_add() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let said = wharf_fails(1, &["serve", "mem:1M", "--listen", address]);
        assert!(said.contains("--client '*'"), "{said}");
    }
    let server = Server::with_addresses(1, &["mem:1M", "--listen", "0.0.0.0:0", "--client", "127.0.0.0/8"]);
    assert_eq!(wharf_ok(&["ls", &server.url("/mem")]), "");
}

#[test]
fn client_that_no_rule_names_is_refused() {
    let server = Server::start(1, &["mem:1M", "--client", "192.0.2.1"]);
    let said = wharf_fails(1, &["ls", &server.url("/mem")]);
    assert!(said.contains("refuses this client"), "{said}");
}

#[test]
fn second_server_with_the_same_state_directory_is_refused() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    let arguments = ["mem:1M", "--state-dir", state.to_str().unwrap()];
    let first = Server::start(1, &arguments);
    let said = wharf_fails(1, &[&["serve", "--listen", "127.0.0.1:0"], &arguments[..]].concat());
    let holder =
        format!("wharf (process {}) uses the state directory {}", first.pid().as_raw_nonzero(), state.display());
    assert!(said.contains(&holder) && said.contains("--state-dir DIR"), "{said}");
    assert_eq!(said.lines().count(), 1, "nothing is logged before the reason: {said}");
}

#[test]
fn port_that_is_in_use_is_refused_with_the_process_that_has_it() {
    let first = Server::start(1, &["mem:1M"]);
    let scratch = Scratch::new();
    let port = first.port().to_string();
    let said = wharf_fails(
        1,
        &[
            "serve",
            "mem:1M",
            "--listen",
            &format!("127.0.0.1:{port}"),
            "--state-dir",
            scratch.path("s").to_str().unwrap(),
        ],
    );
    let holder = format!("wharf (process {}) uses the port", first.pid().as_raw_nonzero());
    assert!(said.contains(&holder) && said.contains("--listen 127.0.0.1:"), "{said}");
}

#[test]
fn port_alone_is_served_for_this_machine() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    for flag in ["--listen", "--port"] {
        let shown = wharf_ok(&["serve", "mem:1M", flag, "3049", "--check", "--state-dir", state.to_str().unwrap()]);
        assert!(shown.contains("listens on 127.0.0.1:3049"), "{shown}");
    }
    let said = wharf_fails(1, &["serve", "mem:1M", "--listen", ":3049", "--check"]);
    assert!(said.contains("other machines can reach 0.0.0.0:3049"), "{said}");
}

#[test]
fn directory_is_exported_under_the_name_behind_its_equals_sign() {
    let scratch = Scratch::new();
    fs::write(scratch.dir("data").join("file"), "").unwrap();
    let server = Server::start(1, &[&format!("{}=/srv", scratch.path("data").display())]);
    assert_eq!(wharf_ok(&["ls", &server.url("/srv")]), "file\n");
}

#[test]
fn refused_client_is_logged_once_with_the_reason() {
    let server = Server::start(1, &["mem:1M", "--client", "192.0.2.0/24"]);
    for _ in 0..3 {
        wharf_fails(1, &["ls", &server.url("/mem")]);
        wharf_fails(1, &["ls", "--version", "4.2", &server.url("/mem/x/y")]);
    }
    server.wait_for_log("127.0.0.1 is not among the clients of");
    let refusals = server.log().matches("refused").count();
    assert_eq!(refusals, 1, "{}", server.log());
}

#[test]
fn log_on_a_terminal_has_no_colours_that_nobody_wants() {
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
        let scratch = Scratch::new();
        command.args(["serve", "mem:1M", "--listen", "127.0.0.1:0", "--state-dir"]).arg(scratch.path("state"));
        command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
        let (_, shown) = program::on_terminal(command, |pid, shown| {
            wait_until("it serves", || shown().contains("mount "));
            kill_process(pid, Signal::TERM).unwrap();
        });
        shown
    };
    assert!(run(&[]).contains('\u{1b}'), "a terminal has colours otherwise");
    assert!(!run(&[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!run(&[("TERM", "dumb")]).contains('\u{1b}'));
}

#[test]
fn ctrl_c_and_termination_end_the_server_well() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut server = Server::start(1, &["mem:1M"]);
        server.signal(signal);
        assert_eq!(server.wait(), Some(0));
        server.wait_for_log("ended");
        let log = server.log();
        assert!(log.contains("serving addresses=127.0.0.1:") && log.contains("ended connections=0 calls=0"), "{log}");
        assert!(!log.contains(" { ") && !log.contains("Some("), "no value is written as in the source: {log}");
    }
}

#[test]
fn single_export_is_also_the_root() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::write(export.join("here"), "").unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    for version in ["2", "3"] {
        assert_eq!(wharf_ok(&["ls", "--version", version, &server.url("/")]), "here\n");
    }
    // NFSv4 shows the way to the export there, and finds a file of the export all the same.
    assert_eq!(wharf_ok(&["cat", &server.url("/here")]), "");
    wharf_ok(&["touch", &server.url("/new")]);
    assert!(export.join("new").exists());
}

#[test]
fn read_only_export_refuses_changes() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--read-only", export.to_str().unwrap()]);
    let said = wharf_fails(1, &["mkdir", &server.url(export.join("new"))]);
    assert!(said.contains("read-only"), "{said}");
}

#[test]
fn export_squashes_the_superuser_unless_told_otherwise() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).unwrap();
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only the superuser's server can act as somebody else");
        return;
    }
    for (flags, uid) in [
        (&[][..], 65_534),
        (&["--no-root-squash"], 0),
        (&["--all-squash", "--anonuid", "1234", "--anongid", "1235"], 1234),
    ] {
        let server = Server::start(1, &[&[export.to_str().unwrap()], flags].concat());
        let dir = export.join(format!("of-{uid}"));
        wharf_ok(&["mkdir", "--uid", "0", "--gid", "0", &server.url(&dir)]);
        assert_eq!(fs::metadata(&dir).unwrap().uid(), uid, "{flags:?}");
    }
}

#[test]
fn server_that_cannot_act_as_others_says_so_and_acts_as_itself() {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only the superuser can start a server as somebody else");
        return;
    }
    let scratch = Scratch::new();
    let (export, state) = (scratch.dir("export"), scratch.dir("state"));
    for dir in [&export, &state] {
        std::os::unix::fs::chown(dir, Some(4321), Some(4321)).unwrap();
    }
    let program = scratch.path("wharf");
    program::copy_program(&program);
    let mut command = Command::new(&program);
    command.arg("serve").arg(&export).arg("--state-dir").arg(&state).args(["--listen", "127.0.0.1:0"]);
    command.uid(4321).gid(4321);
    let server = Server::spawn(1, command);
    server.wait_for_log("cannot act as other users");
    wharf_ok(&["mkdir", "--uid", "77", &server.url(export.join("new"))]);
    assert_eq!(fs::metadata(export.join("new")).unwrap().uid(), 4321);
}

#[test]
fn reload_puts_new_exports_in_force_and_a_bad_file_none() {
    let scratch = Scratch::new();
    let (first, second) = (scratch.dir("first"), scratch.dir("second"));
    fs::write(first.join("one"), "1").unwrap();
    fs::write(second.join("two"), "2").unwrap();
    let line = |dir: &std::path::Path| format!("{} 127.0.0.0/8(ro,insecure)\n", dir.display());
    let exports = scratch.file("exports", &line(&first));
    let server = Server::start(1, &["--exports", exports.to_str().unwrap()]);
    assert_eq!(wharf_ok(&["ls", &server.url(&first)]), "one\n");

    fs::write(&exports, format!("{}{}", line(&first), line(&second))).unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("reloaded");
    assert_eq!(wharf_ok(&["ls", &server.url(&second)]), "two\n");

    fs::write(&exports, "/srv *(rw,nonsense)\n").unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("exports:1:11: unknown option `nonsense`");
    assert_eq!(wharf_ok(&["ls", &server.url(&second)]), "two\n");

    fs::write(&exports, line(&second)).unwrap();
    server.signal(Signal::HUP);
    let began = std::time::Instant::now();
    while wharf(&["ls", &server.url(&first)]).status.success() {
        assert!(began.elapsed() < PATIENCE, "{}", server.log());
    }
}

#[test]
fn memory_survives_a_reload() {
    let scratch = Scratch::new();
    let text = "[[export]]\nmemory = \"1M\"\nname = \"/m\"\nclients = [\"127.0.0.1\"]\n";
    let config = scratch.file("wharf.toml", text);
    let server = Server::start(1, &["--config", config.to_str().unwrap()]);
    wharf_ok(&["mkdir", &server.url("/m/kept")]);
    fs::write(&config, format!("{text}[[export]]\nmemory = \"1M\"\nname = \"/n\"\n")).unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("reloaded");
    assert_eq!(wharf_ok(&["ls", &server.url("/m")]), "kept\n");
    assert_eq!(wharf_ok(&["ls", &server.url("/n")]), "");
}

#[test]
fn configuration_file_decides_what_the_command_line_does_not() {
    let scratch = Scratch::new();
    let text =
        "[server]\nlisten = [\"127.0.0.1:0\"]\n[log]\nformat = \"json\"\n[[export]]\nmemory = \"1M\"\nname = \"/m\"\n";
    let config = scratch.file("wharf.toml", text);
    let server = Server::with_addresses(1, &["--config", config.to_str().unwrap()]);
    assert!(server.further_lines().is_empty());
    server.wait_for_log("\"message\":\"serving\"");
    assert_eq!(wharf_ok(&["ls", &server.url("/m")]), "");
}

#[test]
fn service_manager_hears_of_every_state() {
    let scratch = Scratch::new();
    let path = scratch.path("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let next = || {
        let mut buffer = [0; 256];
        let count = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.args(["serve", "mem:1M", "--listen", "127.0.0.1:0"]).env("NOTIFY_SOCKET", &path);
    let mut server = Server::spawn(1, command);
    assert_eq!(next(), "READY=1");
    server.signal(Signal::HUP);
    assert!(next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(next(), "READY=1");
    server.signal(Signal::TERM);
    assert_eq!(next(), "STOPPING=1");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn second_ctrl_c_does_not_wait_for_slow_calls() {
    let mut server = Server::start(1, &["mem:1M", "--fault", "lookup(slow):delay=600s"]);
    let url = server.url("/mem/slow");
    let call = std::thread::spawn(move || wharf(&["stat", &url]));
    std::thread::sleep(Duration::from_millis(500));
    server.signal(Signal::INT);
    server.wait_for_log("completing accepted requests");
    server.signal(Signal::INT);
    assert_eq!(server.wait(), Some(0));
    drop(call);
}

#[test]
fn socket_of_the_service_manager_is_served_and_nothing_else() {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The variables name the process, so a shell sets them and becomes the server.
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\" 3<&0";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_wharf"), "serve", "mem:1M"]).stdin(OwnedFd::from(listener));
    let server = Server::spawn(1, command);
    assert_eq!(server.address(), address);
    assert!(server.further_lines().is_empty());
    assert_eq!(wharf_ok(&["ls", &server.url("/mem")]), "");
}

#[test]
fn socket_of_the_service_manager_that_others_reach_needs_clients_too() {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\" 3<&0";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_wharf"), "serve", "mem:1M"]).stdin(OwnedFd::from(listener));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--client '*'"));
}

#[test]
fn start_that_waits_for_another_server_is_ended_by_a_signal() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let scratch = Scratch::new();
    let url = format!("nfs://{}/x?version=4.2=/x", silent.local_addr().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.args(["serve", &url, "--listen", "127.0.0.1:0", "--state-dir"]).arg(scratch.path("state"));
    let mut server = command.spawn().unwrap();
    // It has begun to wait when it has connected.
    let _wire = silent.accept().unwrap();
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert_eq!(server.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
}
