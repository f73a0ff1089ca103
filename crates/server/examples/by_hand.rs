//! Has a server answer one kind of call many times, by hand and without sockets, on a directory of the host: what
//! `cargo xtask instructions` counts.
//!
//! `by_hand FORM OPERATION TIMES FOLDER`: some calls fill the caches, and then TIMES calls are answered, as on an event
//! loop, inside of [`counted`]. What is done outside of it does not count. Files and handles are made in FOLDER, which
//! must be there and empty.

#![allow(clippy::unwrap_used, reason = "a failure ends the program, and is shown by whoever runs it")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use buffer::Output;
use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs3::{
    Create, CreateArgs, CreateHow, FileHandle, Getattr, GetattrArgs, Lookup, LookupArgs, Read, ReadArgs, Readdirplus,
    ReaddirplusArgs, Remove, RemoveArgs, StableHow, Write, WriteArgs,
};
use proto::nfs4::{
    ACCESS_READ, Access, AccessArgs, Attribute, Bitmap, Close, CloseArgs, Component, Getattr as Getattr4,
    GetattrArgs as Getattr4Args, Getfh, Lock, LockArgs, LockType, Locker, Locku, LockuArgs, Open, OpenArgs, OpenClaim,
    OpenHow, Putfh, PutfhArgs, Read as Read4, ReadArgs as Read4Args, ReadPlus, ReadPlusArgs, Res, SHARE_ACCESS_BOTH,
    SHARE_DENY_NONE, Sequence, SequenceArgs, StateOwner, Stateid, WANT_NO_DELEG, Write as Write4,
    WriteArgs as Write4Args,
};
use server::{Answer, Request, RunAnswer, Server};
use stable::{MemoryDevice, Options as LogOptions, WriteLog};
use vfs::FileSystem;

use testing::caller::nfs3::{at, mode};
use testing::caller::{Caller, EXPORT, WORKERS, export, server};
use testing::compound::{COMPOUND, Compound};
use testing::session::Session;

/// How much each READ asks for, and how much there is to read.
const READ_BYTES: u32 = 4096;
const FILE_BYTES: usize = 1 << 20;
/// What each WRITE writes.
const DATA: [u8; READ_BYTES as usize] = [7; READ_BYTES as usize];
const FILE_NAME: &str = "file";
/// As long a file, half of it holes, and how much each READ_PLUS asks for.
const SPARSE_FILE_NAME: &str = "sparse";
const SEGMENT_BYTES: usize = 4096;
const READ_PLUS_BYTES: u32 = 1 << 16;
/// How many names READDIRPLUS gives, in one reply: fewer than after which an event loop looks at the clock.
const LISTED_NAMES: usize = 60;
const LISTED_DIR: &str = "listed";
const REPLY_BYTES: u32 = 1 << 20;
const LOG_BYTES: usize = 16 << 20;
/// How many calls fill the caches first; an even number, as names are made and removed by turns.
const WARM_UP: usize = 200;
/// How many WRITEs are in a run.
const RUN_WRITES: usize = 8;
/// What Linux asks for with GETATTR, but for what only disks have.
const ATTRIBUTES: Bitmap = {
    use Attribute as A;
    Attribute::set(&[
        A::Type,
        A::Change,
        A::Size,
        A::Fsid,
        A::FileId,
        A::Mode,
        A::NumLinks,
        A::Owner,
        A::OwnerGroup,
        A::RawDev,
        A::SpaceUsed,
        A::TimeAccess,
        A::TimeMetadata,
        A::TimeModify,
        A::MountedOnFileId,
    ])
};
/// Where the status is in a reply, behind what RPC says (RFC 5531 §9) with an empty verifier.
const STATUS_AT: usize = 24;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [form, operation, times, folder] = &arguments[..] else {
        panic!("usage: by_hand kernel|store|log OPERATION TIMES FOLDER");
    };
    let server = serve(form, Path::new(folder));
    let caller = Caller::root(&server);
    let calls = prepare(operation, caller, WARM_UP + times.parse::<usize>().unwrap());
    let answer = if operation == "writerun" { write_runs } else { answer_all };
    let mut output = Output::new();
    let (first, others) = calls.split_at(WARM_UP);
    answer(caller, first, &mut output);
    counted(answer, caller, others, &mut output);
}

