//! CREATE creates directories, symbolic links and special files (RFC 7530 §16.4, RFC 8881 §18.4). OPEN creates regular
//! files.

use buffer::Buffer;
use proto::nfs4::{ArgOp, Component, Create, CreateArgs, CreateType, GetattrArgs, Putfh};
use vfs::SetAttributes;

use super::caller::Caller;
use super::lookup::entry;
use super::putfh::putfh;
use super::request::Request;
use super::{attributes, dir_change};
use crate::DirChange;
use crate::{Entry, Handle, Result, SpecialFile};

/// Creates a directory.
pub async fn mkdir(caller: &impl Caller, dir: &Handle, name: &[u8], set: &SetAttributes) -> Result<(Entry, DirChange)> {
    make(caller, dir, name, CreateType::Directory, set).await
}

/// Creates a symbolic link to `target`.
pub async fn symlink(
    caller: &impl Caller,
    dir: &Handle,
    name: &[u8],
    target: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    make(caller, dir, name, CreateType::Symlink(target), set).await
}

/// Creates a device, a socket or a FIFO.
pub async fn mknod(
    caller: &impl Caller,
    dir: &Handle,
    name: &[u8],
    node: SpecialFile,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let kind = match node {
        SpecialFile::BlockDevice(device) => CreateType::BlockDevice(attributes::wire_device(device)),
        SpecialFile::CharDevice(device) => CreateType::CharDevice(attributes::wire_device(device)),
        SpecialFile::Fifo => CreateType::Fifo,
        SpecialFile::Socket => CreateType::Socket,
    };
    make(caller, dir, name, kind, set).await
}

async fn make(
    caller: &impl Caller,
    dir: &Handle,
    name: &[u8],
    kind: CreateType<'_>,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let operation = match kind {
        CreateType::Directory => "MKDIR",
        CreateType::Symlink(_) => "SYMLINK",
        _ => "MKNOD",
    };
    let mut buffer = Buffer::new();
    let first = attributes::wire_set(set, &mut buffer);
    let arguments = CreateArgs { kind, name: Component(name), attributes: first };
    let request = GetattrArgs { request: attributes::ALL };
    let file = ArgOp::Getattr(request);
    let operations = [putfh(dir), ArgOp::Create(arguments), ArgOp::Getfh, file, putfh(dir), dir_change::ask()];
    let reply = caller.call(&Request::changing(operation, &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let change = results.ok::<Create, _>()?.change;
    let entry = entry(&reply, &mut results)?;
    Ok((entry, dir_change::read_named(&mut results, change)))
}
