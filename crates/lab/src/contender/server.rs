use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use client::{Parameters, Url, Version};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::counter::{self, Counter, CounterError};
use super::site::{Ports, Site};
use super::work::{Work, WorkError};
use super::{Contender, NOBODY, ganesha};
use crate::processors::{self, Processor};
use crate::sys;

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a server may take to end that is asked to.
const END_TIMEOUT: Duration = Duration::from_secs(60);
const RPCBIND_PORT: u16 = 111;
const NO_COUNTER: &str = "neither perf's counters nor valgrind";
const LOG_LEVEL: &str = "--log-level";
/// How much of its log is shown when it does not start.
const LOG_LINES: usize = 10;
/// Its log, below its state.
const LOG: &str = "log";

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its program cannot be started.
    #[error("server '{name}' cannot be started: {program}: {source}{}", advice(source))]
    Start {
        /// The server.
        name: String,
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// It has ended, or does not listen in time.
    #[error("server '{name}' does not listen on port {port}; its log ends:{log}")]
    NotListening {
        /// The server.
        name: String,
        /// Where it should listen.
        port: u16,
        /// The last lines of its log.
        log: String,
    },
    /// NFS-Ganesha ends when it cannot register with rpcbind.
    #[error(
        "server '{name}': NFS-Ganesha needs rpcbind on port 111 of this machine; start it as root with `rpcbind -i`"
    )]
    NoRpcbind {
        /// The server.
        name: String,
    },
    /// What it needs cannot be made.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; install it, or leave this server out",
        _ => "",
    }
}

/// Why the instructions of a server are not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CountError {
    /// It was not started to be counted.
    #[error("nobody counts the instructions of server '{name}'")]
    NotCounted { name: String },
    /// It does not end.
    #[error("server '{name}' does not end on SIGTERM within {} s", END_TIMEOUT.as_secs())]
    Endless { name: String },
    /// They cannot be counted.
    #[error(transparent)]
    Counter(#[from] CounterError),
}

/// A server that runs. One that was started here is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    name: String,
    process: Option<Child>,
    /// The directory that it serves.
    url: Url,
    /// Where it keeps its own things.
    state: PathBuf,
}

