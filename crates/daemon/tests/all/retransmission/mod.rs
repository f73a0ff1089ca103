//! Clients that send calls with the same xids and bytes from one address, over real connections: processes of their
//! own, and one that reconnects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon::{Daemon, Options, export_to_this_machine};
use fs_mem::{MemFs, MemOptions};
use proto::Operation;
use proto::mount::{DirPath, Mnt3, Mnt3Reply};
use proto::nfs3::{
    DirOp, FileHandle, Lookup, LookupArgs, Mkdir, MkdirArgs, Read, ReadArgs, Res, Sattr, Setattr, SetattrArgs, Status,
};
use rpc::Procedure;
use server::Squash;
use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};
use xdr::Decode;

use crate::raw::{PATIENCE, Wire};

/// More than a socket holds whose owner does not read.
const LARGE: u64 = 1 << 20;

/// A server with one large file.
struct Site(Daemon);

impl Site {
    fn start() -> Site {
        let files = MemFs::new(MemOptions { root_mode: 0o777, ..MemOptions::default() });
        let place = Place { dir: files.root(), name: Name::new(b"large").unwrap() };
        let set = SetAttributes { size_bytes: Some(LARGE), mode: Some(0o666), ..SetAttributes::default() };
        files.create(&Context::ROOT, place, CreateMode::Guarded, &set).unwrap();
        let options = Options { listen: vec!["127.0.0.1:0".parse().unwrap()], loops: 2, ..Options::default() };
        let mut export = export_to_this_machine("/files", Arc::new(files));
        export.rules.iter_mut().for_each(|rule| rule.options.squash = Squash::None);
        Site(Daemon::start(options, vec![export]).unwrap())
    }

    /// A process that has mounted the export, with its first call.
    fn process(&self) -> Process {
        let mut wire = Wire::connect(self.0.addresses()[0]);
        wire.send(procedure::<Mnt3>(), &DirPath { path: b"/files" });
        let Mnt3Reply::Ok(mounted) = Mnt3Reply::decode(&mut wire.receive()).unwrap() else { panic!("not mounted") };
        Process { wire, root: mounted.handle }
    }

    /// Waits until somebody has made the directory.
    fn wait_for(&self, name: &str) {
        let (mut process, began) = (self.process(), Instant::now());
        while process.look_up(name).is_none() {
            assert!(began.elapsed() < PATIENCE, "nobody makes {name}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.0.shutdown(Duration::ZERO);
        self.0.wait();
    }
}

struct Process {
    wire: Wire,
    root: FileHandle,
}

impl Process {
    fn send_mkdir(&mut self, name: &str) {
        let place = DirOp { dir: self.root, name: name.as_bytes() };
        self.wire.send(procedure::<Mkdir>(), &MkdirArgs { place, attributes: Sattr::default() });
    }

    /// How the next call of MKDIR ends.
    fn mkdir(&mut self, name: &str) -> Result<(), Status> {
        self.send_mkdir(name);
        match <Mkdir as Operation>::Reply::decode(&mut self.wire.receive()).unwrap() {
            Res::Ok(_) => Ok(()),
            Res::Fail(status, _) => Err(status),
        }
    }

    fn look_up(&mut self, name: &str) -> Option<FileHandle> {
        let what = DirOp { dir: self.root, name: name.as_bytes() };
        self.wire.send(procedure::<Lookup>(), &LookupArgs { what });
        match <Lookup as Operation>::Reply::decode(&mut self.wire.receive()).unwrap() {
            Res::Ok(found) => Some(found.object),
            Res::Fail(..) => None,
        }
    }

    fn send_read(&mut self, file: FileHandle, count: u32) {
        self.wire.send(procedure::<Read>(), &ReadArgs { file, offset: 0, count });
    }
}

fn procedure<O: Operation>() -> Procedure {
    Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE }
}

#[test]
fn lock_directory_has_one_holder_among_processes_with_equal_calls() {
    let site = Site::start();
    for number in 0..20 {
        let name = format!("lock-{number}");
        let [mut first, mut second] = [site.process(), site.process()];
        assert_eq!(first.mkdir(&name), Ok(()));
        assert_eq!(second.mkdir(&name), Err(Status::Exist), "{name} while the first process lives");
        drop(first);
        assert_eq!(site.process().mkdir(&name), Err(Status::Exist), "{name} after the first process has ended");
    }
}

#[test]
fn lock_directory_has_one_holder_when_equal_calls_race() {
    let site = Site::start();
    for number in 0..20 {
        let name = format!("lock-{number}");
        let won = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| site.process().mkdir(&name).is_ok()));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{name}: {won:?}");
    }
}

/// The client closes its connection without having read the reply, which resets it.
#[test]
fn client_that_reconnects_gets_the_reply_that_it_lost() {
    let site = Site::start();
    for number in 0..20 {
        let name = format!("dir-{number}");
        let mut process = site.process();
        process.send_mkdir(&name);
        site.wait_for(&name);
        drop(process);
        assert_eq!(site.process().mkdir(&name), Ok(()), "{name}");
    }
}

/// The client has given its connection up, and the server does not hear of it: it sees only that nobody takes the
/// reply.
#[test]
fn client_that_reconnects_from_a_connection_that_looks_open_gets_the_reply() {
    let site = Site::start();
    let large = site.process().look_up("large").unwrap();
    let mut stuck = site.process();
    stuck.send_read(large, LARGE as u32);
    stuck.send_mkdir("dir");
    site.wait_for("dir");
    let mut again = site.process();
    // Its calls have the same numbers.
    again.send_read(large, 0);
    again.wire.receive();
    assert_eq!(again.mkdir("dir"), Ok(()));
    // From now on the call is the new connection's.
    let mut other = site.process();
    other.send_read(large, 0);
    other.wire.receive();
    assert_eq!(other.mkdir("dir"), Err(Status::Exist));
    drop(stuck);
}

/// A client that still sends is there, however much it has to read.
#[test]
fn process_that_is_slow_to_read_and_sends_is_no_client_that_has_gone() {
    let began = Instant::now();
    while !slow_process_keeps_its_directory() {
        assert!(began.elapsed() < PATIENCE, "this machine is too busy for a client that sends all the time");
    }
}

/// Whether it does; false where the slow process did not get to send for a second, after which it counts as gone.
fn slow_process_keeps_its_directory() -> bool {
    let site = Site::start();
    let large = site.process().look_up("large").unwrap();
    let mut slow = site.process();
    slow.send_read(large, LARGE as u32);
    slow.send_mkdir("dir");
    site.wait_for("dir");
    let root = slow.root;
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let slow = &mut slow;
        let sending = scope.spawn(move || {
            let args = SetattrArgs { object: root, attributes: Sattr::default(), guard: None };
            let (mut longest, mut last) = (Duration::ZERO, Instant::now());
            while stopped.recv_timeout(Duration::from_millis(5)).is_err() {
                slow.wire.send(procedure::<Setattr>(), &args);
                longest = longest.max(std::mem::replace(&mut last, Instant::now()).elapsed());
            }
            longest.max(last.elapsed())
        });
        let mut other = site.process();
        other.send_read(large, 0);
        other.wire.receive();
        let made = other.mkdir("dir");
        stop.send(()).unwrap();
        let was_silent = sending.join().unwrap() >= Duration::from_secs(1);
        assert!(was_silent || made == Err(Status::Exist), "{made:?}");
        !was_silent
    })
}
