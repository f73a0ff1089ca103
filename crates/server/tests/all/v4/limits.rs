//! Limits of sessions and of single arguments: what is too large gets its own status, before anything is changed.

use proto::nfs3::{self, Mkdir, MkdirArgs};
use proto::nfs4::{
    Attribute, BindConnToSession, BindConnToSessionArgs, ChannelAttrs, ClientDirection, Component, Create, CreateArgs,
    CreateType, DestroySession, DestroySessionArgs, Fattr, Getattr, GetattrArgs, Lookup, Read, ReadArgs, Readdir,
    ReaddirArgs, ReclaimComplete, ReclaimCompleteArgs, Sequence, SpecData, Stateid, Status, Write, WriteArgs,
};

use server::Server;

use testing::caller::nfs3::{at, mode, success as success3};
use testing::caller::{Caller, EXPORT, export, memory, memory_server, nfs2, settings};
use testing::compound::{COMPOUND, Compound, Results, failure, success};
use testing::session::{CHANNEL, Session};

const MIB: usize = 1 << 20;

fn directory(name: &str) -> CreateArgs<'_> {
    CreateArgs { kind: CreateType::Directory, name: Component(name.as_bytes()), attributes: Fattr::EMPTY }
}

fn status(caller: &Caller<'_>, compound: &Compound) -> Status {
    Results::parse(&caller.reply_to(&caller.message_of(COMPOUND, compound))).status
}

#[test]
fn request_somewhat_over_the_largest_grant_is_refused_in_its_session() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let most = ChannelAttrs { max_request_size: u32::MAX, max_response_size: u32::MAX, ..CHANNEL };
    let session = Session::with_channel(caller, 1, b"client", most);
    let granted = session.fore.max_request_size as usize;
    // The reader of connections accepts such a request, so that the session can answer it.
    assert_eq!(granted + rpc::record::OVER_GRANT_BYTES, rpc::record::Limits::default().max_bytes);
    let data = vec![7; granted];
    let stable = proto::nfs4::StableHow::FileSync;
    let write = WriteArgs { stateid: Stateid::ANONYMOUS, offset: 0, stable, data: &data };
    let file = caller.make_file(&caller.mount(), "f");
    let compound = session.begin().root().lookup("f").op::<Write>(&write);
    assert_eq!(status(&caller, &compound), Status::ReqTooBig);
    assert_eq!(caller.attributes(&file).size, 0);
}

#[test]
fn write_above_the_largest_size_is_short_in_every_version() {
    for max_transfer_bytes in [64 << 10, 1 << 20] {
        let mut settings = settings();
        settings.max_transfer_bytes = max_transfer_bytes;
        let server = Server::new(settings, vec![export(EXPORT, memory())]).unwrap();
        let caller = Caller::root(&server);
        let file = caller.make_file(&caller.mount(), "f");
        let data = vec![7; MIB + 1000];
        let written = success3(caller.write(&file, 0, nfs3::StableHow::FileSync, &data));
        assert_eq!(written.count, max_transfer_bytes);
        let large = ChannelAttrs { max_request_size: 2 << 20, ..CHANNEL };
        let session = Session::with_channel(caller, 1, b"client", large);
        let stable = proto::nfs4::StableHow::FileSync;
        let write = WriteArgs { stateid: Stateid::ANONYMOUS, offset: 0, stable, data: &data };
        let mut results = session.call(&session.begin().root().lookup("f").op::<Write>(&write));
        success(results.skip_root().take::<Lookup>());
        assert_eq!(success(results.take::<Write>()).count, max_transfer_bytes);
        assert_eq!(caller.attributes(&file).size, max_transfer_bytes.into());
    }
}

#[test]
fn change_whose_result_would_not_fit_is_not_made() {
    let server = memory_server();
    let caller = Caller::root(&server);
    // The reply to SEQUENCE and three operations without results has 112 bytes, with those of CREATE 156.
    for (cached, response, refusal) in [(140, 4096, Status::RepTooBigToCache), (140, 140, Status::RepTooBig)] {
        let channel = ChannelAttrs { max_response_size: response, max_response_size_cached: cached, ..CHANNEL };
        let session = Session::with_channel(caller, 1, format!("{refusal:?}").as_bytes(), channel);
        assert_eq!(status(&caller, &session.begin().root().op::<Create>(&directory("d"))), refusal);
        assert_eq!(status(&caller, &session.begin().root().lookup("d")), Status::NoEnt);
    }
}

#[test]
fn read_and_listing_that_do_not_fit_into_the_reply_are_shortened() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "f");
    success3(caller.write(&file, 0, nfs3::StableHow::FileSync, &[7; 10_000]));
    for number in 0..100 {
        caller.make_file(&root, &format!("a-file-of-many-{number}"));
    }
    let channel = ChannelAttrs { max_response_size: 1000, max_response_size_cached: 4096, ..CHANNEL };
    let session = Session::with_channel(caller, 1, b"client", channel);
    let read = ReadArgs { stateid: Stateid::ANONYMOUS, offset: 0, count: 5000 };
    let mut results = session.call(&session.begin().root().lookup("f").op::<Read>(&read));
    success(results.skip_root().take::<Lookup>());
    let read = success(results.take::<Read>());
    assert!((600..1000).contains(&read.data.len()) && !read.head.eof, "{} bytes", read.data.len());
    let listing = ReaddirArgs {
        cookie: 0,
        verifier: [0; 8],
        dir_count: 5000,
        max_count: 5000,
        request: Attribute::set(&[Attribute::FileId]),
    };
    let mut results = session.call(&session.begin().root().op::<Readdir>(&listing));
    let listed = success(results.skip_root().take::<Readdir>());
    assert!(listed.entries.len() > 5 && !listed.eof, "{} entries", listed.entries.len());
}

