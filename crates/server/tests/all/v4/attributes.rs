//! GETATTR, VERIFY and the attributes that there are (RFC 7530 §5, RFC 8881 §5).

use std::sync::Arc;
use std::time::SystemTime;

use buffer::Buffer;
use fs_fault::{FaultFs, FaultPlan, Operation};
use proto::nfs4::{
    Attribute, AttributeAccess, AttributeValue, Bitmap, Component, CreateHow, Fattr, FileType, Getattr, GetattrArgs,
    Lookup, Nverify, NverifyArgs, OpNumber, Open, OpenArgs, OpenClaim, OpenHow, SHARE_ACCESS_BOTH, SHARE_DENY_NONE,
    Setattr, SetattrArgs, StableHow, StateOwner, Stateid, Status, Time, Verify, VerifyArgs, Write, WriteArgs,
};

use testing::caller::{Caller, Directory, EXPORT, export, memory, memory_server, server};
use testing::compound::{Compound, Results, failure, success};
use testing::session::Session;

fn getattr(compound: Compound, request: Bitmap) -> Compound {
    compound.root().op::<Getattr>(&GetattrArgs { request })
}

/// The attributes of the export's root, over whichever minor version.
fn attributes_of_root(caller: Caller<'_>, minor: u32, request: Bitmap) -> Fattr<'static> {
    if minor == 0 {
        return success(caller.compound(&getattr(Compound::new(0), request)).skip_root().take::<Getattr>());
    }
    let session = Session::named(caller, minor, format!("{request:?} in 4.{minor}").as_bytes());
    success(session.call(&getattr(session.begin(), request)).skip_root().take::<Getattr>())
}

fn supported(caller: Caller<'_>, minor: u32) -> Bitmap {
    let fattr = attributes_of_root(caller, minor, Attribute::set(&[Attribute::SupportedAttrs]));
    match fattr.values().next() {
        Some(Ok(AttributeValue::SupportedAttrs(supported))) => supported,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_supported_attribute_that_can_be_read_is_told() {
    let server = memory_server();
    for minor in 0..=2 {
        let caller = Caller::root(&server);
        let supported = supported(caller, minor);
        let can_be_read = |number: &u32| {
            Attribute::from_number(*number).is_some_and(|attribute| attribute.info().access != AttributeAccess::Set)
        };
        let readable: Vec<u32> = supported.iter().filter(can_be_read).collect();
        let fattr = attributes_of_root(caller, minor, Bitmap::of(&readable));
        let told: Vec<u32> = fattr.mask.iter().collect();
        assert_eq!(told, readable, "4.{minor}");
        let values: Result<Vec<_>, _> = fattr.values().collect();
        assert_eq!(values.unwrap().len(), told.len());
    }
}

#[test]
fn time_of_creation_is_told_where_the_file_system_has_it() {
    let created = Attribute::set(&[Attribute::TimeCreate]);
    let directory = Directory::new();
    let born = std::fs::metadata(directory.export()).unwrap().created();
    let server = server(vec![export(EXPORT, directory.open())]);
    let caller = Caller::root(&server).myself();
    let told = attributes_of_root(caller, 2, created).values().next().transpose().unwrap();
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let expected = born.ok().map(seconds).map(|born| {
        AttributeValue::TimeCreate(Time { seconds: born.as_secs().cast_signed(), nanoseconds: born.subsec_nanos() })
    });
    assert_eq!(told, expected);
    assert_eq!(supported(caller, 2).contains(Attribute::TimeCreate.number()), expected.is_some());
    let mut results = caller.compound(&Compound::new(0).path("/").op::<Getattr>(&GetattrArgs { request: created }));
    let of_the_tree = success(results.skip_path("/").take::<Getattr>());
    assert!(of_the_tree.mask.is_empty(), "the tree above the exports was never created");
}

#[test]
fn attribute_has_the_same_value_alone_and_among_others() {
    let server = memory_server();
    let caller = Caller::root(&server);
    // The attributes that stat(2) has, and then one that it lacks.
    let usual = [1, 3, 4, 8, 20, 33, 35, 36, 37, 41, 45, 47, 50, 52, 53, 55];
    let requested = |numbers: &[u32]| attributes_of_root(caller, 0, Bitmap::of(numbers));
    let all = requested(&usual);
    assert_eq!(all.mask, Bitmap::of(&usual));
    let together: Vec<_> = all.values().map(Result::unwrap).collect();
    let with_rare = requested(&[&usual[..], &[Attribute::TimeDelta.number()]].concat());
    let is_rare = |value: &AttributeValue<'_>| value.attribute() == Attribute::TimeDelta;
    let beside_rare: Vec<_> = with_rare.values().map(Result::unwrap).filter(|value| !is_rare(value)).collect();
    assert_eq!(beside_rare, together);
    for (number, value) in usual.iter().zip(&together) {
        let alone: Vec<_> = requested(&[*number]).values().map(Result::unwrap).collect();
        assert_eq!(alone, std::slice::from_ref(value));
    }
}

#[test]
fn attribute_of_a_later_minor_version_is_not_supported_before() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let in_version = [0, 1, 2].map(|minor| supported(caller, minor));
    let has = |minor: usize, attribute: Attribute| in_version[minor].contains(attribute.number());
    assert!(!has(0, Attribute::SuppAttrExclCreat) && has(1, Attribute::SuppAttrExclCreat));
    assert!(!has(1, Attribute::ModeUmask) && has(2, Attribute::ModeUmask));
}

#[test]
fn attributes_that_were_not_asked_for_or_do_not_exist_are_left_out() {
    let server = memory_server();
    let request = Attribute::set(&[Attribute::Type]).union(Bitmap::of(&[120]));
    let fattr = attributes_of_root(Caller::root(&server), 0, request);
    let values: Vec<_> = fattr.values().map(Result::unwrap).collect();
    assert_eq!(values, [AttributeValue::Type(FileType::Directory)]);
}

#[test]
fn verify_goes_on_when_all_is_the_same_and_nverify_when_not() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let same = attributes_of_root(caller, 0, Attribute::set(&[Attribute::Type, Attribute::FileId]));
    let mut buffer = Buffer::new();
    let other = Fattr::collect(&[AttributeValue::Type(FileType::Regular)], &mut buffer);
    let verify = |attributes| {
        let compound = Compound::new(0).root().op::<Verify>(&VerifyArgs { attributes });
        caller.compound(&compound).skip_root().take::<Verify>()
    };
    let nverify = |attributes| {
        let compound = Compound::new(0).root().op::<Nverify>(&NverifyArgs { attributes });
        caller.compound(&compound).skip_root().take::<Nverify>()
    };
    success(verify(same));
    assert_eq!(failure(verify(other)), Status::NotSame);
    assert_eq!(failure(nverify(same)), Status::Same);
    success(nverify(other));
}

#[test]
fn attributes_come_with_sessions_as_without() {
    let server = memory_server();
    let request = Attribute::set(&[Attribute::Type, Attribute::FileId, Attribute::FileHandle]);
    let caller = Caller::root(&server);
    let plain = attributes_of_root(caller, 0, request);
    for minor in [1, 2] {
        assert_eq!(attributes_of_root(caller, minor, request), plain);
    }
}

#[test]
fn attribute_that_can_only_be_set_is_invalid_to_ask_for() {
    let server = memory_server();
    let request = Attribute::set(&[Attribute::Type, Attribute::TimeModifySet]);
    let mut results = Caller::root(&server).compound(&getattr(Compound::new(0), request));
    assert_eq!(failure(results.skip_root().take::<Getattr>()), Status::Inval);
}

/// The size among attributes of which it is the only one.
fn size(fattr: &Fattr<'_>) -> u64 {
    match fattr.values().next() {
        Some(Ok(AttributeValue::Size(size))) => size,
        other => panic!("{other:?}"),
    }
}

fn write(offset: u64) -> WriteArgs<'static> {
    WriteArgs { stateid: Stateid::ANONYMOUS, offset, stable: StableHow::Unstable, data: b"data" }
}

