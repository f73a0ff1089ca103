//! The MOUNT protocol: handles of exports, and lists of them (RFC 1094 Appendix A, RFC 1813 §5).

use proto::mount::{self, DirPath, Export, Mnt, Mnt3, Mnt3Reply, MntReply};

use crate::{Connection, Error, Handle, MountRefusal, Reason, Result, Version};

/// A directory that a server exports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportEntry {
    /// The directory.
    pub directory: Vec<u8>,
    /// The clients that may mount it, in the server's notation; an empty list stands for everybody.
    pub clients: Vec<Vec<u8>>,
}

/// A mount that a server remembers: only a hint, because servers forget some and keep others too long.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MountEntry {
    /// The client.
    pub host: Vec<u8>,
    /// The directory.
    pub directory: Vec<u8>,
}

/// The version of MOUNT for a version of NFS. NFSv4 needs none, but its servers usually have that of NFSv3.
pub fn version_for(version: Version) -> u32 {
    match version {
        Version::V2 => 1,
        Version::V3 | Version::V4(_) => 3,
    }
}

/// The exports of the server (EXPORT of version 3, or else of version 1).
///
/// # Errors
/// The error of the connection or the server.
pub async fn exports(connection: &Connection) -> Result<Vec<ExportEntry>> {
    match exports_version::<3>(connection).await {
        Err(error) if is_other_version(&error) => exports_version::<1>(connection).await,
        other => other,
    }
}

async fn exports_version<const VERSION: u32>(connection: &Connection) -> Result<Vec<ExportEntry>> {
    let response = connection.call::<Export<VERSION>>(&()).await?;
    let exports = response.decode()?.exports;
    let entry = |node: mount::ExportNode<'_>| ExportEntry {
        directory: node.directory.to_vec(),
        clients: node.groups.iter().map(|group| group.name.to_vec()).collect(),
    };
    Ok(exports.into_iter().map(entry).collect())
}

/// The clients that have mounted, and what (DUMP).
///
/// # Errors
/// The error of the connection or the server.
pub async fn dump(connection: &Connection) -> Result<Vec<MountEntry>> {
    match dump_version::<3>(connection).await {
        Err(error) if is_other_version(&error) => dump_version::<1>(connection).await,
        other => other,
    }
}

async fn dump_version<const VERSION: u32>(connection: &Connection) -> Result<Vec<MountEntry>> {
    let response = connection.call::<mount::Dump<VERSION>>(&()).await?;
    let mounts = response.decode()?.mounts;
    let entry =
        |mount: &mount::Mount<'_>| MountEntry { host: mount.host_name.to_vec(), directory: mount.directory.to_vec() };
    Ok(mounts.iter().map(entry).collect())
}

/// The handle of an exported directory (MNT).
///
/// # Errors
/// [`Reason::Mount`] if the server refuses.
pub async fn mnt(connection: &Connection, version: Version, directory: &[u8]) -> Result<Handle> {
    let path = DirPath { path: directory };
    let refused = |refusal| Error::new(connection.server(), "MNT", Reason::Mount(refusal)).about(directory);
    match version {
        Version::V3 | Version::V4(_) => match connection.call::<Mnt3>(&path).await?.decode()? {
            Mnt3Reply::Ok(ok) => Ok(ok.handle.into()),
            Mnt3Reply::Fail(status) => Err(refused(refusal(status))),
        },
        Version::V2 => match connection.call::<Mnt<1>>(&path).await?.decode()? {
            MntReply::Ok(handle) => Ok(handle.into()),
            MntReply::Fail(errno) => Err(refused(refusal_of_unix(errno.0))),
        },
    }
}

/// Tells the server that the mount is over (UMNT), so that its list stays short.
///
/// # Errors
/// The error of the connection or the server.
pub async fn umnt(connection: &Connection, version: Version, directory: &[u8]) -> Result<()> {
    let path = DirPath { path: directory };
    match version {
        Version::V3 | Version::V4(_) => connection.call::<mount::Umnt<3>>(&path).await?.decode(),
        Version::V2 => connection.call::<mount::Umnt<1>>(&path).await?.decode(),
    }
}

/// Whether the server has the program, but in another version.
fn is_other_version(error: &Error) -> bool {
    matches!(error.reason(), Reason::Rejected(rpc::Rejection::ProgramMismatch { .. }))
}

fn refusal(status: mount::Status) -> MountRefusal {
    match status {
        mount::Status::Ok => MountRefusal::Other(0),
        mount::Status::Perm => MountRefusal::NotPermitted,
        mount::Status::NoEnt => MountRefusal::NoEntry,
        mount::Status::Io => MountRefusal::Io,
        mount::Status::Acces => MountRefusal::AccessDenied,
        mount::Status::NotDir => MountRefusal::NotDirectory,
        mount::Status::Inval => MountRefusal::Invalid,
        mount::Status::NameTooLong => MountRefusal::NameTooLong,
        mount::Status::NotSupp => MountRefusal::NotSupported,
        mount::Status::ServerFault => MountRefusal::ServerFault,
    }
}

/// The Unix error numbers of MOUNT version 1 (RFC 1094 §A.4.2).
fn refusal_of_unix(errno: u32) -> MountRefusal {
    match errno {
        1 => MountRefusal::NotPermitted,
        2 => MountRefusal::NoEntry,
        5 => MountRefusal::Io,
        13 => MountRefusal::AccessDenied,
        20 => MountRefusal::NotDirectory,
        22 => MountRefusal::Invalid,
        36 | 63 => MountRefusal::NameTooLong,
        other => MountRefusal::Other(other),
    }
}
