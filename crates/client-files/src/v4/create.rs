//! Operations that create names: OPEN for regular files, CREATE for all others (RFC 7530 §16.4, RFC 8881 §18.4).

use buffer::Buffer;
use proto::nfs4::{ArgOp, Component, Create, CreateArgs, CreateType, GetattrArgs, Putfh};
use vfs::{CreateMode, SetAttributes, SetTime};

use super::client::Client;
use super::lookup::entry;
use super::open::{Opening, Target};
use super::open_file::Share;
use super::request::Request;
use super::setattr::setattr;
use super::{attributes, dir_change, putfh};
use crate::types::DirChange;
use crate::{Entry, Handle, Result, SpecialFile};

/// Creates a regular file and closes it.
pub(crate) async fn create(
    client: &Client,
    dir: &Handle,
    name: &[u8],
    mode: CreateMode,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let target = Target::Name { dir: *dir, name: name.to_vec() };
    let opened = client.open(Opening { target, share: Share::WRITE, create: Some((mode, *set)) }).await?;
    let mut entry = opened.entry;
    opened.file.close().await?;
    // An exclusive OPEN may store its verifier in the times, and sets few attributes: set them now.
    if matches!(mode, CreateMode::Exclusive(_)) {
        let now = Some(SetTime::Now);
        let set = SetAttributes { accessed: set.accessed.or(now), modified: set.modified.or(now), ..*set };
        entry.attributes = setattr(client, &entry.handle, &set).await?;
    }
    Ok((entry, opened.dir_change))
}

/// Creates a directory.
pub(crate) async fn mkdir(
    client: &Client,
    dir: &Handle,
    name: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    make(client, ("MKDIR", CreateType::Directory), (dir, name), set).await
}

/// Creates a symbolic link to `target`.
pub(crate) async fn symlink(
    client: &Client,
    dir: &Handle,
    name: &[u8],
    target: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    make(client, ("SYMLINK", CreateType::Symlink(target)), (dir, name), set).await
}

/// Creates a device, a socket or a FIFO.
pub(crate) async fn mknod(
    client: &Client,
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
    make(client, ("MKNOD", kind), (dir, name), set).await
}

async fn make(
    client: &Client,
    (operation, kind): (&'static str, CreateType<'_>),
    (dir, name): (&Handle, &[u8]),
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let mut buffer = Buffer::new();
    let first = attributes::wire_set(set, &mut buffer);
    let arguments = CreateArgs { kind, name: Component(name), attributes: first };
    let request = GetattrArgs { request: attributes::ALL };
    let file = ArgOp::Getattr(request);
    let operations = [putfh(dir), ArgOp::Create(arguments), ArgOp::Getfh, file, putfh(dir), dir_change::ask()];
    let reply = client.call(&Request::changing(operation, &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let change = results.ok::<Create, _>()?.change;
    let entry = entry(&reply, &mut results)?;
    Ok((entry, dir_change::read_named(&mut results, change)))
}
