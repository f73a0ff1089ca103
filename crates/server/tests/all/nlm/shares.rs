//! Share reservations.

use proto::nfs3::{self, FileHandle};
use proto::nlm::{
    NetObj, Share, ShareAccess, ShareArgs, ShareMode, ShareReservation, Status, Unshare, V1, V3, V4, Version,
};
use rpc::Rejection;

use crate::nlm::host::COOKIE;
use testing::caller::nfs3::failure;
use testing::caller::{Caller, memory_server};

fn reservation<'a>(owner: &'a str, file: &'a FileHandle, mode: ShareMode, access: ShareAccess) -> ShareArgs<'a> {
    let (caller_name, file, owner) = (&b"box"[..], NetObj(file.as_bytes()), NetObj(owner.as_bytes()));
    ShareArgs { cookie: COOKIE, share: ShareReservation { caller_name, file, owner, mode, access }, reclaim: false }
}

fn share<V: Version>(caller: &Caller<'_>, args: &ShareArgs<'_>) -> Status {
    let ok = caller.call::<Share<V>>(args);
    assert_eq!(ok.cookie, COOKIE);
    ok.status
}

#[test]
fn reservation_keeps_others_out_until_it_is_given_up() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let first = reservation("first", &file, ShareMode::DenyWrite, ShareAccess::Read);
    let second = reservation("second", &file, ShareMode::DenyNone, ShareAccess::Both);
    assert_eq!(share::<V4>(&caller, &first), Status::Granted);
    assert_eq!(share::<V3>(&caller, &second), Status::Denied);
    assert_eq!(
        failure(caller.write(&file, 0, nfs3::StableHow::FileSync, b"x")),
        nfs3::Status::Acces,
        "it holds for NFS too"
    );
    assert_eq!(caller.call::<Unshare<V4>>(&first).status, Status::Granted);
    assert_eq!(share::<V3>(&caller, &second), Status::Granted);
}

#[test]
fn version_1_has_no_reservations() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let args = reservation("first", &file, ShareMode::DenyNone, ShareAccess::Read);
    assert_eq!(caller.rejected::<Share<V1>>(&args), Rejection::ProcedureUnavailable);
}
