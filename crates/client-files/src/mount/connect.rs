//! Mounts a URL: finds the host's address, the ports and the export's handle, and chooses the transfer sizes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use client_calls::mountd::{self, ExportEntry};
use client_calls::rpcbind::{self, HostAddress};
use vfs::{Attributes, FileKind};

use super::{Mount, Mounted, OtherPrograms, Sizes, User, Users};
use crate::cache::Caches;
use crate::nlm::Nlm;
use crate::{
    Connection, Entry, Error, FsInfo, Handle, MountRefusal, NoExport, Options, Reason, Result, Url, Version, v2, v3, v4,
};

/// The most components of a URL's path; each may cost one MNT.
const MAX_COMPONENTS: usize = 256;

impl Mount {
    /// Mounts the export that a URL names. The URL takes precedence over the options.
    ///
    /// This mounts the longest part of the path that is an export: one that the server lists, or lets the client mount.
    /// The rest is [`Mount::path_below`].
    ///
    /// # Errors
    /// An unknown host, no service at the port, an unknown export, or an error of the server.
    pub async fn connect(url: &Url, options: &Options) -> Result<Mount> {
        let options = url.over(options);
        let server: Arc<str> = url.host.as_str().into();
        let mut last = None;
        for address in rpcbind::resolve(&url.host, &server, &options).await? {
            let dialer = Dialer { address, server: &server, options: &options, others: &Arc::default() };
            match dialer.negotiate_patiently(&url.path).await {
                Err(error) if may_be_elsewhere(&error) => last = Some(error),
                other => return other,
            }
        }
        let unknown = || Reason::Resolve(std::io::ErrorKind::NotFound.into());
        Err(last.unwrap_or_else(|| Error::new(&server, "resolve", unknown())))
    }

    /// Tells the server that the mount is over: servers of older versions may list it, and those of NFSv4 keep its
    /// state. Data written to dropped files is on the server's stable storage then.
    ///
    /// Dropping a mount of NFSv4 does the same in the background, for five seconds at most and while the runtime lives.
    ///
    /// # Errors
    /// The error of the server, which can be ignored.
    pub async fn unmount(self) -> Result<()> {
        self.blocks().finish().await;
        if let Some(client) = &self.1.v4 {
            return client.clone().close().await;
        }
        let address = self.connection().address().into();
        let (server, options, others) = (&self.0.server, &self.0.options, &self.0.other_programs);
        let dialer = Dialer { address, server, options, others };
        let mountd = dialer.mountd().await?;
        mountd::umnt(&mountd, self.version(), &self.0.export).await
    }
}

impl Mount {
    /// A connection to the server's lock manager.
    pub(crate) async fn connect_nlm(&self) -> Result<Connection> {
        // A hard call would never notice that the lock manager has another port after a restart.
        let options = Options { is_hard: false, ..self.0.options.clone() };
        let (address, others) = (self.connection().address().into(), &self.0.other_programs);
        Dialer { address, server: &self.0.server, options: &options, others }.lock_manager().await
    }
}

/// Connects to the MOUNT program of the URL's server, for [`mountd::exports`] and [`mountd::dump`].
///
/// # Errors
/// As for [`Mount::connect`].
pub(crate) async fn connect_mountd(url: &Url, options: &Options) -> Result<Connection> {
    let options = url.over(options);
    let server: Arc<str> = url.host.as_str().into();
    let mut last = None;
    for address in rpcbind::resolve(&url.host, &server, &options).await? {
        let dialer = Dialer { address, server: &server, options: &options, others: &Arc::default() };
        match dialer.mountd().await {
            Err(error) if may_be_elsewhere(&error) => last = Some(error),
            other => return other,
        }
    }
    let unknown = || Reason::Resolve(std::io::ErrorKind::NotFound.into());
    Err(last.unwrap_or_else(|| Error::new(&server, "resolve", unknown())))
}

/// Whether another address may work: a host may have several, of which only some are served.
fn may_be_elsewhere(error: &Error) -> bool {
    matches!(error.reason(), Reason::Connect { .. } | Reason::NotRegistered { .. } | Reason::NoReply(_))
}

/// An address of a server, and the options for it.
pub(super) struct Dialer<'a> {
    pub(super) address: HostAddress,
    pub(super) server: &'a Arc<str>,
    pub(super) options: &'a Options,
    /// Counts the calls to other programs than NFS.
    pub(super) others: &'a Arc<OtherPrograms>,
}

