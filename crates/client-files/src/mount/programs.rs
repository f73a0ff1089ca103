//! Finds a server's programs: where rpcbind says (RFC 1833), or at the usual port of NFS, where a server without
//! rpcbind may have all of them.

use std::fmt;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::time::Duration;

use client_calls::mountd;
use client_calls::rpcbind::{self, Query, Service};
use proto::{mount, nfs2, nfs3, nfs4, nlm};
use rpc::Rejection;
use tokio::time::timeout;

use super::connect::Dialer;
use crate::nlm::has_lock_manager;
use crate::{Connection, Error, Options, Reason, Result, Transport, Version};

/// How long rpcbind, or the usual port of NFS, may take to answer: two retransmissions over UDP.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long rpcbind may be silent before the usual port of NFS is tried as well.
const HEAD_START: Duration = Duration::from_millis(300);

/// A program to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Nfs,
    Mount,
    LockManager,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Program::Nfs => "NFS",
            Program::Mount => "MOUNT",
            Program::LockManager => "the lock manager",
        })
    }
}

impl Dialer<'_> {
    /// A connection to MOUNT over the transport of the options. If they name none, it is that of NFS, or the other one
    /// if rpcbind knows MOUNT only there.
    pub(super) async fn mountd(&self) -> Result<Connection> {
        let over = |transport| Options { transport, ..self.options.clone() };
        if let Some(transport) = self.options.mount_transport {
            return Dialer { options: &over(transport), ..*self }.mountd_here().await;
        }
        match self.mountd_here().await {
            Err(error) if matches!(error.reason(), Reason::NotRegistered { .. }) => {
                let other = over(self.options.transport.other());
                Dialer { options: &other, ..*self }.mountd_here().await.map_err(|_| error)
            }
            found => found,
        }
    }

    async fn mountd_here(&self) -> Result<Connection> {
        let port = async { self.ask_rpcbind(mount::PROGRAM, mountd::version_for(self.options.version)).await };
        let registered = async { self.dial_other(port.await?).await };
        self.find(Program::Mount, self.options.mount_port, registered).await
    }

    /// A connection to the lock manager. rpcbind may know it over the other transport only.
    pub(super) async fn lock_manager(&self) -> Result<Connection> {
        let registered = async {
            let (port, transport) = self.within(self.ask_for_lock_manager()).await?;
            let options = Options { transport, ..self.options.clone() };
            Dialer { options: &options, ..*self }.dial_other(port).await
        };
        self.find(Program::LockManager, self.options.lock_port, registered).await
    }

    /// The port of NFS, which may be that of MOUNT.
    pub(super) async fn find_nfs(&self, mountd: u16) -> Result<u16> {
        let registered = async { self.ask_rpcbind(nfs3::PROGRAM, self.options.version.number()).await };
        let spare = async { Ok(self.dial_to(Program::Nfs, mountd).await?.map(|_| mountd)) };
        self.first_found(Program::Nfs, mountd, registered, spare).await
    }

    /// A connection to another program than NFS: at its own port if one is named; else at the named port of NFS, if the
    /// server has one port for both; else where rpcbind says, or at the usual port of NFS.
    async fn find(
        &self,
        program: Program,
        named: Option<u16>,
        registered: impl Future<Output = Result<Connection>>,
    ) -> Result<Connection> {
        if let Some(port) = named {
            return self.dial_other(port).await;
        }
        if let Some(port) = self.options.known_nfs_port()
            && let Some(connection) = self.dial_to(program, port).await?
        {
            return Ok(connection);
        }
        let spare = self.dial_to(program, nfs4::PORT);
        self.first_found(program, nfs4::PORT, registered, spare).await
    }

    /// What `registered` finds by rpcbind, or else what `spare` finds at `port`. The spare starts when rpcbind cannot
    /// be reached or has been silent for [`HEAD_START`]; from then on, the first success counts.
    ///
    /// # Errors
    /// That of rpcbind if there is one; else [`Reason::Connect`], which names both ports.
    async fn first_found<T>(
        &self,
        program: Program,
        port: u16,
        registered: impl Future<Output = Result<T>>,
        spare: impl Future<Output = Result<Option<T>>>,
    ) -> Result<T> {
        let (mut registered, mut spare) = (pin!(registered), pin!(timeout(PATIENCE, spare)));
        let (unreachable, found) = match timeout(HEAD_START, registered.as_mut()).await {
            Ok(Err(error)) if is_without_rpcbind(&error) => (error, spare.await),
            Ok(answer) => return answer,
            Err(_) => tokio::select! {
                answer = &mut registered => match answer {
                    Err(error) if is_without_rpcbind(&error) => (error, spare.await),
                    answer => return answer,
                },
                found = &mut spare => match found {
                    Ok(Ok(Some(found))) => return Ok(found),
                    found => match registered.await {
                        Err(error) if is_without_rpcbind(&error) => (error, found),
                        answer => return answer,
                    },
                },
            },
        };
        let why = match found {
            Ok(Ok(Some(found))) => return Ok(found),
            // The program is there in another version, so the search ends.
            Ok(Err(error)) if matches!(error.reason(), Reason::Rejected(_)) => return Err(error),
            Ok(Ok(None)) => "it is not there".to_owned(),
            Ok(Err(error)) => silence(&error),
            Err(_) => "no reply".to_owned(),
        };
        Err(nowhere(unreachable, &format!("{program} at port {port}: {why}")))
    }

    /// A connection to a program at this port, if it is there.
    async fn dial_to(&self, program: Program, port: u16) -> Result<Option<Connection>> {
        let connection = self.dial_other(port).await?;
        Ok(self.has(program, &connection).await?.then_some(connection))
    }

    async fn has(&self, program: Program, connection: &Connection) -> Result<bool> {
        let version = self.options.version;
        let answer = match (program, version) {
            (Program::LockManager, _) => return has_lock_manager(connection, version).await,
            (Program::Nfs, Version::V2) => connection.call::<nfs2::Null>(&()).await.map(drop),
            (Program::Nfs, _) => connection.call::<nfs3::Null>(&()).await.map(drop),
            (Program::Mount, Version::V2) => connection.call::<mount::Null<1>>(&()).await.map(drop),
            (Program::Mount, _) => connection.call::<mount::Null<3>>(&()).await.map(drop),
        };
        match answer {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.reason(), Reason::Rejected(Rejection::ProgramMismatch { .. })) => Err(error),
            Err(error) if matches!(error.reason(), Reason::Rejected(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The port that rpcbind knows for a program over the transport of the options.
    pub(super) async fn ask_rpcbind(&self, program: u32, version: u32) -> Result<u16> {
        let query = Query { program, version, transport: self.options.transport };
        self.within(async { rpcbind::getport(&self.rpcbind().await?, query).await }).await
    }

    /// The services that the server's rpcbind knows.
    pub(super) async fn registered(&self) -> Result<Vec<Service>> {
        self.within(async { rpcbind::dump(&self.rpcbind().await?).await }).await
    }

    /// Where rpcbind knows the newest lock manager that fits this version of NFS: over the mount's transport, or else
    /// over the other one.
    async fn ask_for_lock_manager(&self) -> Result<(u16, Transport)> {
        let (program, versions) = (nlm::PROGRAM, lock_managers(self.options.version));
        let rpcbind = self.rpcbind().await?;
        let mut first = None;
        for transport in [self.options.transport, self.options.transport.other()] {
            for version in versions.iter().copied() {
                match rpcbind::getport(&rpcbind, Query { program, version, transport }).await {
                    Err(error) if matches!(error.reason(), Reason::NotRegistered { .. }) => {
                        first = first.or(Some(error))
                    }
                    port => return Ok((port?, transport)),
                }
            }
        }
        let missing = || Reason::NotRegistered { program, version: versions[0] };
        Err(first.unwrap_or_else(|| Error::new(self.server, "GETPORT", missing())))
    }

    async fn rpcbind(&self) -> Result<Connection> {
        let connection = rpcbind::connect(self.address, self.server, self.options).await?;
        self.others.add(&connection);
        Ok(connection)
    }

    /// The answer of rpcbind. Silence counts as an rpcbind that cannot be reached: that is all UDP shows of one.
    async fn within<T>(&self, asked: impl Future<Output = Result<T>>) -> Result<T> {
        let silent = || {
            let (address, source) = (self.address.at(proto::rpcbind::PORT), ErrorKind::TimedOut.into());
            Error::new(self.server, "connect", Reason::Connect { address, source })
        };
        match timeout(PATIENCE, asked).await {
            Ok(Err(error)) if matches!(error.reason(), Reason::NoReply(_)) => Err(silent()),
            Ok(answer) => answer,
            Err(_) => Err(silent()),
        }
    }
}

/// Whether nothing answers at the port of rpcbind.
fn is_without_rpcbind(error: &Error) -> bool {
    let Reason::Connect { address, .. } = error.reason() else { return false };
    address.port() == proto::rpcbind::PORT
}

fn silence(error: &Error) -> String {
    match error.reason() {
        Reason::Connect { source, .. } => source.to_string(),
        _ => "no reply".to_owned(),
    }
}

/// The error of rpcbind, with the outcome of the other port.
fn nowhere(unreachable: Error, other: &str) -> Error {
    let Reason::Connect { address, source } = unreachable.reason() else { return unreachable };
    let (address, source) = (*address, io::Error::new(source.kind(), format!("{source}; {other}")));
    unreachable.because(Reason::Connect { address, source })
}

/// The versions of NLM for a version of NFS, newest first (RFC 1813 appendix II): only version 4 has handles and
/// offsets long enough for NFSv3.
fn lock_managers(version: Version) -> &'static [u32] {
    match version {
        Version::V2 => &[3, 1],
        _ => &[4],
    }
}
