//! WRITEs of NFSv3 that lie one right behind the other, carried out as one (RFC 1813 §3.3.7).

use std::sync::Arc;

use buffer::Output;
use fs_fault::{FaultFs, FaultPlan};
use proto::Operation;
use proto::nfs3::{FileHandle, Res, StableHow, Status, Write, WriteArgs, WriteOk};
use server::{Request, RunAnswer, Server, Settings, Squash};
use vfs::FileSystem;

use testing::Random;
use testing::caller::nfs3::{failure, mode, success};
use testing::caller::{self, Caller, EXPORT, export, export_with, memory, results, server};

type Reply = <Write as Operation>::Reply<'static>;

/// Sends WRITEs as they come over a connection in one receive, and says how many of them were carried out at one go.
fn send(caller: &Caller<'_>, calls: &[WriteArgs<'_>]) -> (usize, Vec<Reply>) {
    let messages: Vec<Vec<u8>> = calls.iter().map(|call| caller.message::<Write>(call)).collect();
    let together = run_length(caller.server, &messages);
    let run: Vec<&[u8]> = messages[..together].iter().map(Vec::as_slice).collect();
    let request = Request {
        message: run[0],
        peer: caller.peer,
        worker: 0,
        may_block: caller.may_block,
        now: caller.now,
        batch: caller.batch,
        is_scarce: caller.is_scarce,
    };
    let written = match caller.server.write_run(&request, &run) {
        RunAnswer::Written(written) => Some(written),
        RunAnswer::OneByOne => None,
        RunAnswer::WouldBlock(_) => panic!("the run was put off"),
    };
    let count = written.as_ref().map_or(0, |written| written.count());
    let of_run = |index: usize| {
        let mut output = Output::new();
        written.as_ref().unwrap().answer(index, &mut output);
        output.bytes.as_slice().to_vec()
    };
    let replies = (0..calls.len()).map(|index| {
        let reply = if index < count { of_run(index) } else { caller.reply_to(&messages[index]) };
        results::<Write>(reply.leak())
    });
    (count, replies.collect())
}

/// How many of the messages go together, from the first one on.
fn run_length(server: &Server, messages: &[Vec<u8>]) -> usize {
    if !server.begins_run(&messages[0]) {
        return 1;
    }
    1 + messages.windows(2).take_while(|pair| server.continues_run(&pair[0], &pair[1])).count()
}

fn write(file: &FileHandle, offset: u64, data: &'static [u8]) -> WriteArgs<'static> {
    WriteArgs { file: *file, offset, count: data.len() as u32, stable: StableHow::Unstable, data }
}

fn content(caller: &Caller<'_>, file: &FileHandle) -> Vec<u8> {
    success(caller.read(file, 0, 1000)).data.to_vec()
}

fn counts(replies: Vec<Reply>) -> Vec<u32> {
    replies.into_iter().map(|reply| success(reply).count).collect()
}

fn faulty(plan: &str) -> Server {
    let rules: Vec<fs_fault::Rule> = plan.split(',').map(|rule| rule.parse().unwrap()).collect();
    server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), FaultPlan::new(rules))))])
}

#[test]
fn adjacent_writes_are_carried_out_together_and_each_is_told_its_own_count() {
    let server = caller::memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let calls = [write(&file, 0, b"one"), write(&file, 3, b"three"), write(&file, 8, b"x")];
    let (together, replies) = send(&caller, &calls);
    assert_eq!((together, counts(replies)), (3, vec![3, 5, 1]));
    assert_eq!(content(&caller, &file), b"onethreex");
    assert_eq!(server.counters().gathered(), 2);
}

#[test]
fn attributes_of_a_run_follow_on_one_another_so_that_a_client_keeps_its_cache() {
    let server = caller::memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let before = caller.attributes(&file);
    let (_, replies) = send(&caller, &[write(&file, 0, b"one"), write(&file, 3, b"two"), write(&file, 6, b"six")]);
    let mut cached = (before.size, before.modified, before.changed);
    for reply in replies {
        let wcc = success(reply).file_wcc;
        let told = wcc.before.expect("attributes before");
        assert_eq!((told.size, told.modified, told.changed), cached);
        let after = wcc.after.expect("attributes after");
        cached = (after.size, after.modified, after.changed);
    }
    let now = caller.attributes(&file);
    assert_eq!((now.size, now.modified, now.changed), cached);
}

#[test]
fn write_that_is_cut_short_in_the_middle_of_a_run_is_told_so_and_those_behind_it_are_still_carried_out() {
    // A run is one write of the file system.
    let server = faulty("write:short=5@1");
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let calls = [write(&file, 0, b"one"), write(&file, 3, b"three"), write(&file, 8, b"x")];
    let (together, replies) = send(&caller, &calls);
    assert_eq!((together, counts(replies)), (1, vec![3, 5, 1]));
    assert_eq!(content(&caller, &file), b"onethreex", "what was written of the second one was written again");
}

#[test]
fn error_in_the_middle_of_a_run_is_that_of_one_write_alone() {
    let server = faulty("write:short=3@1,write:error=nospace@2");
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let calls = [write(&file, 0, b"one"), write(&file, 3, b"two"), write(&file, 6, b"six")];
    let (together, mut replies) = send(&caller, &calls);
    assert_eq!(together, 1);
    assert_eq!(success(replies.remove(0)).count, 3);
    assert_eq!(failure(replies.remove(0)), Status::NoSpc);
    assert_eq!(success(replies.remove(0)).count, 3);
    assert_eq!(content(&caller, &file), b"one\0\0\0six");
}

