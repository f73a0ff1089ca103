//! The operations that came with minor version 2, and those on extended attributes.

use super::*;

#[test]
fn room_is_reserved_and_given_back() {
    arguments::<Allocate>(&[STATEID, RANGE], AllocateArgs { stateid: STATEID_VALUE, offset: 1 << 32, length: 4096 });
    reply::<Allocate>(&["0000001c"], Res::Fail(Status::NoSpc));
    arguments::<Deallocate>(
        &[STATEID, RANGE],
        DeallocateArgs { stateid: STATEID_VALUE, offset: 1 << 32, length: 4096 },
    );
    reply::<Deallocate>(&[OK], Res::Ok(()));
}

/// One server by name, one by URL and one by address.
const SERVERS: &str = "00000003 00000001 00000004 'host' 00000002 00000007 'nfs://h' 00 \
                       00000003 00000003 'tcp' 00 0000000d '127.0.0.1.8.1' 000000";

fn servers() -> Vec<NetLoc<'static>> {
    vec![
        NetLoc::Name(ServerName(b"host")),
        NetLoc::Url(b"nfs://h"),
        NetLoc::Address(NetAddr { netid: b"tcp", address: b"127.0.0.1.8.1" }),
    ]
}

/// A copy of 4096 bytes in progress, which are safe so far.
const RESPONSE: &str = "00000001 00000001 f1f2f3f4f5f6f7f8f9fafbfc 0000000000001000 00000002 0807060504030201";
const RESPONSE_VALUE: WriteResponse = WriteResponse {
    callback_id: Some(STATEID_2_VALUE),
    count: 4096,
    committed: StableHow::FileSync,
    verifier: VERIFIER_VALUE,
};

#[test]
fn copy() {
    let requirements = CopyRequirements { consecutive: true, synchronous: false };
    for (bytes, source_servers) in [("00000000", vec![]), (SERVERS, servers())] {
        arguments::<Copy>(
            &[STATEID, STATEID_2, RANGE, "0000000000000007", YES, NO, bytes],
            CopyArgs {
                source_stateid: STATEID_VALUE,
                destination_stateid: STATEID_2_VALUE,
                source_offset: 1 << 32,
                destination_offset: 4096,
                count: 7,
                requirements,
                source_servers,
            },
        );
    }
    reply::<Copy>(&[OK, RESPONSE, YES, NO], ResOr::Ok(CopyOk { response: RESPONSE_VALUE, requirements }));
    let done = WriteResponse { callback_id: None, ..RESPONSE_VALUE };
    reply::<Copy>(
        &[OK, NO, "0000000000001000 00000002", VERIFIER, YES, NO],
        ResOr::Ok(CopyOk { response: done, requirements }),
    );
    reply::<Copy>(&["0000276e", YES, NO], ResOr::Explained(requirements));
    reply::<Copy>(&["0000276b"], ResOr::Fail(Status::OffloadDenied));
    bad::<NetLoc<'_>>(&["00000000"]);
}

#[test]
fn copy_notify() {
    arguments::<CopyNotify>(
        &[STATEID, "00000001 00000004 'host'"],
        CopyNotifyArgs { source_stateid: STATEID_VALUE, destination_server: NetLoc::Name(ServerName(b"host")) },
    );
    reply::<CopyNotify>(
        &[OK, TIME, STATEID_2, SERVERS],
        Res::Ok(CopyNotifyOk { lease_time: TIME_VALUE, stateid: STATEID_2_VALUE, source_servers: servers() }),
    );
    reply::<CopyNotify>(&["00002714"], Res::Fail(Status::NotSupp));
}

#[test]
fn copies_are_watched_and_cancelled() {
    arguments::<OffloadCancel>(&[STATEID], OffloadCancelArgs { stateid: STATEID_VALUE });
    reply::<OffloadCancel>(&["0000276a"], Res::Fail(Status::UnionNotSupp));
    arguments::<OffloadStatus>(&[STATEID], OffloadStatusArgs { stateid: STATEID_VALUE });
    reply::<OffloadStatus>(&[OK, "0000000000001000", NO], Res::Ok(OffloadStatusOk { count: 4096, complete: None }));
    reply::<OffloadStatus>(
        &[OK, "0000000000001000", YES, "0000001c"],
        Res::Ok(OffloadStatusOk { count: 4096, complete: Some(Status::NoSpc) }),
    );
}

#[test]
fn io_advise() {
    let advice = [
        IoAdvice::Normal,
        IoAdvice::Sequential,
        IoAdvice::SequentialBackwards,
        IoAdvice::Random,
        IoAdvice::WillNeed,
        IoAdvice::WillNeedOpportunistic,
        IoAdvice::DontNeed,
        IoAdvice::NoReuse,
        IoAdvice::Read,
        IoAdvice::Write,
        IoAdvice::InitProximity,
    ];
    let hints = Bitmap::of(&advice.map(|advice| advice as u32));
    arguments::<IoAdvise>(
        &[STATEID, RANGE, "00000001 000007ff"],
        IoAdviseArgs { stateid: STATEID_VALUE, offset: 1 << 32, count: 4096, hints },
    );
    reply::<IoAdvise>(&[OK, "00000001 00000002"], Res::Ok(Bitmap::of(&[IoAdvice::Sequential as u32])));
    reply::<IoAdvise>(&[OK, "00000000"], Res::Ok(Bitmap::EMPTY));
}

