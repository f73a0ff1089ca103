//! COPY and CLONE (RFC 7862 §15.2, §15.13), and what of copies is refused.

use proto::nfs4::{
    AppDataBlock, ArgOp, CloneArgs, CopyArgs, CopyOk, CopyRequirements, NetLoc, ResOp, ResOr, ServerName, StableHow,
    Stateid, Status, WriteSameArgs,
};

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, server};

const FROM: &str = "/srv/export/from";
const TO: &str = "/srv/export/to";

fn args(source_offset: u64, destination_offset: u64, count: u64) -> CopyArgs<'static> {
    CopyArgs {
        source_stateid: Stateid::ANONYMOUS,
        destination_stateid: Stateid::ANONYMOUS,
        source_offset,
        destination_offset,
        count,
        requirements: CopyRequirements { consecutive: true, synchronous: true },
        source_servers: Vec::new(),
    }
}

fn copied(result: &ResOp<'_>) -> CopyOk {
    match result {
        ResOp::Copy(ResOr::Ok(ok)) => *ok,
        other => panic!("{other:?}"),
    }
}

#[test]
fn copy_is_synchronous_and_tells_how_much_was_written() {
    for volume in Volume::both() {
        volume.file("from", 0, &[(0, b"0123456789")]);
        volume.file("to", 0, &[(0, b"abc")]);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let client = Client::new(Caller::root(&server), 2);
        let mut wanted = args(2, 1, 5);
        wanted.requirements.synchronous = false;
        let ok = copied(&client.between(FROM, TO, ArgOp::Copy(wanted)).1);
        assert_eq!((ok.response.count, ok.response.callback_id, ok.response.committed), (5, None, StableHow::Unstable));
        assert!(ok.requirements.synchronous && ok.requirements.consecutive);
        assert_eq!(volume.bytes("to"), b"a23456");
        assert_eq!(copied(&client.between(FROM, TO, ArgOp::Copy(args(8, 0, 0))).1).response.count, 2);
        assert_eq!(volume.bytes("to"), b"893456");
    }
}

#[test]
fn copy_goes_between_exports_of_different_kinds() {
    let (memory, host) = (Volume::memory(), Volume::host());
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    memory.file("from", 0, &[(0, &bytes)]);
    host.file("to", 0, &[]);
    memory.file("back", 0, &[]);
    let server = server(vec![export("/memory", memory.fs.clone()), export("/host", host.fs.clone())]);
    let client = Client::new(Caller::root(&server), 2);
    let there = copied(&client.between("/memory/from", "/host/to", ArgOp::Copy(args(0, 0, 0))).1);
    assert_eq!(there.response.count, 1_000_000);
    assert_eq!(host.bytes("to"), bytes);
    let back = copied(&client.between("/host/to", "/memory/back", ArgOp::Copy(args(0, 0, 0))).1);
    assert_eq!(back.response.count, 1_000_000);
    assert_eq!(memory.bytes("back"), bytes);
}

#[test]
fn copy_beyond_the_source_onto_itself_or_from_another_server_is_refused() {
    let volume = Volume::memory();
    volume.file("from", 100, &[]);
    volume.file("to", 0, &[]);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::new(Caller::root(&server), 2);
    for (from, to, wanted) in [(FROM, TO, args(101, 0, 0)), (FROM, TO, args(50, 0, 51)), (FROM, FROM, args(0, 50, 51))]
    {
        assert_eq!(client.between(from, to, ArgOp::Copy(wanted.clone())).0, Status::Inval, "{wanted:?}");
    }
    assert_eq!(client.between(FROM, FROM, ArgOp::Copy(args(0, 50, 50))).0, Status::Ok);
    assert_eq!(client.between(FROM, EXPORT, ArgOp::Copy(args(0, 0, 1))).0, Status::IsDir);
    let mut foreign = args(0, 0, 1);
    foreign.source_servers = vec![NetLoc::Name(ServerName(b"other"))];
    assert_eq!(client.between(FROM, TO, ArgOp::Copy(foreign)).0, Status::NotSupp);
    assert_eq!(client.on(TO, ArgOp::Copy(args(0, 0, 1))).0, Status::NoFileHandle);
}

#[test]
fn clone_shares_where_the_file_system_can_and_is_not_supported_where_it_cannot() {
    let clone = CloneArgs {
        source_stateid: Stateid::ANONYMOUS,
        destination_stateid: Stateid::ANONYMOUS,
        source_offset: 0,
        destination_offset: 0,
        count: 0,
    };
    for volume in Volume::both() {
        volume.file("from", 0, &[(0, &[3; 8192])]);
        volume.file("to", 0, &[]);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let status = Client::new(Caller::root(&server), 2).between(FROM, TO, ArgOp::Clone(clone)).0;
        match status {
            Status::Ok if volume.is_host() => assert_eq!(volume.bytes("to"), volume.bytes("from")),
            status => assert_eq!(status, Status::NotSupp),
        }
    }
}

#[test]
fn write_same_is_not_supported() {
    let volume = Volume::memory();
    volume.file("to", 0, &[]);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::new(Caller::root(&server), 2);
    let block = AppDataBlock {
        offset: 0,
        block_bytes: 512,
        blocks: 1,
        number_offset: u64::MAX,
        first_number: 0,
        pattern_offset: 0,
        pattern: b"x",
    };
    let args = WriteSameArgs { stateid: Stateid::ANONYMOUS, stable: StableHow::Unstable, block };
    assert_eq!(client.on(TO, ArgOp::WriteSame(args)).0, Status::NotSupp);
}