fn truncating(name: &str) -> OpenArgs<'_> {
    let empty = Fattr::collect(&[AttributeValue::Size(0)], Box::leak(Box::default()));
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Unchecked(empty)),
        claim: OpenClaim::Null(Component(name.as_bytes())),
    }
}

/// One COMPOUND fetches attributes once for several operations, but never tells those from before its own change.
#[test]
fn attributes_within_a_compound_are_those_after_its_own_changes() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let request = Attribute::set(&[Attribute::Size]);
    let look = |compound: Compound| compound.op::<Getattr>(&GetattrArgs { request });
    let open = look(session.begin().root().op::<Open>(&truncating("f")));
    let all = look(look(open).op::<Write>(&write(0))).number(OpNumber::Savefh.number());
    let all = look(all.op::<Write>(&write(4))).number(OpNumber::Restorefh.number());
    let mut results = session.call(&look(all));
    success(results.skip_root().take::<Open>());
    let mut sizes = Vec::new();
    let mut take_size = |results: &mut Results| sizes.push(size(&success(results.take::<Getattr>())));
    take_size(&mut results);
    take_size(&mut results);
    success(results.take::<Write>());
    take_size(&mut results);
    assert_eq!(results.bare(), (OpNumber::Savefh.number(), Status::Ok));
    success(results.take::<Write>());
    take_size(&mut results);
    assert_eq!(results.bare(), (OpNumber::Restorefh.number(), Status::Ok));
    take_size(&mut results);
    results.end();
    assert_eq!(sizes, [0, 0, 4, 8, 8]);

    let both = session.begin().root().lookup("f");
    let both = look(look(both).root());
    let mut results = session.call(&look(both.op::<Open>(&truncating("f"))));
    success(results.skip_root().take::<Lookup>());
    assert_eq!(size(&success(results.take::<Getattr>())), 8);
    success(results.skip_root().take::<Getattr>());
    success(results.take::<Open>());
    assert_eq!(size(&success(results.take::<Getattr>())), 0, "OPEN truncated the file");
}

#[test]
fn setting_attributes_looks_at_the_file_no_more_than_its_lookup_and_tells_what_was_set() {
    let plan = FaultPlan::default();
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan.clone())))]);
    let session = Session::new(Caller::root(&server), 1);
    success(session.call(&session.begin().root().op::<Open>(&truncating("f"))).skip_root().take::<Open>());
    let looks = |compound: Compound| {
        let before = plan.calls(Operation::Attributes);
        let results = session.call(&compound);
        (plan.calls(Operation::Attributes) - before, results)
    };
    let attributes = Fattr::collect(&[AttributeValue::Size(7)], Box::leak(Box::default()));
    let request = Attribute::set(&[Attribute::Size]);
    let on_file = || session.begin().root().lookup("f");
    let (way, _) = looks(on_file());
    let set = on_file().op::<Setattr>(&SetattrArgs { stateid: Stateid::ANONYMOUS, attributes });
    let (all, mut results) = looks(set.op::<Getattr>(&GetattrArgs { request }));
    success(results.skip_root().take::<Lookup>());
    results.take::<Setattr>();
    assert_eq!(size(&success(results.take::<Getattr>())), 7);
    assert_eq!(all, way, "LOOKUP has told those before, and the change itself those after");
}
