//! Runs an attack on a real server beside a witness, who must notice nothing.

use std::fs::Permissions;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use testing::Scratch;
use testing::program::wire::{GETATTR, call, opaque, record, reply};
use testing::program::{Server, serve_within, wharf_ok};

/// How long a call of the witness may take at the most, on a machine that is busy with other tests. What attacks did to
/// others before there were bounds took half a minute and more.
const MOST_WAITING: Duration = Duration::from_secs(20);

/// How many calls of the witness must be answered when everything runs that the attackers have begun.
const FEWEST_CALLS: u32 = 20;

/// How often an attack is made: what one leaves behind takes from the memory that the next one may have.
const TIMES: u32 = 3;

/// Attacks are made one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What is done to a server.
pub struct Attack {
    /// What the server is started with besides its export, which is memory with a file of 4 MiB.
    pub options: &'static [&'static str],
    /// How much memory for data the server may have, in MiB (`ulimit -d`), whether it is resident or not. A server that
    /// needs more ends.
    pub data_mib: u64,
    /// The limit of the server's file descriptors, if there is one (`ulimit -n`).
    pub descriptors: Option<u64>,
    /// The limit of the server's address space, if there is one, in MiB (`ulimit -v`).
    pub address_space_mib: Option<u64>,
    /// Attacks; the connections that it returns stay open while the server is measured.
    pub run: fn(&Target<'_>) -> Vec<TcpStream>,
}

impl Attack {
    /// With the bounds that most attacks must keep within, for a server that may take 64 MiB for its clients.
    pub const fn new(run: fn(&Target<'_>) -> Vec<TcpStream>) -> Attack {
        Attack { options: &["--memory", "64M"], data_mib: 160, descriptors: None, address_space_mib: None, run }
    }
}

/// What an attack is aimed at.
pub struct Target<'s> {
    pub server: &'s Server,
    /// The handle of the file.
    pub file: &'s [u8],
    /// The path of another export, a directory on disk that everybody may change.
    pub directory: &'s str,
}

impl Target<'_> {
    /// A connection from `127.0.0.{last}`; the witness is 127.0.0.1. It never waits for the server.
    pub fn connect(&self, last: u8) -> Option<TcpStream> {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        connect(&socket, &self.server.address()).ok()?;
        let stream = TcpStream::from(socket);
        stream.set_nonblocking(true).unwrap();
        Some(stream)
    }

    /// So many connections, over each of which `bytes` are sent as far as the server takes them.
    pub fn send_over(&self, count: usize, last: u8, bytes: &[u8]) -> Vec<TcpStream> {
        let mut streams: Vec<TcpStream> = (0..count).filter_map(|_| self.connect(last)).collect();
        let mut sent = vec![0; streams.len()];
        // What is not taken in several rounds is not taken at all.
        for _ in 0..5 {
            for (stream, sent) in streams.iter_mut().zip(&mut sent) {
                while let Ok(count @ 1..) = stream.write(&bytes[*sent..]) {
                    *sent += count;
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
        streams
    }
}

/// Somebody who uses the server all the time.
struct Witness {
    stream: TcpStream,
    handle: Vec<u8>,
}

impl Witness {
    fn new(server: &Server, handle: &[u8]) -> Witness {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(MOST_WAITING)).unwrap();
        Witness { stream, handle: handle.to_vec() }
    }

    fn call(&mut self, xid: u32) {
        self.stream.write_all(&record(&call(xid, GETATTR, &opaque(&self.handle)))).unwrap();
        let (answered, results) = reply(&mut self.stream).expect("the witness is answered");
        assert_eq!((answered, results.len()), (xid, 20 + 4 + 84), "GETATTR succeeds (RFC 1813 §3.3.1)");
    }

    /// Calls until `is_over`, and counts in `calls`.
    fn watch(&mut self, calls: &AtomicU32, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            self.call(calls.load(Ordering::Relaxed));
            calls.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Starts a server with a file of 4 MiB in it; gives the file's handle too.
fn start(attack: &Attack, directory: &Path) -> (Server, Vec<u8>) {
    let mut limits = format!("-d {}", attack.data_mib << 10);
    if let Some(mib) = attack.address_space_mib {
        limits += &format!(" && ulimit -v {}", mib << 10);
    }
    if let Some(descriptors) = attack.descriptors {
        limits += &format!(" && ulimit -n {descriptors}");
    }
    let mut command = serve_within(&limits);
    // Each event loop has a stack of its own.
    command.args(["--listen", "127.0.0.1:0", "--loops", "2", "mem:64M"]).arg(directory).args(attack.options);
    let server = Server::spawn(1, command);
    let scratch = Scratch::new();
    let file = scratch.path("file");
    std::fs::write(&file, vec![7; 4 << 20]).unwrap();
    wharf_ok(&["cp", file.to_str().unwrap(), &server.url("/mem/file")]);
    let handle = server.handle_of("/mem/file");
    (server, handle)
}

/// Sets a flag when it is dropped, also by a panic.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Attacks while a witness watches; gives what the attackers hold.
fn attack_beside(witness: &mut Witness, attack: &Attack, target: &Target<'_>) -> Vec<TcpStream> {
    let (calls, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let watching = scope.spawn(|| witness.watch(&calls, &is_over));
        let end = SetAtEnd(&is_over);
        let held = (attack.run)(target);
        let enough = calls.load(Ordering::Relaxed) + FEWEST_CALLS;
        while calls.load(Ordering::Relaxed) < enough && !watching.is_finished() {
            thread::sleep(Duration::from_millis(5));
        }
        drop(end);
        watching.join().expect("the witness notices nothing");
        held
    })
}

/// Makes an attack on a server within its bounds, which must survive and come to rest.
pub fn run(attack: &Attack) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    raise_descriptor_limit();
    let scratch = Scratch::new();
    let directory = scratch.dir("directory");
    std::fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
    let (server, file) = start(attack, &directory);
    let directory = directory.to_str().unwrap();
    for _ in 0..TIMES {
        let mut witness = Witness::new(&server, &file);
        let held = attack_beside(&mut witness, attack, &Target { server: &server, file: &file, directory });
        // The server comes to rest while the attackers hold what they have.
        server.wait_for_rest();
        witness.call(0);
        reset(held);
        server.wait_for_rest();
        Witness::new(&server, &file).call(0);
    }
}

/// Ends connections at once, with what is still unsent: the kernel would go on sending it for a while.
fn reset(streams: Vec<TcpStream>) {
    for stream in streams {
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    }
}

/// The attackers' connections are this process's too.
fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}
