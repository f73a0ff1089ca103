//! What the program says of its own calls, and of those of other processes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use testing::program::mounting::{Unmount, can_mount};
use testing::program::{self, Server, wharf, wharf_ok};
use testing::{PATIENCE, Scratch, wait_until};

const FILE_BYTES: usize = 40_000;

/// A server of memory with one file in it.
fn server() -> (Server, String) {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let scratch = Scratch::new();
    let file = scratch.file("file", &"x".repeat(FILE_BYTES));
    let url = server.url("/mem/file");
    wharf_ok(&["cp", file.to_str().unwrap(), &url]);
    (server, url)
}

/// What a command that has to succeed says on standard error.
fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// The number below a name in the tables.
pub(crate) fn number(tables: &str, name: &str) -> u64 {
    let lines: Vec<&str> = tables.lines().collect();
    for pair in lines.windows(2) {
        // A column has 13 characters, and names have spaces in them.
        let names = pair[0].as_bytes().chunks(13).map(|name| String::from_utf8_lossy(name).trim().to_owned());
        if let Some(place) = names.into_iter().position(|found| found == name) {
            return pair[1].split_whitespace().nth(place).unwrap().parse().unwrap();
        }
    }
    panic!("no {name} in {tables}")
}

#[test]
fn command_says_what_it_called_in_the_layout_of_nfsstat() {
    let (_server, url) = server();
    for version in ["2", "3", "4.0", "4.1", "4.2"] {
        let output = wharf(&["cat", "--nfsstat", "--rsize", "8K", "--version", version, &url]);
        let tables = said(&output);
        assert!(tables.starts_with("Client Info:\nRpc Counts:\n"), "{tables}");
        assert_eq!(output.stdout.len(), FILE_BYTES);
        assert_eq!(number(&tables, "Read"), FILE_BYTES.div_ceil(8 << 10) as u64, "{version}: {tables}");
        assert!(number(&tables, "Lookup") >= 1, "{version}: {tables}");
        let counts = tables.split("Rpc Info").next().unwrap();
        let sum: u64 = counts
            .lines()
            .skip(2)
            .step_by(2)
            .zip(counts.lines().skip(3).step_by(2))
            .map(|(_, numbers)| numbers.split_whitespace().map(|number| number.parse::<u64>().unwrap()).sum::<u64>())
            .sum();
        let requests = number(&tables, "Requests");
        // What NFSv4 needs for clients and sessions is in no row of these.
        assert!(if version < "4" { sum == requests } else { sum < requests }, "{version}: {tables}");
    }
}

#[test]
fn command_says_all_rows_figures_of_procedures_or_json() {
    let (_server, url) = server();
    let all = said(&wharf(&["ls", "--nfsstat=all", "--version", "4.2", &url]));
    assert_eq!((number(&all, "ExchangeId"), number(&all, "CreateSess")), (1, 1));
    let operations = said(&wharf(&["ls", "--nfsstat=operations", "--version", "4.1", &url]));
    assert!(operations.contains("\nv4 LOOKUP ") && operations.contains("\nSEQUENCE "), "{operations}");
    let json: serde_json::Value =
        serde_json::from_str(&said(&wharf(&["ls", "--nfsstat=json", "--version", "3", &url]))).unwrap();
    let procedures = json["procedures"].as_array().unwrap();
    let lookup = procedures.iter().find(|procedure| procedure["name"] == "LOOKUP").unwrap();
    assert_eq!((&lookup["calls"], &lookup["wire"]["count"]), (&1.into(), &1.into()));
    assert!(lookup["wire"]["buckets"][0]["from_ns"].is_u64());
}

/// A client that goes on until it is dropped, and whoever asks it, in a session of their own.
struct Client {
    child: Child,
    session: Scratch,
}

impl Client {
    fn start(url: &str) -> Client {
        let session = Scratch::new();
        let mut bench = Command::new(env!("CARGO_BIN_EXE_wharf"));
        bench.args(["bench", "--nfsstat", "--rw", "getattr", "--runtime", "600s", "--size", "4K", url]);
        bench.env("WHARF_RUNTIME_DIR", session.path("wharf")).stdout(Stdio::null()).stderr(Stdio::null());
        let client = Client { child: bench.spawn().unwrap(), session };
        let began = Instant::now();
        while !client.ask(&["-m"]).status.success() {
            assert!(began.elapsed() < PATIENCE, "the client does not answer");
            thread::sleep(Duration::from_millis(10));
        }
        client
    }

