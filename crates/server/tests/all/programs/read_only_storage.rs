//! A host file system that is mounted read-only, from the start or while it is served.

use proto::nfs2;
use proto::nfs3::{ACCESS_DELETE, ACCESS_EXTEND, ACCESS_MODIFY, ACCESS_READ, CreateHow, FileHandle, StableHow, Status};
use proto::nfs4::{
    self, AccessArgs, Component, Open, OpenArgs, OpenClaim, OpenHow, SHARE_ACCESS_READ, SHARE_ACCESS_WRITE,
    SHARE_DENY_NONE, StateOwner, WANT_NO_DELEG,
};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use testing::caller::nfs2::Caller2;
use testing::caller::nfs3::{failure, mode};
use testing::caller::{Caller, Directory, EXPORT, export, server};
use testing::compound::{self, Compound};
use testing::session::Session;

const CHANGES: u32 = ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE;

/// A directory that is a mount of its own; `None` where this user may not mount.
struct Mounted(Directory);

impl Mounted {
    fn new() -> Option<Mounted> {
        let directory = Directory::new();
        let none: Option<&std::ffi::CStr> = None;
        match mount("none", directory.export(), "tmpfs", MountFlags::empty(), none) {
            Ok(()) => Some(Mounted(directory)),
            Err(error) => {
                eprintln!("skipped: cannot mount here: {error}");
                None
            }
        }
    }

    fn set_read_only(&self, is_read_only: bool) {
        let flag = if is_read_only { MountFlags::RDONLY } else { MountFlags::empty() };
        mount_remount(self.0.export(), MountFlags::BIND | flag, "").unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(self.0.export(), UnmountFlags::DETACH).unwrap();
    }
}

/// What the server grants of the changes, by ACCESS of NFSv3 and NFSv4.
fn changes(caller: Caller<'_>, file: &FileHandle) -> (u32, u32) {
    let args = AccessArgs { access: CHANGES };
    let mut results = caller.compound(&Compound::new(0).root().lookup("file").op::<nfs4::Access>(&args));
    let path = format!("{EXPORT}/file");
    (caller.access(file, CHANGES), compound::success(results.skip_path(&path).take::<nfs4::Access>()).access)
}

/// The status of an OPEN of NFSv4.
fn open(session: &Session<'_>, share_access: u32) -> nfs4::Status {
    let open = OpenArgs {
        seqid: 0,
        share_access: share_access | WANT_NO_DELEG,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(Component(b"file")),
    };
    match session.call(&session.begin().root().op::<Open>(&open)).skip_root().take::<Open>() {
        nfs4::Res::Ok(_) => nfs4::Status::Ok,
        nfs4::Res::Fail(status) => status,
    }
}

fn check(session: &Session<'_>, is_read_only: bool) {
    let caller = session.caller;
    let root = caller.mount();
    let file = caller.handle_of(&root, "file");
    assert_eq!(open(session, SHARE_ACCESS_READ), nfs4::Status::Ok);
    if !is_read_only {
        assert_eq!(changes(caller, &file), (ACCESS_MODIFY | ACCESS_EXTEND, ACCESS_MODIFY | ACCESS_EXTEND));
        assert_eq!(caller.access(&root, CHANGES), CHANGES);
        return;
    }
    assert_eq!(changes(caller, &file), (0, 0));
    assert_eq!(caller.access(&root, CHANGES | ACCESS_READ), ACCESS_READ);
    assert_eq!(open(session, SHARE_ACCESS_WRITE), nfs4::Status::RoFs);
    assert_eq!(failure(caller.create(&root, "new", CreateHow::Unchecked(mode(0o644)))), Status::RoFs);
    assert_eq!(failure(caller.write(&file, 0, StableHow::Unstable, b"x")), Status::RoFs);
    let v2 = Caller2(caller);
    let made = v2.create(&v2.mount(), "new", testing::caller::nfs2::mode(0o644));
    assert_eq!(testing::caller::nfs2::failure(made), nfs2::Status::RoFs);
}

#[test]
fn storage_that_becomes_read_only_grants_no_changes_and_no_open_for_writing_until_it_is_writable_again() {
    let Some(mounted) = Mounted::new() else { return };
    std::fs::write(mounted.0.export().join("file"), b"bytes").unwrap();
    {
        let server = server(vec![export(EXPORT, mounted.0.open())]);
        let session = Session::new(Caller::root(&server).myself(), 1);
        for is_read_only in [false, true, false] {
            mounted.set_read_only(is_read_only);
            check(&session, is_read_only);
        }
    }
    mounted.set_read_only(true);
    let from_the_start = server(vec![export(EXPORT, mounted.0.open())]);
    check(&Session::new(Caller::root(&from_the_start).myself(), 1), true);
}
