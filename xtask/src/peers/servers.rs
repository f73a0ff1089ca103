//! The servers that are compared.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::names::{GANESHA, WHARF, WHARF_AGAIN, WHARF_UNCACHED, ceiling_name};
use super::options::Peer;
use super::site::{READ_FILE, Site};
use crate::ceiling::Way;
use crate::{Failure, Outcome, command};

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of its log is shown when it does not.
const LOG_LINES: usize = 10;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A server that runs; it is killed when this is dropped.
pub struct Server {
    pub name: String,
    pub port: u16,
    pub mount_port: u16,
    process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// The program of this checkout with one event loop, and otherwise with its defaults but for the superuser, who is let
    /// through here and there.
    pub fn wharf(root: &Path, site: &Site) -> Outcome<Server> {
        Server::wharf_with(root, site, (WHARF, 20_490), &[])
    }

    /// The same once more, in a process of its own.
    pub fn wharf_again(root: &Path, site: &Site) -> Outcome<Server> {
        Server::wharf_with(root, site, (WHARF_AGAIN, 20_492), &[])
    }

    /// The same without the cache of open files.
    pub fn wharf_uncached(root: &Path, site: &Site) -> Outcome<Server> {
        Server::wharf_with(root, site, (WHARF_UNCACHED, 20_491), &["--open-files", "0"])
    }

    fn wharf_with(root: &Path, site: &Site, (name, port): (&'static str, u16), flags: &[&str]) -> Outcome<Server> {
        let mut server = site.server_command(&command::wharf_program(root));
        server.arg("serve").arg(&site.export).args(["--listen", &format!("127.0.0.1:{port}"), "--no-root-squash"]);
        server.args(["--loops", "1"]).args(flags);
        server.arg("--state-dir").arg(site.state.join(format!("wharf-{port}")));
        Server::start(name, server, Ports { nfs: port, mount: port, log: site.state.join(format!("wharf-{port}.log")) })
    }

    /// NFS-Ganesha with the VFS backend, and the rpcbind that it wants.
    pub fn ganesha(site: &Site) -> Outcome<Server> {
        const PORT: u16 = 2049;
        const MOUNT_PORT: u16 = 20_048;
        // The namespace ends it; nothing here has to wait for it.
        std::mem::forget(Server::rpcbind(&site.state)?);
        let config = site.state.join("ganesha.conf");
        let text = ganesha_config(&site.export, PORT, MOUNT_PORT);
        fs::write(&config, text).map_err(|source| Failure::File { path: config.clone(), source })?;
        let mut server = site.server_command(Path::new("ganesha.nfsd"));
        server.args(["-F", "-L", "/dev/stderr", "-N", "NIV_WARN", "-p", "/run/ganesha/pid", "-f"]).arg(&config);
        Server::start(GANESHA, server, Ports { nfs: PORT, mount: MOUNT_PORT, log: site.state.join("ganesha.log") })
    }

    /// The rpcbind of this network, which logs in a folder.
    pub fn rpcbind(folder: &Path) -> Outcome<Server> {
        let mut rpcbind = Command::new("rpcbind");
        rpcbind.args(["-f", "-i"]);
        Server::start("rpcbind", rpcbind, Ports { nfs: 111, mount: 111, log: folder.join("rpcbind.log") })
    }

    /// A server that the command line told of.
    pub fn peer(site: &Site, peer: &Peer) -> Outcome<Server> {
        let mut server = site.server_command(Path::new("sh"));
        // The shell becomes the server, so that the number of the process is the server's.
        server.args(["-c", &format!("exec {}", peer.command)]);
        let state = site.state.join(format!("peer-{}", peer.port));
        fs::create_dir_all(&state).map_err(|source| Failure::File { path: state.clone(), source })?;
        server.env("EXPORT", &site.export).env("STATE", &state);
        Server::start(&peer.name, server, Ports { nfs: peer.port, mount: peer.mount_port, log: state.join("log") })
    }

    /// A responder that answers with blocks of this size.
    pub fn ceiling(site: &Site, way: Way, block_bytes: u32) -> Outcome<Server> {
        const PORT: u16 = 20_600;
        let mut server = site.server_command(&command::this_program());
        server.args(["ceiling", "respond", way.name(), &PORT.to_string()]).arg(site.export.join(READ_FILE));
        server.arg(block_bytes.to_string());
        let name = ceiling_name(way);
        Server::start(name, server, Ports { nfs: PORT, mount: PORT + 1, log: site.state.join("ceiling.log") })
    }

    fn start(name: &str, mut command: Command, ports: Ports) -> Outcome<Server> {
        let failed = |source| Failure::File { path: ports.log.clone(), source };
        let log = File::create(&ports.log).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
        let process = command.spawn().map_err(|source| command::spawn_failure(&command, source))?;
        let mut server = Server { name: name.to_owned(), port: ports.nfs, mount_port: ports.mount, process };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", ports.nfs)).is_err() {
            if server.is_gone() || began.elapsed() > START_TIMEOUT {
                let log = fs::read_to_string(&ports.log).unwrap_or_default();
                let first = log.lines().count().saturating_sub(LOG_LINES);
                let end: String = log.lines().skip(first).flat_map(|line| ["\n", line]).collect();
                return Err(Failure::Peer(format!("{name} does not listen on port {}; its log ends:{end}", ports.nfs)));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(server)
    }

    /// Whether it has ended.
    pub fn is_gone(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// The server's process. `taskset` becomes the program that it runs, so the number is the same.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

/// Where a server listens, and where it logs.
struct Ports {
    nfs: u16,
    mount: u16,
    log: PathBuf,
}

fn ganesha_config(export: &Path, port: u16, mount_port: u16) -> String {
    let export = export.display();
    format!(
        "NFS_CORE_PARAM {{ Bind_addr = 127.0.0.1; NFS_Port = {port}; MNT_Port = {mount_port}; Protocols = 3, 4;
            Enable_NLM = false; Enable_RQUOTA = false; }}
         NFSV4 {{ Graceless = true; RecoveryBackend = fs; }}
         EXPORT {{ Export_Id = 1; Path = {export}; Pseudo = {export}; Protocols = 3, 4; Transports = TCP, UDP;
            Access_Type = RW; Squash = No_Root_Squash; SecType = sys; FSAL {{ Name = VFS; }} }}
        "
    )
}
