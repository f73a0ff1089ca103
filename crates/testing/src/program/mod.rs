//! The real program.

pub mod deaf;
pub mod mounting;
pub mod namespace;
pub mod wire;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{PATIENCE, Scratch, wait_until};

/// The program, which cargo builds before it runs tests of the crate `wharf`.
pub fn executable() -> std::ffi::OsString {
    std::env::var_os("CARGO_BIN_EXE_wharf").expect("cargo runs this test, and tells where the program is")
}

/// Runs the program with these arguments to its end.
pub fn wharf<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Output {
    Command::new(executable()).args(arguments).output().unwrap()
}

/// Runs the program, which has to succeed, and gives what it printed.
pub fn wharf_ok<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> String {
    let output = wharf(arguments);
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {}", arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>(), said());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the program, which has to fail with `code`, and gives what it said. One that goes on, such as a server that
/// starts, is killed.
pub fn wharf_fails<A: AsRef<std::ffi::OsStr>>(code: i32, arguments: &[A]) -> String {
    let mut command = Command::new(executable());
    command.args(arguments);
    fails(code, command)
}

/// The same of a prepared command.
pub fn fails(code: i32, mut command: Command) -> String {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, (ended, ends)) = (Pid::from_child(&child), channel::<()>());
    let watch = thread::spawn(move || {
        if ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            kill_process(pid, Signal::KILL).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    watch.join().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// The commands of the program that a message names.
pub fn commands_in(said: &str) -> Vec<String> {
    said.split('`').skip(1).step_by(2).filter(|text| text.starts_with("wharf ")).map(str::to_owned).collect()
}

/// A command line for a shell, in another directory than that of the test.
pub fn shell(line: &str) -> Command {
    let program = PathBuf::from(executable());
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("PATH", path).current_dir("/");
    command
}

/// Runs a command line as a user does who pastes it into a shell. It has to succeed, and this gives what it said.
pub fn paste(command: &str) -> String {
    let output = shell(command).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command}: {said}");
    said
}

/// Starts a command, interrupts it when `is_under_way`, and gives what it said before it ended by the signal.
pub fn interrupt(arguments: &[&str], is_under_way: impl Fn() -> bool) -> String {
    let mut command = Command::new(executable());
    let child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !is_under_way() {
        assert!(began.elapsed() < PATIENCE, "{arguments:?} does not begin");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the program on a terminal while `meanwhile` has its number and can see what is shown so far. Gives how it ended
/// and all that was shown.
pub fn terminal(arguments: &[&str], meanwhile: impl FnOnce(Pid, &dyn Fn() -> String)) -> (ExitStatus, String) {
    let mut command = Command::new(executable());
    command.args(arguments).env("TERM", "xterm");
    on_terminal(command, meanwhile)
}

/// The same of a prepared command.
pub fn on_terminal(mut command: Command, meanwhile: impl FnOnce(Pid, &dyn Fn() -> String)) -> (ExitStatus, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let user = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    command.stdin(user.try_clone().unwrap()).stdout(user.try_clone().unwrap());
    let mut child = command.stderr(user).spawn().unwrap();
    drop(command);
    let shown = Arc::new(Mutex::new(String::new()));
    let (mut screen, kept) = (fs::File::from(controller), Arc::clone(&shown));
    let reader = thread::spawn(move || {
        let mut piece = [0; 4096];
        // A terminal that nobody has open any more fails.
        while let Ok(count @ 1..) = screen.read(&mut piece) {
            *kept.lock().unwrap() += &String::from_utf8_lossy(&piece[..count]);
        }
    });
    meanwhile(Pid::from_child(&child), &|| shown.lock().unwrap().clone());
    let status = child.wait().unwrap();
    reader.join().unwrap();
    let shown = shown.lock().unwrap().clone();
    (status, shown)
}

/// `wharf serve` within these limits of `ulimit`, such as `-d 65536`.
pub fn serve_within(limits: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limits} && exec \"$@\""), "sh"]).arg(executable()).arg("serve");
    command
}

/// A running `wharf serve`.
pub struct Server {
    child: Child,
    lines: Receiver<String>,
    log: Arc<Mutex<String>>,
    pub ways: Vec<String>,
    // Last, so that it is removed when the server is gone.
    _state: Scratch,
}

impl Server {
    /// Starts one on free ports of 127.0.0.1 and ::1, and waits until it serves `exports` exports.
    pub fn start(exports: usize, arguments: &[&str]) -> Server {
        let addresses = ["--listen", "127.0.0.1:0", "--listen", "[::1]:0"];
        Server::with_addresses(exports * 2, &[&addresses, arguments].concat())
    }

    /// Starts one, and waits until it has printed so many ways to mount.
    pub fn with_addresses(ways: usize, arguments: &[&str]) -> Server {
        let mut command = Command::new(executable());
        command.arg("serve").args(arguments);
        Server::spawn(ways, command)
    }