#[test]
fn stable_write_that_fails_in_a_run_changes_the_verifier_and_every_later_reply_carries_the_new_one() {
    let server = faulty("write:error=io@1");
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let stable = |offset, data| WriteArgs { stable: StableHow::FileSync, ..write(&file, offset, data) };
    let (together, replies) = send(&caller, &[stable(0, b"one"), stable(3, b"two")]);
    assert_eq!(together, 0, "the run failed, and each write was carried out by itself");
    for reply in replies {
        let WriteOk { committed, verifier, .. } = success(reply);
        assert_eq!(committed, StableHow::FileSync);
        assert_ne!(verifier, caller::INSTANCE.to_be_bytes());
    }
}

#[test]
fn permission_is_that_of_the_caller_of_the_run() {
    let file_system = memory();
    let server = server(vec![export(EXPORT, file_system)]);
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    success(caller.setattr(&file, mode(0o600)));
    let other = caller.user(1000, 1000, &[]);
    let (together, replies) = send(&other, &[write(&file, 0, b"one"), write(&file, 3, b"two")]);
    assert_eq!(together, 0);
    for reply in replies {
        assert_eq!(failure(reply), Status::Acces);
    }
}

#[test]
fn writes_of_another_caller_file_or_place_do_not_go_together() {
    let server = caller::memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let (file, other) = (caller.make_file(&root, "file"), caller.make_file(&root, "other"));
    let first = caller.message::<Write>(&write(&file, 0, b"one"));
    let continues =
        |caller: &Caller<'_>, call: &WriteArgs<'_>| server.continues_run(&first, &caller.message::<Write>(call));
    assert!(continues(&caller, &write(&file, 3, b"two")));
    assert!(!continues(&caller.user(1, 1, &[]), &write(&file, 3, b"two")));
    assert!(!continues(&caller, &write(&other, 3, b"two")));
    assert!(!continues(&caller, &write(&file, 4, b"two")));
    assert!(!continues(&caller, &write(&file, 2, b"two")), "what overlaps has an order");
}

#[test]
fn run_on_a_read_only_export_is_refused_write_by_write() {
    let file_system = memory();
    let options = server::ExportOptions { read_only: true, squash: Squash::None, ..Default::default() };
    let place = vfs::Place { dir: file_system.root(), name: vfs::Name::new(b"file").unwrap() };
    let root = vfs::Context::ROOT;
    file_system.create(&root, place, vfs::CreateMode::Guarded, &vfs::SetAttributes::default()).unwrap();
    let server = server(vec![export_with(EXPORT, file_system, options)]);
    let caller = Caller::root(&server);
    let file = caller.handle_of(&caller.mount(), "file");
    let (together, replies) = send(&caller, &[write(&file, 0, b"one"), write(&file, 3, b"two")]);
    assert_eq!(together, 0);
    for reply in replies {
        assert_eq!(failure(reply), Status::RoFs);
    }
}

#[test]
fn nothing_goes_together_where_it_is_switched_off() {
    let settings = Settings { gather_writes: false, ..caller::settings() };
    let server = Server::new(settings, vec![export(EXPORT, memory())]).unwrap();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let message = caller.message::<Write>(&write(&file, 0, b"one"));
    let next = caller.message::<Write>(&write(&file, 3, b"two"));
    assert!(!server.begins_run(&message) && !server.continues_run(&message, &next));
}

/// With short writes and errors now and then: what the replies say was written is what the file has. Of a write that
/// failed, a part may be there or not.
#[test]
fn gathered_writes_with_faults_leave_what_their_replies_say() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let plan = format!("write:short=3@{},write:error=nospace@{}", 1 + random.below(20), 1 + random.below(20));
        let server = faulty(&plan);
        let caller = Caller::root(&server);
        let file = caller.make_file(&caller.mount(), "file");
        let mut model = Vec::new();
        for batch in 0..6 {
            let calls = random_batch(&mut random, &file);
            let (_, replies) = send(&caller, &calls);
            for (call, reply) in calls.iter().zip(replies) {
                let written = match &reply {
                    Res::Ok(ok) => call.data[..ok.count as usize].iter().copied().map(Some).collect(),
                    Res::Fail(..) => vec![None; call.data.len()],
                };
                put(&mut model, call.offset as usize, &written);
            }
            let content = content(&caller, &file);
            let at = |index: usize| content.get(index).copied().unwrap_or(0);
            for (index, byte) in model.iter().enumerate() {
                let agrees = byte.is_none_or(|byte| at(index) == byte);
                assert!(agrees, "seed {seed}, plan {plan}, batch {batch}, byte {index} of {content:?}");
            }
            assert!(content.len() <= model.len(), "seed {seed}, plan {plan}, batch {batch}: {content:?}");
        }
    }
}

/// Writes some of which lie one right behind the other, and some of which overlap earlier ones.
fn random_batch(random: &mut Random, file: &FileHandle) -> Vec<WriteArgs<'static>> {
    const DATA: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut offset = 0;
    let calls = (0..1 + random.below(8)).map(|_| {
        if random.below(3) == 0 {
            offset = random.below(40);
        }
        let start = random.below(40) as usize;
        let call = write(file, offset, &DATA[start..start + 1 + random.below(9) as usize]);
        offset += call.data.len() as u64;
        call
    });
    calls.collect()
}

/// What is known of a file's bytes; where nothing was written they are zeros.
fn put(model: &mut Vec<Option<u8>>, offset: usize, data: &[Option<u8>]) {
    if !data.is_empty() {
        model.resize(model.len().max(offset + data.len()), Some(0));
        model[offset..offset + data.len()].copy_from_slice(data);
    }
}