impl Server {
    /// Starts a server on its processors and waits until it listens; one that runs already is taken as it is.
    ///
    /// # Errors
    /// When it does not start; with the last lines of its log.
    pub fn start(site: &Site, name: &str, contender: &Contender) -> Result<Server, StartError> {
        let name = name.to_owned();
        if let Contender::Running(url) = contender {
            return Ok(Server { name, process: None, url: url.clone(), state: PathBuf::new() });
        }
        if *contender == Contender::Ganesha && TcpStream::connect((Ipv4Addr::LOCALHOST, RPCBIND_PORT)).is_err() {
            return Err(StartError::NoRpcbind { name });
        }
        let state = site.state.join(name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"));
        let failed = |source| StartError::File { path: state.clone(), source };
        fs::create_dir_all(&state).map_err(failed)?;
        let ports = free_ports(contender).map_err(failed)?;
        let own = Site { state: state.clone(), ..site.clone() };
        let mut command = command(&own, contender, ports).map_err(failed)?;
        let log_path = state.join(LOG);
        let log = File::create(&log_path).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
        // An interruption of the terminal is for the experiment, which ends its servers after the pass.
        command.process_group(0);
        sys::end_with_parent(&mut command);
        let processor = if site.loops == 1 { Processor::First } else { Processor::Any };
        let spawned = processors::on(processor, || command.spawn());
        let program = command.get_program().to_string_lossy().into_owned();
        let child = spawned.map_err(|source| StartError::Start { name: name.clone(), program, source })?;
        let mut server =
            Server { name, process: Some(child), url: local_url(&site.export, ports), state: state.clone() };
        server.wait_until_it_listens(ports.nfs, &log_path)?;
        Ok(server)
    }

    fn wait_until_it_listens(&mut self, port: u16, log: &Path) -> Result<(), StartError> {
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if self.is_gone() || began.elapsed() > START_TIMEOUT {
                return Err(StartError::NotListening { name: self.name.clone(), port, log: last_lines(log) });
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// What tables call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where a client finds something in the directory that it serves; an empty name is the directory.
    pub fn url(&self, name: &str) -> Url {
        let mut url = self.url.clone();
        if !name.is_empty() {
            url.path.push(b'/');
            url.path.extend_from_slice(name.as_bytes());
        }
        url
    }

    /// The same as text for other programs, with a version if it must be that one.
    pub(crate) fn url_text(&self, name: &str, version: Option<&str>) -> String {
        let Parameters { nfs_port, mount_port, .. } = self.url.parameters;
        let ports = [("nfsport", nfs_port), ("mountport", mount_port)];
        let ports = ports.into_iter().filter_map(|(key, port)| Some(format!("{key}={}", port?)));
        let all: Vec<String> = version.map(|version| format!("version={version}")).into_iter().chain(ports).collect();
        format!("{}{}{}", self.url(name), if all.is_empty() { "" } else { "?" }, all.join("&"))
    }

    /// Where it is, as a command finds it in its environment.
    pub(crate) fn variables(&self) -> [(&'static str, String); 4] {
        let Parameters { nfs_port, mount_port, .. } = self.url.parameters;
        let port = |port: Option<u16>| port.map_or(String::new(), |port| port.to_string());
        [
            ("HOST", self.url.host.clone()),
            ("PORT", port(nfs_port.or(self.url.port))),
            ("MOUNT_PORT", port(mount_port)),
            ("EXPORT", String::from_utf8_lossy(&self.url.path).into_owned()),
        ]
    }

    /// What mount(8) mounts, as HOST:/EXPORT, and these options with the ports; that of MOUNT only if it is of use.
    pub(crate) fn mount_source(&self, options: &str, needs_mount_port: bool) -> (String, String) {
        let Parameters { nfs_port, mount_port, .. } = self.url.parameters;
        let ports = [("port", nfs_port.or(self.url.port)), ("mountport", mount_port.filter(|_| needs_mount_port))];
        let ports = ports.into_iter().filter_map(|(key, port)| Some(format!("{key}={}", port?)));
        let given = Some(options.to_owned()).filter(|options| !options.is_empty());
        let host = if self.url.host.contains(':') { format!("[{}]", self.url.host) } else { self.url.host.clone() };
        let source = format!("{host}:{}", String::from_utf8_lossy(&self.url.path));
        (source, given.into_iter().chain(ports).collect::<Vec<String>>().join(","))
    }

    /// Has loads find it at another address that it listens on.
    pub(crate) fn move_to(&mut self, host: &str, port: u16) {
        host.clone_into(&mut self.url.host);
        (self.url.parameters.nfs_port, self.url.parameters.mount_port) = (Some(port), Some(port));
    }

    /// Its process, where it was started here.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// What it did so far, where it was started here and is Wharf at log level info.
    pub(crate) fn work(&self) -> Result<Option<Work>, WorkError> {
        self.pid().map(|pid| Work::of(pid, &self.state.join(LOG))).transpose()
    }

    /// Has the instructions of a [`Contender::CountedWharf`] counted from now on, or no longer.
    pub(crate) fn count(&self, is_on: bool) -> Result<(), CountError> {
        let counted = Counter::find().zip(self.pid());
        let (counter, pid) = counted.ok_or_else(|| CountError::NotCounted { name: self.name.clone() })?;
        Ok(counter.switch(pid, &self.state, is_on)?)
    }

    /// Ends such a server, and returns how many instructions were counted, outside of the kernel.
    pub(crate) fn instructions(mut self) -> Result<u64, CountError> {
        let pid = self.pid().ok_or_else(|| CountError::NotCounted { name: self.name.clone() })?;
        // perf is a process of its own in front of the server, and ends with it; valgrind is the server.
        let server = children(pid).first().copied().unwrap_or(pid);
        let began = Instant::now();
        // It may have ended by itself.
        let _ = i32::try_from(server).ok().and_then(Pid::from_raw).map(|pid| kill_process(pid, Signal::TERM));
        while !self.is_gone() {
            if began.elapsed() > END_TIMEOUT {
                return Err(CountError::Endless { name: self.name.clone() });
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(counter::counted(&self.state)?)
    }

    /// Whether it was started here and has ended.
    pub fn is_gone(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| !matches!(process.try_wait(), Ok(None)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It has nothing to finish: what it served is removed. A counter's server is in the same group.
            let _ = kill_process_group(Pid::from_child(process), Signal::KILL);
            let _ = process.wait();
        }
    }
}

fn command(site: &Site, contender: &Contender, ports: Ports) -> io::Result<Command> {
    let Ports { nfs, mount } = ports;
    Ok(match contender {
        Contender::Wharf(arguments) => {
            let mut command = Command::new(&site.program);
            add_wharf(&mut command, site, arguments, nfs);
            command
        }
        Contender::CountedWharf(arguments) => {
            let counter = Counter::find().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, NO_COUNTER))?;
            let mut command = counter.command(&site.program, &site.state)?;
            add_wharf(&mut command, site, arguments, nfs);
            command
        }
        Contender::UnprivilegedWharf => {
            chown(&site.state, Some(NOBODY), Some(NOBODY))?;
            let mut command = command(site, &Contender::Wharf(Vec::new()), ports)?;
            command.uid(NOBODY).gid(NOBODY);
            command
        }
        Contender::Ganesha => {
            let mut command = Command::new(ganesha::PROGRAM);
            command.args(ganesha::configure(site, ports)?);
            command
        }
        // One that runs is not started.
        Contender::Running(_) => Command::new("true"),
        Contender::Command(text) => {
            let mut command = Command::new("sh");
            // The shell becomes the server, so that the number of the process is the server's.
            command.args(["-c", &format!("exec {text}")]);
            command.env("EXPORT", &site.export).env("STATE", &site.state);
            command.env("LOOPS", site.loops.to_string());
            command.env("PORT", nfs.to_string()).env("MOUNT_PORT", mount.to_string()).env("WHARF", &site.program);
            command
        }
    })
}

/// Adds the arguments of `wharf serve`.
fn add_wharf(command: &mut Command, site: &Site, arguments: &[String], port: u16) {
    command.arg("serve").arg(&site.export).arg("--state-dir").arg(&site.state);
    command.args(["--listen", &format!("127.0.0.1:{port}"), "--loops", &site.loops.to_string()]);
    command.arg("--no-root-squash").args(arguments);
    if !arguments.iter().any(|argument| argument == LOG_LEVEL) {
        command.args([LOG_LEVEL, "error"]);
    }
}

/// Whether instructions can be counted here.
pub(crate) fn can_count() -> bool {
    Counter::find().is_some()
}

/// The processes that a process started: a counter's is the server.
fn children(pid: u32) -> Vec<u32> {
    let numbers = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Ports that nobody listens on now. Wharf has all programs on one, and so has a command that does not ask for another.
fn free_ports(contender: &Contender) -> io::Result<Ports> {
    let one = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let [nfs, other] = [one.local_addr()?.port(), other.local_addr()?.port()];
    let mount = match contender {
        Contender::Wharf(_) | Contender::CountedWharf(_) | Contender::UnprivilegedWharf => nfs,
        Contender::Command(text) if !text.contains("MOUNT_PORT") => nfs,
        _ => other,
    };
    Ok(Ports { nfs, mount })
}

fn local_url(export: &Path, ports: Ports) -> Url {
    let parameters = Parameters {
        version: Some(Version::V3),
        nfs_port: Some(ports.nfs),
        mount_port: Some(ports.mount),
        ..Parameters::default()
    };
    let path = export.as_os_str().as_bytes().to_vec();
    Url { host: Ipv4Addr::LOCALHOST.to_string(), port: None, path, parameters }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let first = text.lines().count().saturating_sub(LOG_LINES);
    match text.trim().is_empty() {
        true => " (it is empty)".to_owned(),
        false => text.lines().skip(first).flat_map(|line| ["\n", line]).collect(),
    }
}
