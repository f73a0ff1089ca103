//! The real server where it may have few files open.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, prlimit};

use client::{Mount, OpenOptions, Options, Version};
use vfs::{CreateMode, SetAttributes};

use testing::program::wire::{CREATE, READ, call, create_arguments, read_arguments, record, reply, status};
use testing::program::{Server, serve_within};
use testing::{PATIENCE, Scratch, wait_until};

const CONNECTIONS: usize = 8;
/// What each connection asks for at once.
const CALLS: usize = 60;
/// How many files each client of NFSv4 has open.
const OPENS: usize = 150;

/// Sends calls all at once, and gives the replies by the number of the call.
fn ask(stream: &mut TcpStream, procedure: u32, arguments: &[Vec<u8>]) -> BTreeMap<usize, Vec<u8>> {
    let calls = arguments.iter().zip(0..).flat_map(|(arguments, xid)| record(&call(xid, procedure, arguments)));
    stream.write_all(&calls.collect::<Vec<u8>>()).unwrap();
    arguments.iter().map(|_| reply(stream).unwrap()).map(|(xid, reply)| (xid as usize, reply)).collect()
}

/// Makes files over each connection and reads them again; gives each status that is not OK.
fn work(address: SocketAddr, root: &[u8], round: usize) -> Vec<u32> {
    let one = move |connection: usize| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let creates: Vec<_> =
            (0..CALLS).map(|number| create_arguments(root, &format!("{round}-{connection}-{number}"))).collect();
        let made = ask(&mut stream, CREATE, &creates);
        // Behind the status: that a handle follows, its length, and its bytes.
        let handle = |reply: &Vec<u8>| {
            let (length, bytes) = status(reply).1[4..].split_first_chunk().unwrap();
            bytes[..u32::from_be_bytes(*length) as usize].to_vec()
        };
        let reads = made.values().filter(|reply| status(reply).0 == 0).map(|reply| read_arguments(&handle(reply), 1));
        let read = ask(&mut stream, READ, &reads.collect::<Vec<_>>());
        made.values()
            .chain(read.values())
            .map(|reply| status(reply).0)
            .filter(|&status| status != 0)
            .collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|connection| scope.spawn(move || one(connection))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn server_with_few_descriptors_starts_as_many_loops_as_they_allow() {
    let state = Scratch::new();
    let limited = || {
        let mut command = serve_within("-n 16");
        command.args(["--listen", "127.0.0.1:0", "mem:1M", "--state-dir"]).arg(state.path("state"));
        command
    };
    drop(Server::spawn(1, limited()));
    let refused = limited().args(["--loops", "2"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("raise the limit with `ulimit -n`"), "{said}");
}

#[test]
fn server_that_can_start_no_thread_ends_when_it_is_told() {
    let mut server = Server::start(1, &["mem:1M"]);
    let statm = format!("/proc/{}/statm", server.pid().as_raw_nonzero());
    let used = || -> u64 { fs::read_to_string(&statm).unwrap().split(' ').next().unwrap().parse().unwrap() };
    // A thread that has just started maps more than it keeps, for its heap.
    let mut pages = used();
    wait_until("its threads have started", || {
        thread::sleep(Duration::from_millis(500));
        std::mem::replace(&mut pages, used()) == pages
    });
    // No stack can be mapped any more.
    let limit = Rlimit { current: Some((pages * 4096) + (1 << 20)), maximum: None };
    prlimit(Some(server.pid()), Resource::As, limit).unwrap();
    server.signal(Signal::TERM);
    server.wait_for_log("cannot start a thread that waits for accepted requests");
    server.wait();
}

#[test]
fn server_that_may_have_256_files_open_fails_no_create_and_no_open() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::set_permissions(&export, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = serve_within("-n 256");
    command.args(["--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--no-root-squash"]).arg(&export);
    let server = Server::spawn(2, command);
    server.wait_for_log("256 file descriptors: 64 connections, 32 to 80 cached open files");

    let url = server.url(&export).parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _open: Vec<_> = [Version::V4_0, Version::V4_2]
        .map(|version| {
            let options = Options { version, ..Options::default() };
            runtime.block_on(async {
                let mount = Mount::connect(&url, &options).await.unwrap();
                let mut files = Vec::new();
                for number in 0..OPENS {
                    let create = Some((CreateMode::Guarded, SetAttributes::default()));
                    let options = OpenOptions { create, ..OpenOptions::both() };
                    let name = format!("{version}-{number}");
                    files.push(mount.open(&mount.root().handle, name.as_bytes(), &options).await.unwrap());
                    files.last().unwrap().read(0, 1).await.unwrap();
                }
                (mount, files)
            })
        })
        .into();
    let root = server.handle_of(&export);
    for round in 0..3 {
        assert_eq!(work(server.address(), &root, round), [0; 0], "round {round}: {}", server.log());
    }
}