/// The results that a mount is made from.
pub(super) struct MountParts {
    pub(super) connections: Box<[Connection]>,
    pub(super) options: Options,
    pub(super) other_programs: Arc<OtherPrograms>,
    pub(super) export: Vec<u8>,
    pub(super) below: Vec<u8>,
    pub(super) root: Entry,
    pub(super) info: FsInfo,
}

impl Mount {
    /// Chooses the sizes, and makes the mount.
    pub(super) fn new(server: &Arc<str>, found: MountParts, v4: Option<v4::Client>) -> Result<Mount> {
        let MountParts { connections, options, other_programs, export, below, root, info } = found;
        let sizes = Sizes::choose(&info, &options).map_err(|reason| Error::new(server, "FSINFO", reason))?;
        let (turn, server) = (AtomicUsize::new(0), Arc::clone(server));
        let own = User::new(connections, v4);
        let (caches, cache_recorder) = (Caches::new(&options.caching, sizes), Arc::default());
        let has_readdirplus = options.version != Version::V2;
        caches.attributes.learn(caches.attributes.ask(tokio::time::Instant::now()), &root.handle, &root.attributes);
        let has_read_plus = AtomicBool::new(options.uses_read_plus && options.version == Version::V4_2);
        let mounted = Arc::new(Mounted {
            users: Users::new(Arc::clone(&own)),
            turn,
            options,
            server,
            export,
            below,
            root,
            info,
            sizes,
            caches,
            has_readdirplus: AtomicBool::new(has_readdirplus),
            cache_recorder,
            other_programs,
            has_read_plus,
            nlm: Nlm::default(),
            is_without_seek: AtomicBool::new(false),
        });
        own.v4.iter().for_each(|client| client.set_mounted(Arc::downgrade(&mounted) as _));
        Ok(Mount(mounted, own))
    }
}