#[test]
fn connection_is_bound_by_nothing_but_a_request_of_its_own_and_a_session_ends_with_its_last_operation() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let bind = BindConnToSessionArgs { session: session.id, direction: ClientDirection::Fore, use_rdma: false };
    let mut results = session.call(&session.begin().op::<BindConnToSession>(&bind));
    assert_eq!(failure(results.take::<BindConnToSession>()), Status::NotOnlyOp);
    let destroy = DestroySessionArgs { session: session.id };
    let getattr = GetattrArgs { request: Attribute::set(&[Attribute::Type]) };
    let mut results = session.call(&session.begin().root().op::<DestroySession>(&destroy).op::<Getattr>(&getattr));
    assert_eq!(failure(results.skip_root().take::<DestroySession>()), Status::NotOnlyOp);
    let mut results = session.call(&session.begin().root().op::<DestroySession>(&destroy));
    success(results.skip_root().take::<DestroySession>());
}

#[test]
fn session_is_unknown_to_other_minor_versions() {
    let server = memory_server();
    for (minor, other) in [(1, 2), (2, 1)] {
        let session = Session::named(Caller::root(&server), minor, format!("client of 4.{minor}").as_bytes());
        let sequence = session.sequence(session.next.get());
        let elsewhere = Compound::new(other).op::<Sequence>(&sequence).root();
        assert_eq!(status(&session.caller, &elsewhere), Status::BadSession);
        session.call(&session.begin().root());
    }
}

#[test]
fn reclaims_of_one_file_system_are_complete_only_for_a_current_file() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let one = ReclaimCompleteArgs { one_fs: true };
    let mut results = session.call(&session.begin().op::<ReclaimComplete>(&one));
    assert_eq!(failure(results.take::<ReclaimComplete>()), Status::NoFileHandle);
    let mut results = session.call(&session.begin().root().op::<ReclaimComplete>(&one));
    success(results.skip_root().take::<ReclaimComplete>());
}

#[test]
fn target_of_a_link_that_is_too_long_is_a_name_that_is_too_long_in_every_version() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let session = Session::new(caller, 1);
    for length in [4097, 9000, 70_000] {
        let target = vec![b'x'; length];
        assert_eq!(testing::caller::nfs3::failure(caller.symlink(&root, "l", &target)), nfs3::Status::NameTooLong);
        let link = CreateArgs { kind: CreateType::Symlink(&target), name: Component(b"l"), attributes: Fattr::EMPTY };
        let mut results = session.call(&session.begin().root().op::<Create>(&link));
        assert_eq!(failure(results.skip_root().take::<Create>()), Status::NameTooLong);
        let dir = nfs2::Caller2(caller).mount();
        let args = proto::nfs2::SymlinkArgs {
            place: nfs2::at(&dir, "l"),
            target: &target,
            attributes: proto::nfs2::Sattr::default(),
        };
        let refused = caller.call::<proto::nfs2::Symlink>(&args);
        assert_eq!(nfs2::failure(refused), proto::nfs2::Status::NameTooLong);
    }
}

/// Clients of NFSv3 send the attributes of other files, sizes included.
#[test]
fn size_of_a_new_directory_is_ignored_before_nfsv4() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let attributes = nfs3::Sattr { size: Some(0), ..mode(0o700) };
    success3(caller.call::<Mkdir>(&MkdirArgs { place: at(&caller.mount(), "d"), attributes }));
}

#[test]
fn size_of_anything_but_a_regular_file_is_invalid_in_nfsv4() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let device = SpecData { major: 1, minor: 3 };
    let kinds = [
        CreateType::Directory,
        CreateType::Symlink(b"target"),
        CreateType::Fifo,
        CreateType::Socket,
        CreateType::BlockDevice(device),
        CreateType::CharDevice(device),
    ];
    for (minor, name) in [(1, b"first "), (2, b"second")] {
        let session = Session::named(caller, minor, name);
        for (kind, size_bytes) in kinds.into_iter().zip([0_u64, 10].into_iter().cycle()) {
            let attributes = Fattr { mask: Attribute::set(&[Attribute::Size]), values: &size_bytes.to_be_bytes() };
            let args = CreateArgs { kind, attributes, ..directory("e") };
            let refused = session.call(&session.begin().root().op::<Create>(&args)).skip_root().take::<Create>();
            assert_eq!(failure(refused), Status::Inval, "{kind:?} with {size_bytes} bytes");
        }
        let found = session.call(&session.begin().root().lookup("e")).skip_root().take::<Lookup>();
        assert_eq!(failure(found), Status::NoEnt);
    }
}