    /// Starts a prepared command, and waits until it has printed so many ways to mount.
    pub fn spawn(ways: usize, mut command: Command) -> Server {
        let state = Scratch::new();
        if !command.get_args().any(|argument| argument == "--state-dir") {
            command.arg("--state-dir").arg(state.path("state"));
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let log = Arc::new(Mutex::new(String::new()));
        let (stderr, kept) = (child.stderr.take().unwrap(), Arc::clone(&log));
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &(line + "\n");
            }
        });
        let mut server = Server { child, lines, log, ways: Vec::new(), _state: state };
        for _ in 0..ways {
            match server.lines.recv_timeout(PATIENCE) {
                Ok(line) => server.ways.push(line),
                Err(error) => panic!("the server does not start ({error}): {}", server.log()),
            }
        }
        server
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until `text` is in the log.
    pub fn wait_for_log(&self, text: &str) {
        let began = Instant::now();
        while !self.log().contains(text) {
            assert!(began.elapsed() < PATIENCE, "{text:?} does not come: {}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The port of 127.0.0.1.
    pub fn port(&self) -> u16 {
        port_of(&self.ways[0])
    }

    /// The address that it serves on, over IPv4.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port()))
    }

    /// The URL of a path on it, over IPv4.
    pub fn url(&self, path: impl AsRef<Path>) -> String {
        format!("nfs://127.0.0.1:{}{}", self.port(), path.as_ref().display())
    }

    /// The URL of a path on it, over IPv6.
    pub fn url6(&self, path: impl AsRef<Path>) -> String {
        format!("nfs://[::1]:{}{}", port_of(&self.ways[1]), path.as_ref().display())
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until it has answered so many calls more.
    pub fn wait_for_calls(&self, more: usize) {
        let calls = || {
            let seen = self.log().matches("counters so far").count();
            self.signal(Signal::USR1);
            wait_until("the counters are logged", || self.log().matches("counters so far").count() > seen);
            let log = self.log();
            let (_, counters) = log.rsplit_once("counters so far").unwrap();
            let (_, calls) = counters.split_once(" calls=").unwrap();
            calls.split(' ').next().unwrap().parse::<usize>().unwrap()
        };
        let before = calls();
        wait_until("the calls are answered", || calls() >= before + more);
    }

    /// Waits until it has nothing to do: all its threads sleep at so many looks in a row. One that is woken now and
    /// then sleeps at most looks, and one that spins at none.
    pub fn wait_for_rest(&self) {
        let mut looks = 0;
        wait_until("all threads sleep", || {
            looks = if self.sleeps() { looks + 1 } else { 0 };
            looks == 5
        });
    }

    /// Whether all its threads sleep (proc(5)).
    fn sleeps(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        // A thread may end meanwhile.
        let mut stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('S')))
    }

    /// The handle of a file on it.
    pub fn handle_of(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let json = wharf_ok(&["stat", "--json", &self.url(path)]);
        let (_, rest) = json.split_once("\"handle\": \"").unwrap();
        wire::unhex(rest.split('"').next().unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end, and gives its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end: {}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What is printed after the ways to mount, until nothing comes any more.
    pub fn further_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return lines,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; nothing of it is needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn port_of(way: &str) -> u16 {
    let (_, rest) = way.split_once("port=").unwrap_or_else(|| panic!("no port in {way:?}"));
    rest.split(',').next().unwrap().parse().unwrap()
}

/// Makes a tree with files of many sizes, links, an empty directory and names that are hard to copy.
pub fn make_tree(top: &Path) {
    fs::create_dir(top).unwrap();
    for (depth, name) in ["a", "a/b", "a/b/c", "empty", "with space"].iter().enumerate() {
        fs::create_dir(top.join(name)).unwrap();
        for size in [0, 1, 4095, 4096, 70_000] {
            if *name != "empty" {
                let bytes: Vec<u8> = (0..size).map(|index: usize| (index * 7 + depth) as u8).collect();
                fs::write(top.join(name).join(format!("file-{size}")), bytes).unwrap();
            }
        }
    }
    fs::write(top.join("a/large"), vec![0x5a; 3_000_001]).unwrap();
    fs::write(top.join("n".repeat(255)), "long name").unwrap();
    fs::hard_link(top.join("a/large"), top.join("a/same file")).unwrap();
    symlink("../a/large", top.join("with space/link")).unwrap();
}

/// What is kept of a file besides its bytes.
pub fn kept(path: &Path) -> (u32, u64, (i64, i64), (u32, u32)) {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::symlink_metadata(path).unwrap();
    (metadata.mode(), metadata.nlink(), (metadata.mtime(), metadata.mtime_nsec()), (metadata.uid(), metadata.gid()))
}

/// Copies the program to where every user may run it. Another process does so: a program that this one has open for
/// writing when a test forks cannot be run ("Text file busy").
pub fn copy_program(to: &Path) {
    assert!(Command::new("cp").arg(executable()).arg(to).status().unwrap().success());
}

/// Every path below `top` with its kind, mode, content or target.
pub fn snapshot(top: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    let mut found = Vec::new();
    let mut pending = vec![top.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = match metadata.file_type() {
            kind if kind.is_dir() => {
                pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            }
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            _ => fs::read(&path).unwrap(),
        };
        found.push((path.strip_prefix(top).unwrap().to_owned(), metadata.mode(), content));
    }
    found.sort();
    found
}
