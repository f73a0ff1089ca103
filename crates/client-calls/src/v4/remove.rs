//! REMOVE removes files and empty directories alike (RFC 7530 §16.26, RFC 8881 §18.25). The compound checks the type
//! first, so that neither call removes what the other should.

use buffer::Buffer;
use proto::nfs4::{
    ArgOp, AttributeValue, Component, Fattr, FileType, Lookup, LookupArgs, Nverify, NverifyArgs, Putfh, Remove,
    RemoveArgs, Res, Restorefh, Savefh, Status as Wire, Verify, VerifyArgs,
};

use super::caller::Caller;
use super::dir_change;
use super::putfh::putfh;
use super::request::Request;
use crate::DirChange;
use crate::{Handle, Reason, Result, Status};

/// Removes a name that is not a directory's.
pub async fn remove(caller: &impl Caller, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    unlink(caller, dir, name, false).await
}

/// Removes an empty directory.
pub async fn rmdir(caller: &impl Caller, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    unlink(caller, dir, name, true).await
}

async fn unlink(caller: &impl Caller, dir: &Handle, name: &[u8], is_dir: bool) -> Result<DirChange> {
    let mut buffer = Buffer::new();
    let attributes = Fattr::collect(&[AttributeValue::Type(FileType::Directory)], &mut buffer);
    let check = match is_dir {
        true => ArgOp::Verify(VerifyArgs { attributes }),
        false => ArgOp::Nverify(NverifyArgs { attributes }),
    };
    let operations = [
        putfh(dir),
        ArgOp::Savefh,
        ArgOp::Lookup(LookupArgs { name: Component(name) }),
        check,
        ArgOp::Restorefh,
        ArgOp::Remove(RemoveArgs { target: Component(name) }),
        dir_change::ask(),
    ];
    let reply = caller.call(&Request::changing(operation(is_dir), &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    match results.next::<Lookup>()? {
        Res::Ok(()) => {}
        Res::Fail(Wire::NoEnt) if reply.may_be_second() => return remove_again(caller, dir, name, is_dir).await,
        Res::Fail(status) => return Err(reply.refusal(status)),
    }
    let checked = if is_dir { results.next::<Verify>()? } else { results.next::<Nverify>()? };
    match checked {
        Res::Ok(()) => {}
        Res::Fail(Wire::NotSame) => return Err(reply.error(Reason::Status(Status::NotDirectory))),
        Res::Fail(Wire::Same) => return Err(reply.error(Reason::Status(Status::IsDirectory))),
        Res::Fail(status) => return Err(reply.refusal(status)),
    }
    results.ok::<Restorefh, _>()?;
    let change = results.ok::<Remove, _>()?;
    Ok(dir_change::read(&mut results, change))
}

/// Repeats a REMOVE whose name is gone, without checking the type. A server that records changes knows whether it
/// executed this very REMOVE before its restart.
async fn remove_again(caller: &impl Caller, dir: &Handle, name: &[u8], is_dir: bool) -> Result<DirChange> {
    let operations =
        [putfh(dir), ArgOp::Savefh, ArgOp::Remove(RemoveArgs { target: Component(name) }), dir_change::ask()];
    let reply = caller.call(&Request::changing(operation(is_dir), &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    let change = results.ok::<Remove, _>()?;
    Ok(dir_change::read(&mut results, change))
}

/// The operation's name in errors.
fn operation(is_dir: bool) -> &'static str {
    if is_dir { "RMDIR" } else { "REMOVE" }
}