/// Has calls answered that count. Callgrind finds the function by its name.
#[inline(never)]
fn counted(
    answer: fn(Caller<'_>, &[Vec<u8>], &mut Output),
    caller: Caller<'_>,
    calls: &[Vec<u8>],
    output: &mut Output,
) {
    answer(caller, calls, output);
}

/// A server of a directory with a file in it, and with a directory of many names.
fn serve(form: &str, folder: &Path) -> Server {
    let handle_form = match form {
        "kernel" | "log" => HandleForm::Kernel,
        "store" => HandleForm::Store,
        other => panic!("{other} is no form of handles"),
    };
    let root = folder.join("export");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join(FILE_NAME), vec![7; FILE_BYTES]).unwrap();
    make_sparse_file(&root.join(SPARSE_FILE_NAME)).unwrap();
    let listed = root.join(LISTED_DIR);
    std::fs::create_dir(&listed).unwrap();
    (0..LISTED_NAMES).for_each(|number| std::fs::write(listed.join(format!("name{number}")), b"").unwrap());
    let options =
        HostOptions { handle_form, state_dir: Some(folder.join("state")), workers: WORKERS, ..HostOptions::default() };
    let inner = Arc::new(HostFs::open(&root, options).unwrap());
    server(vec![export(EXPORT, if form == "log" { through_log(inner, folder) } else { inner })])
}

/// A file of segments of data and holes in turn.
fn make_sparse_file(path: &Path) -> std::io::Result<()> {
    let file = File::create(path)?;
    file.set_len(FILE_BYTES as u64)?;
    let starts = (0..FILE_BYTES).step_by(2 * SEGMENT_BYTES);
    starts.into_iter().try_for_each(|start| file.write_all_at(&[7; SEGMENT_BYTES], start as u64))
}

/// The file system with a write log before it.
fn through_log(inner: Arc<HostFs>, folder: &Path) -> Arc<dyn FileSystem> {
    let device = Arc::new(MemoryDevice::new(LOG_BYTES));
    WriteLog::create(device.clone()).unwrap();
    let log = WriteLog::open(device, LogOptions::new(folder.join("log-state"))).unwrap();
    let (logged, _) = log.attach(Path::new(EXPORT), inner).unwrap();
    log.start().unwrap();
    Arc::new(logged)
}

/// Calls of a kind as messages.
fn prepare(operation: &str, caller: Caller<'_>, count: usize) -> Vec<Vec<u8>> {
    let root = caller.mount();
    let [file, sparse, listed] = [FILE_NAME, SPARSE_FILE_NAME, LISTED_DIR].map(|name| caller.handle_of(&root, name));
    let offset = |number: usize| (number * READ_BYTES as usize % FILE_BYTES) as u64;
    let minor = [("41", 1), ("42", 2)].into_iter().find(|(ending, _)| operation.ends_with(ending));
    let session = minor.map(|(_, minor)| Session::new(caller, minor));
    let lock = (operation == "lock41").then(|| first_lock(session.as_ref().unwrap()));
    let compound = |begin: &dyn Fn(Compound, u64) -> Compound, object: &FileHandle, number: usize| {
        let session = session.as_ref().unwrap();
        session.caller.message_of(COMPOUND, &begin(in_session(session, object), offset(number)))
    };
    let message = |number| match operation {
        "getattr" => caller.message::<Getattr>(&GetattrArgs { object: file }),
        "lookup" => caller.message::<Lookup>(&LookupArgs { what: at(&root, FILE_NAME) }),
        "read" => caller.message::<Read>(&ReadArgs { file, offset: offset(number), count: READ_BYTES }),
        "read41" => compound(&read, &file, number),
        "readplus42" => compound(&|begun, _| read_plus(begun, number), &sparse, number),
        "getattr41" => compound(&|begun, _| begun.op::<Getattr4>(&Getattr4Args { request: ATTRIBUTES }), &file, number),
        "open41" => compound(&|begun, _| open_and_close(begun), &root, number),
        "write41" => compound(&write_and_look, &file, number),
        "lock41" => compound(&|begun, _| lock_and_unlock(begun, lock.unwrap()), &file, number),
        "writerun" => write_run(caller, &file),
        "createremove" => change_names(caller, &root, number),
        "readdirplus" => list(caller, &listed),
        other => panic!("{other} is no operation that is counted"),
    };
    (0..count).map(message).collect()
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

/// SEQUENCE and PUTFH, for a reply that the session need not keep.
fn in_session(session: &Session<'_>, file: &FileHandle) -> Compound {
    let next = session.next.replace(session.next.get() + 1);
    let sequence = SequenceArgs { cache_this: false, ..session.sequence(next) };
    let object = proto::nfs4::FileHandle::new(file.as_bytes()).unwrap();
    Compound::new(session.minor).op::<Sequence>(&sequence).op::<Putfh>(&PutfhArgs { object })
}

fn read(begun: Compound, offset: u64) -> Compound {
    begun.op::<Read4>(&Read4Args { stateid: Stateid::ANONYMOUS, offset, count: READ_BYTES })
}

fn read_plus(begun: Compound, number: usize) -> Compound {
    let offset = (number * READ_PLUS_BYTES as usize % FILE_BYTES) as u64;
    begun.op::<ReadPlus>(&ReadPlusArgs { stateid: Stateid::ANONYMOUS, offset, count: READ_PLUS_BYTES })
}

/// The owner of opens and locks.
const OWNER: StateOwner<'static> = StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" };
const OPEN: OpenArgs<'static> = OpenArgs {
    seqid: 0,
    share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
    share_deny: SHARE_DENY_NONE,
    owner: OWNER,
    how: OpenHow::NoCreate,
    claim: OpenClaim::Null(Component(FILE_NAME.as_bytes())),
};

