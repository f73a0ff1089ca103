//! `cargo xtask lab`: `wharf lab run` in a network, a process table and a few mounts of its own, with rpcbind.
//! NFS-Ganesha takes part there, and nothing of this machine is touched; when the command ends, so does everything in
//! it.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::install::{self, Program};
use crate::{Failure, Outcome, command};

/// The word that tells the command that it runs in its own network already.
const INSIDE: &str = "--inside";
const GANESHA: Program = Program { name: "ganesha.nfsd", packages: &["nfs-ganesha", "nfs-ganesha-vfs", "rpcbind"] };
const RPCBIND: &str = "rpcbind";
const RPCBIND_ADDRESS: &str = "127.0.0.1:111";
/// How long rpcbind may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs an experiment with these arguments of `wharf lab run`.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((first, rest)) if first == INSIDE => {
            set_up_network()?;
            let rpcbind = command::is_installed(RPCBIND).then(start_rpcbind).transpose()?;
            let mut lab = Command::new(command::wharf_program(root));
            lab.args(["lab", "run"]).args(rest).current_dir(root);
            let ran = command::run(lab);
            rpcbind.map_or(Ok(()), end)?;
            ran
        }
        _ => {
            install::ensure(&[GANESHA], "Wharf is compared with what there is");
            command::build_wharf(root)?;
            command::run(enter(arguments))
        }
    }
}

/// This command again, in namespaces of its own. What it starts dies with it.
fn enter(arguments: &[String]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]);
    command.arg(command::this_program()).args(["lab", INSIDE]).args(arguments);
    command
}

/// Brings the loopback up, and puts memory over the directories where servers and rpcbind note things.
fn set_up_network() -> Outcome {
    command::run(words("ip link set lo up"))?;
    // A resolver that asks whether there is IPv4 at all does not count 127.0.0.1 (AI_ADDRCONFIG), and Ganesha's asks.
    command::run(words("ip address add 198.51.100.1/32 dev lo"))?;
    command::run(words("mount -t tmpfs tmpfs /run"))?;
    for folder in ["/run/rpcbind", "/run/ganesha"] {
        fs::create_dir_all(folder).map_err(|source| Failure::File { path: folder.into(), source })?;
    }
    // Ganesha notes its clients here, which are none of this machine's.
    if Path::new("/var/lib/nfs").is_dir() {
        command::run(words("mount -t tmpfs tmpfs /var/lib/nfs"))?;
    }
    Ok(())
}

/// Starts the rpcbind of this network.
fn start_rpcbind() -> Outcome<Child> {
    let path = Path::new("/run/rpcbind.log");
    let log = File::create(path).map_err(|source| Failure::File { path: path.to_owned(), source })?;
    let mut rpcbind = Command::new(RPCBIND);
    rpcbind.args(["-f", "-i"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let process = rpcbind.spawn().map_err(|source| command::spawn_failure(&rpcbind, source))?;
    let began = Instant::now();
    while TcpStream::connect(RPCBIND_ADDRESS).is_err() {
        if began.elapsed() > START_TIMEOUT {
            end(process)?;
            let log = fs::read_to_string(path).unwrap_or_default();
            return Err(Failure::Server(format!("rpcbind does not listen on {RPCBIND_ADDRESS}; its log: {log}")));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(process)
}

fn end(mut process: Child) -> Outcome {
    let failed = |source| Failure::Spawn { program: RPCBIND.to_owned(), source };
    process.kill().map_err(failed)?;
    process.wait().map_err(failed)?;
    Ok(())
}

fn words(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}
