//! Two exports of one directory: what is held of a file by one path counts by the other.

use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs3::StableHow;
use proto::nfs4::{
    Component, CompoundOperation, CreateHow, Delegation, Fattr, FileHandle, Getfh, Lock, LockArgs, LockType, Locker,
    Open, OpenArgs, OpenClaim, OpenHow, Res, ResOr, SHARE_ACCESS_BOTH, SHARE_ACCESS_READ, SHARE_DENY_NONE,
    SHARE_DENY_WRITE, StateOwner, Stateid, Status, WANT_NO_DELEG,
};
use server::{DelegationPolicy, Destination, ExportOptions, Server, Squash};

use testing::Scratch;
use testing::caller::{Caller, WORKERS, export_with, nfs3, server};
use testing::session::Session;

const FIRST: &str = "/first";
const SECOND: &str = "/second";

/// A directory that is exported under two names, or `None` where the kernel's handles are not available.
struct Overlap {
    _base: Scratch,
    server: Server,
}

impl Overlap {
    fn new() -> Option<Overlap> {
        let base = Scratch::new();
        base.dir("top");
        let open = |path: &str| {
            let state_dir = Some(base.path("state"));
            let options =
                HostOptions { handle_form: HandleForm::Kernel, state_dir, workers: WORKERS, ..HostOptions::default() };
            HostFs::open(&base.path(path), options)
        };
        let (Ok(first), Ok(second)) = (open("top"), open("top")) else {
            println!("skipped: files cannot be opened by the kernel's handles here");
            return None;
        };
        let options =
            ExportOptions { squash: Squash::None, delegations: DelegationPolicy::Always, ..ExportOptions::default() };
        let exports =
            vec![export_with(FIRST, Arc::new(first), options), export_with(SECOND, Arc::new(second), options)];
        let server = server(exports);
        Some(Overlap { _base: base, server })
    }

    fn session(&self, name: &[u8]) -> Session<'_> {
        Session::named(Caller::root(&self.server), 1, name)
    }
}

fn open(share_deny: u32) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
        share_deny,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(b"f")),
    }
}

fn try_open(session: &Session<'_>, dir: &str, deny: u32) -> Result<(Stateid, FileHandle), Status> {
    let mut results = session.call(&session.begin().path(dir).op::<Open>(&open(deny)).op::<Getfh>(&()));
    match results.skip_path(dir).take::<Open>() {
        Res::Ok(opened) => Ok((opened.stateid, results.handle())),
        Res::Fail(status) => Err(status),
    }
}

fn lock(session: &Session<'_>, path: &str, open: Stateid, owner: &[u8]) -> <Lock as CompoundOperation>::Reply<'static> {
    let owner = StateOwner { client: proto::nfs4::ClientId(0), owner };
    let locker = Locker::New { open_seqid: 0, open_stateid: open, lock_seqid: 0, owner };
    let args = LockArgs { lock_type: LockType::Write, reclaim: false, offset: 0, length: 10, locker };
    session.call(&session.begin().path(path).op::<Lock>(&args)).skip_path(path).take::<Lock>()
}

#[test]
fn share_reservation_holds_by_every_path_to_the_file() {
    let Some(overlap) = Overlap::new() else { return };
    let (a, b) = (overlap.session(b"a"), overlap.session(b"b"));
    try_open(&a, FIRST, SHARE_DENY_WRITE).unwrap();
    assert_eq!(try_open(&b, SECOND, SHARE_DENY_NONE).unwrap_err(), Status::ShareDenied);
    let caller = Caller::root(&overlap.server);
    let file = caller.handle_of(&caller.mount_path(SECOND), "f");
    let written = caller.write(&file, 0, StableHow::FileSync, b"data");
    assert_eq!(nfs3::failure(written), proto::nfs3::Status::Acces);
}

#[test]
fn lock_by_one_path_is_in_the_way_by_another() {
    let Some(overlap) = Overlap::new() else { return };
    let (a, b) = (overlap.session(b"a"), overlap.session(b"b"));
    let (open_a, handle_a) = try_open(&a, FIRST, SHARE_DENY_NONE).unwrap();
    let (open_b, handle_b) = try_open(&b, SECOND, SHARE_DENY_NONE).unwrap();
    assert_ne!(handle_a, handle_b, "each path has handles of its own");
    assert!(matches!(lock(&a, "/first/f", open_a, b"first"), ResOr::Ok(_)));
    // A lock of a process of the host would have no owner's name.
    let ResOr::Explained(denied) = lock(&b, "/second/f", open_b, b"second") else { panic!("it is locked") };
    assert_eq!(denied.owner.owner, b"first");
}

#[test]
fn last_name_that_goes_by_one_path_closes_the_file_that_was_read_by_the_other() {
    let Some(overlap) = Overlap::new() else { return };
    let caller = Caller::root(&overlap.server);
    let (first, second) = (caller.mount_path(FIRST), caller.mount_path(SECOND));
    caller.make_file(&second, "f");
    let by_first = caller.handle_of(&first, "f");
    nfs3::success(caller.read(&by_first, 0, 1));
    assert_eq!(overlap.server.open_files().open, 1);
    nfs3::success(caller.remove(&second, "f"));
    assert_eq!((overlap.server.open_files().open, overlap.server.open_files().purged), (0, 1));
}

#[test]
fn delegation_by_one_path_is_recalled_for_a_change_by_the_other() {
    let Some(overlap) = Overlap::new() else { return };
    let caller = Caller::root(&overlap.server);
    let holder = Session::with_back_channel(caller.over(7), 1, b"holder");
    let wanted = OpenArgs { share_access: SHARE_ACCESS_READ, ..open(SHARE_DENY_NONE) };
    let mut results = holder.call(&holder.begin().path(FIRST).op::<Open>(&wanted));
    let opened = results.skip_path(FIRST).take::<Open>();
    assert!(matches!(opened, Res::Ok(ok) if matches!(ok.delegation, Delegation::Read(_))));
    let other = caller.from("192.0.2.9:700").over(9);
    let second = other.mount_path(SECOND);
    assert_eq!(nfs3::failure(other.remove(&second, "f")), proto::nfs3::Status::Jukebox);
    let recall = overlap.server.next_transmit(other.now).expect("a recall");
    assert_eq!(recall.destination, Destination::Connection(7));
}
