//! How large the reply to a COMPOUND may become.

use std::sync::Arc;

use fs_fault::{Fault, FaultFs, FaultPlan, Operation, Rule};
use proto::nfs4::{
    Component, Create, CreateArgs, CreateType, Fattr, Read, ReadArgs, Remove, RemoveArgs, Sequence, SequenceArgs,
    Stateid, Status, Write, WriteArgs,
};
use server::{Answer, Server};

use crate::v4::client40::Client40;
use testing::caller::{Caller, EXPORT, Said, export, memory, memory_server, server};
use testing::compound::{COMPOUND, Compound, Results, failure, success};
use testing::session::Session;

const MIB: u32 = 1 << 20;

/// The most that the reply to a COMPOUND of NFSv4.0 takes: one READ of 1 MiB begins when the reply is all but full.
const MOST_BYTES: usize = 2 * MIB as usize + (128 << 10);

/// How many READs are in a COMPOUND that is as large as it may be.
const MANY: usize = 120;

/// Makes a file of 1 MiB, called `file`.
fn make_file(server: &Server) {
    let client = Client40::new(Caller::root(server));
    let stateid = client.open_confirmed("owner", "file");
    let data = vec![7; MIB as usize];
    let write = WriteArgs { stateid, offset: 0, stable: proto::nfs4::StableHow::Unstable, data: &data };
    let mut results = client.caller.compound(&Client40::at("file").op::<Write>(&write));
    success(results.skip_path(&format!("{EXPORT}/file")).take::<Write>());
}

fn read(count: u32) -> ReadArgs {
    ReadArgs { stateid: Stateid::ANONYMOUS, offset: 0, count }
}

fn reads(compound: Compound, count: usize) -> Compound {
    (0..count).fold(compound, |compound, _| compound.op::<Read>(&read(MIB)))
}

#[test]
fn many_reads_in_one_compound_without_a_session_are_refused_where_the_reply_is_full() {
    let server = memory_server();
    make_file(&server);
    let caller = Caller::root(&server);
    let reply = caller.reply_to(&caller.message_of(COMPOUND, &reads(Client40::at("file"), MANY)));
    assert!(reply.len() <= MOST_BYTES, "{} bytes", reply.len());
    let mut results = Results::parse(&reply);
    assert_eq!(results.status, Status::Resource);
    results.skip_path(&format!("{EXPORT}/file"));
    for _ in 0..2 {
        assert_eq!(success(results.take::<Read>()).data.len(), MIB as usize);
    }
    assert_eq!(failure(results.take::<Read>()), Status::Resource);
    results.end();
}

#[test]
fn operation_behind_a_full_reply_changes_nothing() {
    let server = memory_server();
    make_file(&server);
    let caller = Caller::root(&server);
    let remove = RemoveArgs { target: Component(b"file") };
    let compound = reads(Client40::at("file"), 2).root().op::<Remove>(&remove);
    assert_eq!(caller.compound(&compound).status, Status::Resource);
    assert_eq!(caller.compound(&Client40::at("file")).status, Status::Ok, "the file is still there");
}

#[test]
fn client_without_memory_reads_little_at_a_time_in_every_minor_version() {
    let server = memory_server();
    make_file(&server);
    let session = Session::new(Caller::root(&server).without_memory(), 2);
    for (minor, refusal) in [(0, Status::Resource), (2, Status::Delay)] {
        let unkept = SequenceArgs { cache_this: false, ..session.sequence(2) };
        let begun = if minor == 0 { Compound::new(0) } else { Compound::new(2).op::<Sequence>(&unkept) };
        let compound = reads(begun.root().lookup("file"), 40);
        let reply = session.caller.reply_to(&session.caller.message_of(COMPOUND, &compound));
        assert!(reply.len() < 32 << 10, "minor version {minor}: {} bytes", reply.len());
        let mut results = Results::parse(&reply);
        assert_eq!(results.status, refusal, "minor version {minor}");
        if minor > 0 {
            success(results.take::<Sequence>());
        }
        let part = success(results.skip_path(&format!("{EXPORT}/file")).take::<Read>());
        assert_eq!((part.data.len(), part.head.eof), (8192, false));
    }
}

#[test]
fn compound_with_large_results_that_has_to_wait_behind_a_change_is_delayed_when_many_wait() {
    let plan = FaultPlan::new(vec![Rule::new(Operation::RemoveDir, Fault::WouldBlock)]);
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan)))]);
    make_file(&server);
    let caller = Caller::root(&server).on_event_loop();
    let waiting = |name: &'static str| {
        let directory =
            CreateArgs { kind: CreateType::Directory, name: Component(name.as_bytes()), attributes: Fattr::EMPTY };
        let made = Compound::new(0).root().op::<Create>(&directory).root().lookup("file").op::<Read>(&read(MIB));
        let remove = RemoveArgs { target: Component(name.as_bytes()) };
        caller.send(&caller.message_of(COMPOUND, &made.root().op::<Remove>(&remove)))
    };
    let names: Vec<&'static str> = (0..16).map(|number| &*format!("dir-{number}").leak()).collect();
    let kept = names.iter().filter(|name| matches!(waiting(name), Said::Nothing(Answer::WouldBlock(_)))).count();
    assert_eq!(kept, 15, "16 MiB of results with their heads are more than is kept");
    let Said::Reply(reply) = waiting("another") else { panic!("no reply") };
    assert_eq!(Results::parse(&reply).status, Status::Delay);
    server.disconnected(&caller.peer, true, caller.now);
    assert!(matches!(waiting("last"), Said::Nothing(Answer::WouldBlock(_))), "what is gone makes room");
}