impl Dialer<'_> {
    /// Mounts in this version of NFS. Boxed, since a future is compiled again wherever another one has it in it.
    pub(super) fn mount<'a>(&'a self, path: &'a [u8]) -> Pin<Box<dyn Future<Output = Result<Mount>> + Send + 'a>> {
        Box::pin(self.mount_unboxed(path))
    }

    async fn mount_unboxed(&self, path: &[u8]) -> Result<Mount> {
        if let Version::V4(minor) = self.options.version {
            return self.mount_v4(minor, path).await;
        }
        let mountd = self.mountd().await?;
        let (mut root, mut export, mut below) = self.find_export(&mountd, path).await?;
        let port = match self.options.known_nfs_port() {
            Some(port) => port,
            None => self.find_nfs(mountd.address().port()).await?,
        };
        let connections = self.connect_all(port).await?;
        let mut attributes = self.attributes(&connections[0], &root).await?;
        // MNT is of directories (RFC 1813 §5.2.1), but some servers mount a file as well.
        if attributes.kind != FileKind::Directory
            && let Ok(above) = self.try_prefixes(&mountd, path, export.len()).await
        {
            (root, export, below) = above;
            attributes = self.attributes(&connections[0], &root).await?;
        }
        let info = match self.options.version {
            Version::V2 => v2::fsinfo(&connections[0], &root).await?,
            _ => v3::fsinfo(&connections[0], &root).await?,
        };
        let (options, root) = (self.options.clone(), Entry { handle: root, attributes });
        let found =
            MountParts { connections, options, other_programs: Arc::clone(self.others), export, below, root, info };
        Mount::new(self.server, found, None)
    }

    async fn attributes(&self, connection: &Connection, file: &Handle) -> Result<Attributes> {
        match self.options.version {
            Version::V2 => v2::getattr(connection, file).await,
            _ => v3::getattr(connection, file).await,
        }
    }

    async fn connect_all(&self, port: u16) -> Result<Box<[Connection]>> {
        let count = self.options.connections.clamp(1, Options::MAX_CONNECTIONS);
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(self.dial(port).await?);
        }
        Ok(connections.into())
    }

    async fn dial(&self, port: u16) -> Result<Connection> {
        Connection::connect(self.address.at(port), self.server, self.options).await
    }

    /// Connects to another program than NFS.
    pub(super) async fn dial_other(&self, port: u16) -> Result<Connection> {
        let connection = self.dial(port).await?;
        self.others.add(&connection);
        Ok(connection)
    }

    /// The handle of the export that `path` is in, its path, and the rest.
    async fn find_export(&self, mountd: &Connection, path: &[u8]) -> Result<(Handle, Vec<u8>, Vec<u8>)> {
        // A server that lists no exports may still allow the mount.
        let exports = mountd::exports(mountd).await.unwrap_or_default();
        let listed = exports.iter().filter_map(|export| Some((&export.directory, below(&export.directory, path)?)));
        if let Some((export, rest)) = listed.max_by_key(|(export, _)| export.len())
            && let Ok(root) = mountd::mnt(mountd, self.options.version, export).await
        {
            return Ok((root, export.clone(), rest.to_vec()));
        }
        self.try_prefixes(mountd, path, usize::MAX).await.map_err(|error| no_export(error, exports, path))
    }

    /// Tries to mount the path, then its parent directories, up to the root; all of them shorter than `length`.
    async fn try_prefixes(
        &self,
        mountd: &Connection,
        path: &[u8],
        length: usize,
    ) -> Result<(Handle, Vec<u8>, Vec<u8>)> {
        let mut first = None;
        for prefix in prefixes(path).filter(|prefix| prefix.len() < length).take(MAX_COMPONENTS) {
            match mountd::mnt(mountd, self.options.version, prefix).await {
                Ok(root) => {
                    let rest = below(prefix, path).unwrap_or_default().to_vec();
                    return Ok((root, prefix.to_vec(), rest));
                }
                Err(error) if may_be_above(&error) => first = first.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        let none = || Error::new(self.server, "MNT", Reason::Mount(MountRefusal::NoEntry)).about(path);
        Err(first.unwrap_or_else(none))
    }
}

/// Names the existing exports if `path` is in none. For such a path, many servers report that they refuse the client.
fn no_export(error: Error, exports: Vec<ExportEntry>, path: &[u8]) -> Error {
    let is_listed = exports.iter().any(|export| below(&export.directory, path).is_some());
    match *error.reason() {
        Reason::Mount(refusal @ (MountRefusal::NoEntry | MountRefusal::AccessDenied))
            if !is_listed && (refusal == MountRefusal::NoEntry || !exports.is_empty()) =>
        {
            let exports = exports.into_iter().map(|export| export.directory).collect();
            error.because(Reason::NoExport(NoExport::new(refusal, exports)))
        }
        _ => error,
    }
}

/// Whether a shorter path may be an export although this one is not.
fn may_be_above(error: &Error) -> bool {
    use MountRefusal::{AccessDenied, Invalid, NoEntry, NotDirectory, NotPermitted};
    let Reason::Mount(refusal) = error.reason() else { return false };
    matches!(refusal, NoEntry | NotDirectory | AccessDenied | NotPermitted | Invalid | MountRefusal::Other(_))
}

/// The part of `path` below `directory`, or `None` if it is not in it.
pub(super) fn below<'p>(directory: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let directory = trim_end(directory);
    match path.strip_prefix(directory)? {
        [] => Some(&[]),
        [b'/', rest @ ..] => Some(trim_end(trim_start(rest))),
        _ => None,
    }
}

/// `path` and its parent directories, longest first; the last one is `/`.
fn prefixes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(trim_end(path));
    std::iter::from_fn(move || {
        let now = rest?;
        rest = now.iter().rposition(|byte| *byte == b'/').map(|slash| trim_end(&now[..slash]));
        Some(if now.is_empty() { b"/" } else { now })
    })
}

fn trim_end(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    &path[..end]
}

fn trim_start(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    &path[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_below_whole_components_only() {
        assert_eq!(below(b"/a", b"/a/b/c"), Some(&b"b/c"[..]));
        assert_eq!(below(b"/a/", b"/a//b/"), Some(&b"b"[..]));
        assert_eq!(below(b"/", b"/a/b"), Some(&b"a/b"[..]));
        assert_eq!(below(b"/a", b"/a"), Some(&b""[..]));
        assert_eq!(below(b"/a", b"/ab"), None);
    }

    #[test]
    fn prefixes_go_up_to_the_root() {
        let all: Vec<&[u8]> = prefixes(b"/a//b/c/").collect();
        assert_eq!(all, [&b"/a//b/c"[..], b"/a//b", b"/a", b"/"]);
        assert_eq!(prefixes(b"/").collect::<Vec<_>>(), [b"/"]);
    }
}
