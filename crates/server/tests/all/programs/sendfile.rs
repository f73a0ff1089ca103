//! READs that are answered from the file itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use buffer::Output;
use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs3::{FileHandle, Read, ReadArgs, ReadHead, Status};
use rpc::{CallResult, Reply};
use server::{Request, Server, Settings};
use xdr::Decode;

use testing::caller::{Caller, EXPORT, WORKERS, export, settings};

const SIZE: usize = 100_001;

/// A directory of tmpfs with one file, or `None` where there is no tmpfs.
pub struct Memory(pub PathBuf);

impl Memory {
    pub fn new(name: &str) -> Option<Memory> {
        let shm = Path::new("/dev/shm");
        let is_tmpfs = std::fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ");
        if !is_tmpfs || std::fs::metadata(shm).is_ok_and(|found| found.permissions().readonly()) {
            println!("skipped: /dev/shm is no tmpfs here");
            return None;
        }
        let base = shm.join(format!("wharf-sendfile-{}-{name}", std::process::id()));
        std::fs::create_dir_all(base.join("export")).unwrap();
        std::fs::write(base.join("export/file"), vec![7; SIZE]).unwrap();
        Some(Memory(base))
    }

    pub fn serve(&self, sendfile_bytes: Option<u32>) -> Server {
        let options = HostOptions {
            handle_form: HandleForm::Store,
            state_dir: Some(self.0.join("state")),
            workers: WORKERS,
            ..HostOptions::default()
        };
        let files = HostFs::open(&self.0.join("export"), options).unwrap();
        Server::new(Settings { sendfile_bytes, ..settings() }, vec![export(EXPORT, Arc::new(files))]).unwrap()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn caller(server: &Server) -> (Caller<'_>, FileHandle) {
    let caller = Caller::root(server).myself();
    (caller, caller.handle_of(&caller.mount(), "file"))
}

pub fn read(caller: &Caller<'_>, file: FileHandle, offset: u64, count: u32) -> Output {
    let mut output = Output::new();
    read_into(&mut output, caller, file, (offset, count));
    output
}

fn read_into(output: &mut Output, caller: &Caller<'_>, file: FileHandle, (offset, count): (u64, u32)) {
    let message = caller.message::<Read>(&ReadArgs { file, offset, count });
    let request = Request {
        message: &message,
        peer: caller.peer,
        worker: 0,
        may_block: caller.may_block,
        now: caller.now,
        batch: caller.batch,
        is_scarce: caller.is_scarce,
    };
    caller.server.answer(&request, output);
}

/// The count and the end that a reply tells, and how many bytes stand behind the data's length in the reply itself.
fn told(output: &Output) -> (u32, bool, usize) {
    let CallResult::Success(mut from) = Reply::parse(output.bytes.as_slice()).unwrap().outcome else {
        panic!("rejected")
    };
    assert_eq!(Status::decode(&mut from).unwrap(), Status::Ok);
    let head = ReadHead::decode(&mut from).unwrap();
    assert_eq!(from.u32().unwrap(), head.count, "the data's length");
    (head.count, head.eof, from.rest().len())
}

#[test]
fn long_read_leaves_its_bytes_in_the_file_and_a_short_one_does_not() {
    let Some(memory) = Memory::new("long") else { return };
    let server = memory.serve(Some(4096));
    let (caller, file) = caller(&server);
    let long = read(&caller, file, 1000, 50_001);
    let [piece] = long.files() else { panic!("{long:?}") };
    assert_eq!((piece.offset_bytes, piece.length, piece.after), (1000, 50_001, long.bytes.len() - 3));
    assert_eq!(told(&long), (50_001, false, 3), "padding alone stands behind it");
    let short = read(&caller, file, 1000, 1364);
    assert_eq!((short.files().len(), told(&short)), (0, (1364, false, 1364)));
}

#[test]
fn first_reply_of_an_output_leaves_a_third_in_the_file_and_those_behind_it_do_not() {
    let Some(memory) = Memory::new("first") else { return };
    let server = memory.serve(Some(4096));
    let (caller, file) = caller(&server);
    let mut output = Output::new();
    for (count, pieces) in [(1366, 1), (4095, 1), (4096, 2)] {
        read_into(&mut output, &caller, file, (0, count));
        assert_eq!(output.files().len(), pieces, "after {count} bytes");
    }
}

#[test]
fn read_over_the_end_is_as_long_as_what_is_left() {
    let Some(memory) = Memory::new("end") else { return };
    let server = memory.serve(Some(16));
    let (caller, file) = caller(&server);
    let last = read(&caller, file, SIZE as u64 - 100, 1 << 20);
    assert_eq!((last.files()[0].length, told(&last)), (100, (100, true, 0)));
    for offset in [SIZE as u64, u64::MAX] {
        let behind = read(&caller, file, offset, 4096);
        assert_eq!((behind.files().len(), told(&behind)), (0, (0, true, 0)));
    }
}

#[test]
fn datagrams_and_a_server_that_is_told_never_are_copied() {
    let Some(memory) = Memory::new("never") else { return };
    let never = memory.serve(None);
    let (to_never, file) = caller(&never);
    assert_eq!(told(&read(&to_never, file, 0, 8192)), (8192, false, 8192));
    drop(never);
    let server = memory.serve(Some(16));
    let (caller, file) = caller(&server);
    assert_eq!(told(&read(&caller.over_udp(), file, 0, 8192)), (8192, false, 8192));
}
