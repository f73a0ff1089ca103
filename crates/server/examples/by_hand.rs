//! Has a server answer one kind of call many times, by hand and without sockets, on a directory of the host: what
//! `cargo xtask instructions` counts.
//!
//! `by_hand FORM OPERATION TIMES MOST FOLDER`: of MOST calls that are prepared, TIMES are answered, as on an event
//! loop. Two runs that differ in TIMES differ in nothing but the answering of as many calls, so that all the rest drops
//! out of the difference. Files and handles are made in FOLDER, which must be there and empty.

#![allow(clippy::unwrap_used, reason = "a failure ends the program, and is shown by whoever runs it")]

#[allow(dead_code, unused_imports, reason = "a part of this is enough here")]
#[path = "../tests/all/caller/mod.rs"]
mod caller;
#[allow(dead_code, reason = "a part of this is enough here")]
#[path = "../tests/all/compound.rs"]
mod compound;
#[allow(dead_code, reason = "a part of this is enough here")]
#[path = "../tests/all/session.rs"]
mod session;

use std::path::Path;
use std::sync::Arc;

use buffer::Output;
use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs3::{
    Create, CreateArgs, CreateHow, FileHandle, Getattr, GetattrArgs, Lookup, LookupArgs, Read, ReadArgs, Readdirplus,
    ReaddirplusArgs, Remove, RemoveArgs,
};
use proto::nfs4::{Putfh, PutfhArgs, Read as Read4, ReadArgs as Read4Args, Sequence, SequenceArgs, Stateid};
use server::{Answer, Request, Server};

use caller::nfs3::{at, mode};
use caller::{Caller, EXPORT, WORKERS, export, server};
use compound::{COMPOUND, Compound};
use session::Session;

/// How much each READ asks for, and how much there is to read.
const READ_BYTES: u32 = 4096;
const FILE_BYTES: usize = 1 << 20;
const FILE_NAME: &str = "file";
/// How many names READDIRPLUS gives, in one reply: fewer than after which an event loop looks at the clock.
const LISTED_NAMES: usize = 60;
const LISTED_DIR: &str = "listed";
const REPLY_BYTES: u32 = 1 << 20;
/// Where the status is in a reply, behind what RPC says (RFC 5531 §9) with an empty verifier.
const STATUS_AT: usize = 24;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [form, operation, times, most, folder] = &arguments[..] else {
        panic!("usage: by_hand kernel|store getattr|lookup|read|read41|createremove|readdirplus TIMES MOST FOLDER");
    };
    let server = serve(form, Path::new(folder));
    let caller = Caller::root(&server);
    let calls = prepare(operation, caller, most.parse().unwrap());
    // What is opened or allocated for the first call is no part of what is counted.
    let (first, others) = calls.split_at(1);
    answer_all(caller, first);
    answer_all(caller, &others[..times.parse().unwrap()]);
}

/// A server of a directory with a file in it, and with a directory of many names.
fn serve(form: &str, folder: &Path) -> Server {
    let handle_form = match form {
        "kernel" => HandleForm::Kernel,
        "store" => HandleForm::Store,
        other => panic!("{other} is no form of handles"),
    };
    let root = folder.join("export");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join(FILE_NAME), vec![7; FILE_BYTES]).unwrap();
    let listed = root.join(LISTED_DIR);
    std::fs::create_dir(&listed).unwrap();
    (0..LISTED_NAMES).for_each(|number| std::fs::write(listed.join(format!("name{number}")), b"").unwrap());
    let options =
        HostOptions { handle_form, state_dir: Some(folder.join("state")), workers: WORKERS, ..HostOptions::default() };
    server(vec![export(EXPORT, Arc::new(HostFs::open(&root, options).unwrap()))])
}

/// `most` calls of a kind as messages, and one more to begin with.
fn prepare(operation: &str, caller: Caller<'_>, most: usize) -> Vec<Vec<u8>> {
    let root = caller.mount();
    let [file, listed] = [FILE_NAME, LISTED_DIR].map(|name| caller.handle_of(&root, name));
    let offset = |number: usize| (number * READ_BYTES as usize % FILE_BYTES) as u64;
    let session = (operation == "read41").then(|| Session::new(caller, 1));
    let message = |number| match operation {
        "getattr" => caller.message::<Getattr>(&GetattrArgs { object: file }),
        "lookup" => caller.message::<Lookup>(&LookupArgs { what: at(&root, FILE_NAME) }),
        "read" => caller.message::<Read>(&ReadArgs { file, offset: offset(number), count: READ_BYTES }),
        "read41" => read_in_session(session.as_ref().unwrap(), &file, offset(number)),
        "createremove" => change_names(caller, &root, number),
        "readdirplus" => list(caller, &listed),
        other => panic!("{other} is no operation that is counted"),
    };
    (0..=most).map(message).collect()
}

/// CREATE and REMOVE of one name, by turns.
fn change_names(caller: Caller<'_>, dir: &FileHandle, number: usize) -> Vec<u8> {
    if number.is_multiple_of(2) {
        return caller.message::<Create>(&CreateArgs { place: at(dir, "new"), how: CreateHow::Unchecked(mode(0o644)) });
    }
    caller.message::<Remove>(&RemoveArgs { object: at(dir, "new") })
}

/// READDIRPLUS of a whole directory.
fn list(caller: Caller<'_>, dir: &FileHandle) -> Vec<u8> {
    caller.message::<Readdirplus>(&ReaddirplusArgs {
        dir: *dir,
        cookie: 0,
        verifier: [0; 8],
        dir_count: REPLY_BYTES,
        max_count: REPLY_BYTES,
    })
}

/// SEQUENCE, PUTFH and READ, whose reply the session need not keep.
fn read_in_session(session: &Session<'_>, file: &FileHandle, offset: u64) -> Vec<u8> {
    let next = session.next.replace(session.next.get() + 1);
    let sequence = SequenceArgs { cache_this: false, ..session.sequence(next) };
    let object = proto::nfs4::FileHandle::new(file.as_bytes()).unwrap();
    let read = Read4Args { stateid: Stateid::ANONYMOUS, offset, count: READ_BYTES };
    let compound = Compound::new(1).op::<Sequence>(&sequence).op::<Putfh>(&PutfhArgs { object }).op::<Read4>(&read);
    session.caller.message_of(COMPOUND, &compound)
}

/// Answers the calls one by one, each into the same memory.
fn answer_all(caller: Caller<'_>, calls: &[Vec<u8>]) {
    let mut output = Output::new();
    let start = output.mark();
    for message in calls {
        let request = Request {
            message,
            peer: caller.peer,
            worker: 0,
            may_block: false,
            now: caller.now,
            batch: None,
            is_scarce: false,
        };
        assert_eq!(caller.server.answer(&request, &mut output), Answer::Reply);
        assert_eq!(output.bytes.as_slice()[STATUS_AT..STATUS_AT + 4], [0; 4], "the call failed");
        output.rewind(&start);
    }
}