/// The stateid of a lock owner of the file, without a lock.
fn first_lock(session: &Session<'_>) -> Stateid {
    let locker = Locker::New { open_seqid: 0, open_stateid: Stateid::CURRENT, lock_seqid: 0, owner: OWNER };
    let locking = session.begin().root().op::<Open>(&OPEN).op::<Lock>(&LockArgs { locker, ..FIRST_BYTE });
    let mut results = session.call(&locking.op::<Locku>(&unlock(Stateid::CURRENT)));
    let results = results.skip_root();
    results.take::<Open>();
    results.take::<Lock>();
    let Res::Ok(stateid) = results.take::<Locku>() else { panic!("the lock was not released") };
    stateid
}

/// A lock of the first byte, whose owner is still to be filled in.
const FIRST_BYTE: LockArgs<'static> = LockArgs {
    lock_type: LockType::Write,
    reclaim: false,
    offset: 0,
    length: 1,
    locker: Locker::Existing { lock_stateid: Stateid::CURRENT, lock_seqid: 0 },
};

fn unlock(stateid: Stateid) -> LockuArgs {
    LockuArgs { lock_type: LockType::Write, seqid: 0, stateid, offset: 0, length: 1 }
}

/// LOCK of the only lock of a file, and its LOCKU.
fn lock_and_unlock(begun: Compound, lock: Stateid) -> Compound {
    // The newest one (RFC 8881 §8.2.2).
    let newest = Stateid { seqid: 0, ..lock };
    let locker = Locker::Existing { lock_stateid: newest, lock_seqid: 0 };
    begun.op::<Lock>(&LockArgs { locker, ..FIRST_BYTE }).op::<Locku>(&unlock(newest))
}

/// What Linux sends to open a file, and a CLOSE.
fn open_and_close(begun: Compound) -> Compound {
    begun
        .op::<Open>(&OPEN)
        .op::<Getfh>(&())
        .op::<Access>(&AccessArgs { access: ACCESS_READ })
        .op::<Getattr4>(&Getattr4Args { request: ATTRIBUTES })
        .op::<Close>(&CloseArgs { seqid: 0, open_stateid: Stateid::CURRENT })
}

/// WRITE and GETATTR of what it changes, as Linux sends it.
fn write_and_look(begun: Compound, offset: u64) -> Compound {
    let changed = Attribute::set(&[
        Attribute::Change,
        Attribute::Size,
        Attribute::SpaceUsed,
        Attribute::TimeMetadata,
        Attribute::TimeModify,
    ]);
    let stable = StableHow::Unstable;
    begun
        .op::<Write4>(&Write4Args { stateid: Stateid::ANONYMOUS, offset, stable, data: &DATA })
        .op::<Getattr4>(&Getattr4Args { request: changed })
}

/// The WRITEs of a run, one behind the other.
fn write_run(caller: Caller<'_>, file: &FileHandle) -> Vec<u8> {
    let write = |number: usize| {
        let (offset, stable) = ((number * DATA.len()) as u64, StableHow::Unstable);
        caller.message::<Write>(&WriteArgs { file: *file, offset, count: READ_BYTES, stable, data: &DATA })
    };
    (0..RUN_WRITES).flat_map(write).collect()
}

/// Has each of `calls` written as a run, and encodes the replies.
fn write_runs(caller: Caller<'_>, calls: &[Vec<u8>], output: &mut Output) {
    let start = output.mark();
    for messages in calls {
        let run: Vec<&[u8]> = messages.chunks_exact(messages.len() / RUN_WRITES).collect();
        for pair in run.windows(2) {
            assert!(caller.server.continues_run(pair[0], pair[1]));
        }
        let RunAnswer::Written(written) = caller.server.write_run(&on_loop(caller, run[0]), &run) else {
            panic!("the run failed");
        };
        assert_eq!(written.count(), RUN_WRITES);
        (0..RUN_WRITES).for_each(|index| written.answer(index, output));
        output.rewind(&start);
    }
}

/// Answers the calls one by one, each into the same memory.
fn answer_all(caller: Caller<'_>, calls: &[Vec<u8>], output: &mut Output) {
    let start = output.mark();
    for message in calls {
        assert_eq!(caller.server.answer(&on_loop(caller, message), output), Answer::Reply);
        assert_eq!(output.bytes.as_slice()[STATUS_AT..STATUS_AT + 4], [0; 4], "the call failed");
        output.rewind(&start);
    }
}

/// A message that arrived on an event loop.
fn on_loop<'m>(caller: Caller<'_>, message: &'m [u8]) -> Request<'m> {
    let Caller { peer, now, .. } = caller;
    Request { message, peer, worker: 0, may_block: false, now, batch: None, is_scarce: false }
}