#[test]
fn read_plus() {
    arguments::<ReadPlus>(
        &[STATEID, "0000000100000000 00001000"],
        ReadPlusArgs { stateid: STATEID_VALUE, offset: 1 << 32, count: 4096 },
    );
    let segments = vec![
        ReadPlusSegment::Data { offset: 4096, data: b"hello" },
        ReadPlusSegment::Hole { offset: 4101, length: 1 << 32 },
    ];
    reply::<ReadPlus>(
        &[
            OK,
            YES,
            "00000002",
            "00000000 0000000000001000 00000005 'hello' 000000",
            "00000001 0000000000001005 0000000100000000",
        ],
        Res::Ok(ReadPlusOk { eof: true, segments }),
    );
    reply::<ReadPlus>(&[OK, YES, "00000000"], Res::Ok(ReadPlusOk { eof: true, segments: vec![] }));
    reply::<ReadPlus>(&["0000276a"], Res::Fail(Status::UnionNotSupp));
    bad::<ReadPlusSegment<'_>>(&["00000002"]);
}

#[test]
fn heads_of_read_plus_are_what_goes_before_the_segments_and_their_data() {
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    ReadPlusHead { eof: false, segments: 2 }.encode(&mut to);
    ReadPlusDataHead { offset: 0 }.encode(&mut to);
    to.opaque(b"abcd");
    ReadPlusSegment::Hole { offset: 4, length: 8 }.encode(&mut to);
    let segments =
        vec![ReadPlusSegment::Data { offset: 0, data: b"abcd" }, ReadPlusSegment::Hole { offset: 4, length: 8 }];
    let whole = ReadPlusOk { eof: false, segments };
    assert_eq!(ReadPlusOk::decode(&mut Decoder::new(buffer.as_slice())), Ok(whole));
}

#[test]
fn seek() {
    for (what, word) in [(DataContent::Data, "00000000"), (DataContent::Hole, "00000001")] {
        arguments::<Seek>(
            &[STATEID, "0000000100000000", word],
            SeekArgs { stateid: STATEID_VALUE, offset: 1 << 32, what },
        );
    }
    reply::<Seek>(&[OK, NO, "0000000100001000"], Res::Ok(SeekOk { eof: false, offset: (1 << 32) + 4096 }));
    reply::<Seek>(&["00000006"], Res::Fail(Status::NxIo));
    bad::<DataContent>(&["00000002"]);
}

#[test]
fn write_same() {
    arguments::<WriteSame>(
        &[STATEID, "00000001", RANGE, "0000000000000010 ffffffffffffffff 00000003 0000000000000008 00000002 'xy' 0000"],
        WriteSameArgs {
            stateid: STATEID_VALUE,
            stable: StableHow::DataSync,
            block: AppDataBlock {
                offset: 1 << 32,
                block_bytes: 4096,
                blocks: 16,
                number_offset: u64::MAX,
                first_number: 3,
                pattern_offset: 8,
                pattern: b"xy",
            },
        },
    );
    reply::<WriteSame>(&[OK, RESPONSE], Res::Ok(RESPONSE_VALUE));
    reply::<WriteSame>(&["00002714"], Res::Fail(Status::NotSupp));
}

#[test]
fn clone() {
    arguments::<Clone>(
        &[STATEID, STATEID_2, RANGE, "0000000000000007"],
        CloneArgs {
            source_stateid: STATEID_VALUE,
            destination_stateid: STATEID_2_VALUE,
            source_offset: 1 << 32,
            destination_offset: 4096,
            count: 7,
        },
    );
    reply::<Clone>(&["00000016"], Res::Fail(Status::Inval));
}

#[test]
fn extended_attributes() {
    arguments::<Getxattr>(&[NAME], GetxattrArgs { name: ETC });
    reply::<Getxattr>(&[OK, "00000002 'ab' 0000"], Res::Ok(GetxattrOk { value: b"ab" }));
    reply::<Getxattr>(&["0000276f"], Res::Fail(Status::NoXattr));
    let options = [SetxattrOption::Either, SetxattrOption::Create, SetxattrOption::Replace];
    for (number, option) in (0..).zip(options) {
        arguments::<Setxattr>(
            &[&format!("{number:08x}"), NAME, "00000002 'ab' 0000"],
            SetxattrArgs { option, name: ETC, value: b"ab" },
        );
    }
    bad::<SetxattrOption>(&["00000003"]);
    reply::<Setxattr>(&[OK, CHANGE], Res::Ok(CHANGE_VALUE));
    reply::<Setxattr>(&["00002770"], Res::Fail(Status::Xattr2Big));
    arguments::<Listxattrs>(&["0000000000000002 00001000"], ListxattrsArgs { cookie: 2, max_count: 4096 });
    reply::<Listxattrs>(
        &[OK, "0000000000000004 00000002", NAME, "00000001 'x' 000000", YES],
        Res::Ok(ListxattrsOk { cookie: 4, names: vec![ETC, Component(b"x")], eof: true }),
    );
    reply::<Listxattrs>(&["00002715"], Res::Fail(Status::TooSmall));
    arguments::<Removexattr>(&[NAME], RemovexattrArgs { name: ETC });
    reply::<Removexattr>(&[OK, CHANGE], Res::Ok(CHANGE_VALUE));
}