    /// Runs `wharf nfsstat`.
    fn ask(&self, arguments: &[&str]) -> Output {
        let mut nfsstat = Command::new(env!("CARGO_BIN_EXE_wharf"));
        nfsstat.arg("nfsstat").args(arguments).env("WHARF_RUNTIME_DIR", self.session.path("wharf")).output().unwrap()
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = self.ask(arguments);
        said(&output);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until the tables show GETATTRs.
    fn wait_for_calls(&self) -> u64 {
        let began = Instant::now();
        loop {
            match number(&self.told(&["-c"]), "Getattr") {
                0..100 => assert!(began.elapsed() < PATIENCE, "nothing is counted"),
                enough => return enough,
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn client_that_runs_is_asked_for_its_tables_its_mount_and_its_histograms() {
    let (_server, url) = server();
    let client = Client::start(&url);
    let counted = client.wait_for_calls();
    assert!(number(&client.told(&["-c", "-e"]), "Getattr") >= counted);
    let pid = client.child.id().to_string();
    assert!(number(&client.told(&["-E", &pid]), "Getattr") >= counted);
    let mounts = client.told(&["-m"]);
    let expected = format!(":/mem on bench (process {pid})\nvers=3,proto=tcp,nconnect=1,soft,rsize=");
    assert!(mounts.contains(&expected), "{mounts}");
    assert!(client.told(&["--operations"]).contains("\nv3 GETATTR "));
    let json: serde_json::Value = serde_json::from_str(&client.told(&["--json"])).unwrap();
    assert_eq!((&json[0]["pid"], &json[0]["on"]), (&client.child.id().into(), &"bench".into()));
    assert!(json[0]["statistics"]["procedures"][0]["total"]["buckets"][0]["count"].as_u64().unwrap() > 0);
    assert!(!client.ask(&["/no/such/mount"]).status.success());
    assert!(!client.ask(&["1"]).status.success());
}

#[test]
fn counts_begin_at_zero_when_that_is_wanted() {
    let (_server, url) = server();
    let client = Client::start(&url);
    client.wait_for_calls();
    let before = client.told(&["-E", "-z"]);
    assert!(number(&before, "FSinfo") >= 1, "a mount was made: {before}");
    let after = client.told(&["-E"]);
    assert_eq!(number(&after, "FSinfo"), 0, "no further one was made: {after}");
    client.wait_for_calls();
}

#[test]
fn interval_tells_what_happened_in_it() {
    let (_server, url) = server();
    let client = Client::start(&url);
    client.wait_for_calls();
    let lines = client.told(&["-w", "1", "--count", "1"]);
    assert!(lines.starts_with(" GtAttr Lookup Rdlink   Read  Write Rename Access  Rddir\n"), "{lines}");
    assert_eq!(lines.lines().count(), 2);
    let json: serde_json::Value = serde_json::from_str(&client.told(&["-w", "1", "--count", "1", "--json"])).unwrap();
    let procedures = json["procedures"].as_array().unwrap();
    assert!(procedures.iter().all(|procedure| procedure["name"] == "GETATTR"), "{json}");
}

/// The name of a process's socket (docs/nfsstat.md).
fn socket_name(pid: u32) -> String {
    let pid_namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    format!("nfsstat-{pid}-{pid_namespace}.sock")
}

#[test]
fn socket_of_a_client_that_was_killed_is_skipped_and_removed_by_the_next_one() {
    let (_server, url) = server();
    let mut client = Client::start(&url);
    let socket = client.session.path(&format!("wharf/{}", socket_name(client.child.id())));
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    assert!(socket.exists());
    let left = client.ask(&[]);
    assert!(!left.status.success() && String::from_utf8_lossy(&left.stderr).contains("no running Wharf mount found"));
    // One with the number of a process that runs, behind which is nobody.
    let number = std::process::id();
    let silent = client.session.path(&format!("wharf/{}", socket_name(number)));
    drop(UnixListener::bind(&silent).unwrap());
    assert!(!client.ask(&[]).status.success());
    let mut list = Command::new(env!("CARGO_BIN_EXE_wharf"));
    list.args(["ls", "--nfsstat", &url]).env("WHARF_RUNTIME_DIR", client.session.path("wharf")).output().unwrap();
    assert!(!socket.exists() && silent.exists());
}

#[test]
fn folder_that_others_can_enter_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (_server, url) = server();
    let mut client = Client::start(&url);
    let folder = client.session.path("wharf");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let pid = client.child.id().to_string();
    assert!(!client.ask(&[&pid]).status.success());
    client.child.kill().unwrap();
}

/// A mount whose daemon tells what it counts in a folder of its own.
pub(crate) struct Mounted {
    /// Goes first, before the directory does.
    _unmount: Unmount<PathBuf>,
    pub(crate) dir: PathBuf,
    session: Scratch,
}

impl Mounted {
    /// Mounts, or says why that cannot be done here.
    fn new(server: &Server) -> Option<Mounted> {
        Mounted::with(server, "vers=4.1")
    }

    /// Mounts with these options.
    pub(crate) fn with(server: &Server, options: &str) -> Option<Mounted> {
        if !can_mount() {
            return None;
        }
        let session = Scratch::new();
        let dir = session.dir("mnt");
        let mounted = Mounted { _unmount: Unmount(dir.clone()), dir, session };
        let mut mount = mounted.wharf("mount");
        mount.arg(server.url("/mem")).arg(&mounted.dir).arg("-o").arg(format!("{options},mountport={}", server.port()));
        said(&mount.output().unwrap());
        Some(mounted)
    }

    fn wharf(&self, command: &str) -> Command {
        let mut wharf = Command::new(env!("CARGO_BIN_EXE_wharf"));
        wharf.arg(command).env("WHARF_RUNTIME_DIR", self.session.path("wharf"));
        wharf
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> Output {
        self.wharf("nfsstat").args(arguments).output().unwrap()
    }

    /// The process behind it.
    fn pid(&self) -> Pid {
        let told: serde_json::Value = serde_json::from_slice(&self.ask(&["--json"]).stdout).unwrap();
        Pid::from_raw(i32::try_from(told[0]["pid"].as_u64().unwrap()).unwrap()).unwrap()
    }
}

#[test]
fn mount_tells_what_was_read_through_it_until_it_is_taken_away() {
    let (server, _) = server();
    let Some(mounted) = Mounted::new(&server) else { return };
    assert_eq!(fs::read(mounted.dir.join("file")).unwrap().len(), FILE_BYTES);
    let open = fs::File::open(mounted.dir.join("file")).unwrap();
    let tables = String::from_utf8(mounted.ask(&["-c", "-e", mounted.dir.to_str().unwrap()]).stdout).unwrap();
    assert!(number(&tables, "Read") >= 1 && number(&tables, "BioR Misses") >= 1, "{tables}");
    assert!(number(&tables, "Opens") + number(&tables, "LocalOpen") >= 1, "{tables}");
    drop(open);
    assert!(Command::new("umount").arg(&mounted.dir).status().unwrap().success());
    wait_until("nobody answers", || !mounted.ask(&[]).status.success());
    assert_eq!(fs::read_dir(mounted.session.path("wharf")).unwrap().count(), 0, "its socket is gone");
}

#[test]
fn mount_whose_process_was_killed_tells_nothing_any_more() {
    let (server, _) = server();
    let Some(mounted) = Mounted::new(&server) else { return };
    kill_process(mounted.pid(), Signal::KILL).unwrap();
    wait_until("nobody answers", || !mounted.ask(&[]).status.success());
    assert_eq!(fs::read_dir(mounted.session.path("wharf")).unwrap().count(), 1, "its socket is left");
}

/// A user who is nobody else, and that user's folder, which goes at the end.
struct User(u32);

impl User {
    fn folder(&self) -> PathBuf {
        format!("/tmp/wharf-{}", self.0).into()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // It is not there when its client could not be started.
        let _ = fs::remove_dir_all(self.folder());
    }
}

#[test]
fn root_is_shown_the_clients_of_other_users_and_believes_no_others_in_their_folders() {
    if !geteuid().is_root() {
        println!("skipped: only root is shown what others do");
        return;
    }
    let (_server, url) = server();
    let user = User(1_000_000_000 + std::process::id());
    let scratch = Scratch::new();
    let program = scratch.path("wharf");
    program::copy_program(&program);
    let mut bench = Command::new(&program);
    bench.args(["bench", "--nfsstat", "--rw", "getattr", "--runtime", "600s", "--size", "4K", &url]);
    bench.env_remove("WHARF_RUNTIME_DIR").env_remove("XDG_RUNTIME_DIR").uid(user.0).gid(user.0);
    let mut bench = bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = bench.id().to_string();
    let ask = |arguments: &[&str]| {
        let mut nfsstat = Command::new(env!("CARGO_BIN_EXE_wharf"));
        nfsstat.arg("nfsstat").args(arguments).env_remove("WHARF_RUNTIME_DIR").output().unwrap()
    };
    wait_until("the process answers", || ask(&["--json", &pid]).status.success());
    let told: serde_json::Value = serde_json::from_slice(&ask(&["--json", &pid]).stdout).unwrap();
    assert_eq!((&told[0]["user"], &told[0]["on"]), (&user.0.into(), &"bench".into()));
    // A socket of somebody else's process, with the number of a process that runs.
    let own = std::process::id();
    let _listener = UnixListener::bind(user.folder().join(socket_name(own))).unwrap();
    assert!(!ask(&[&own.to_string()]).status.success());
    bench.kill().unwrap();
    bench.wait().unwrap();
}
