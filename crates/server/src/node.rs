//! One file of one export, as one caller sees it: the way from a call to the file system.

use std::cell::Cell;
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use state::{FileKey, Requester};
use vfs::{
    Access, Attributes, Caller, Context, Entry, FileSystem, Handle, OpenFile, OpenMode, Origin, Place, permission,
};

use crate::exports::{ExportOptions, ExportTable, Exported};
use crate::fault::Fault;
use crate::handle::WireHandle;
use crate::identity::Identity;
use crate::open_files::OpenKey;
use crate::replay::Begun;
use crate::request::{Request, Transport};
use crate::server::Server;

/// One call, with everything that its procedure needs.
pub(crate) struct CallContext<'s> {
    pub(crate) server: &'s Server,
    pub(crate) request: &'s Request<'s>,
    pub(crate) exports: &'s ExportTable,
    pub(crate) identity: Identity<'s>,
    /// What is kept of the call beyond its end, if it must not happen twice.
    pub(crate) begun: Option<&'s Begun<'s>>,
    /// The number of the export that was asked for last: what the call waits for, if it has to wait.
    pub(crate) waits_for: Cell<u64>,
}

impl CallContext<'_> {
    /// The file that a handle's bytes name, if it is exported to the caller.
    pub(crate) fn node(&self, handle: &[u8]) -> Result<Node<'_>, Fault> {
        let (exported, node) = self.exports.resolve(handle)?;
        self.node_of(exported, node)
    }

    /// A file of an export, if that is exported to the caller.
    pub(crate) fn node_of<'c>(&'c self, exported: &'c Arc<Exported>, handle: Handle) -> Result<Node<'c>, Fault> {
        self.waits_for.set(exported.id());
        let options = exported.export.options_for(self.client()).ok_or(Fault::NotExported)?;
        if !self.request.may_block && exported.export.file_system.blocking() == vfs::Blocking::Always {
            return Err(Fault::Defer);
        }
        let caller = self.identity.squashed(options);
        Ok(Node {
            now: self.request.now,
            batch: self.request.batch,
            is_over_tcp: self.request.peer.transport == Transport::Tcp,
            server: self.server,
            exported,
            options,
            handle,
            context: self.context(caller),
            requester: Requester::Other,
            begun: self.begun,
        })
    }

    /// The file called `name` in `dir`, whose attributes are these, if the caller may look it up. Where another export
    /// begins it is that one's root, if that is exported to the caller.
    pub(crate) fn look_up<'c>(
        &'c self,
        dir: &Node<'c>,
        attributes: &Attributes,
        name: &[u8],
    ) -> Result<(Node<'c>, Attributes), Fault> {
        match dir.search(attributes, name) {
            Ok(entry) => Ok((dir.sibling(entry.handle), entry.attributes)),
            Err(Fault::File(vfs::Error::Elsewhere(origin))) => {
                let root = self.root_at(&origin)?;
                let attributes = root.attributes()?;
                Ok((root, attributes))
            }
            Err(fault) => Err(fault),
        }
    }

    /// The root of the export that begins at a directory.
    pub(crate) fn root_at(&self, origin: &Origin) -> Result<Node<'_>, Fault> {
        // While a reload is under way, a border may be in force before its export is.
        let exported = self.exports.beginning_at(origin).ok_or(vfs::Error::AccessDenied)?;
        self.node_of(exported, exported.export.file_system.root())
    }

    fn context<'c>(&self, caller: Caller<'c>) -> Context<'c> {
        Context { caller, worker: self.request.worker, may_block: self.request.may_block, ticket: &[] }
    }

    /// Where the call came from.
    pub(crate) fn client(&self) -> SocketAddr {
        self.request.peer.address
    }
}

/// A file that is exported to the caller.
#[derive(Clone, Copy)]
pub(crate) struct Node<'c> {
    pub(crate) server: &'c Server,
    pub(crate) exported: &'c Arc<Exported>,
    pub(crate) options: &'c ExportOptions,
    pub(crate) handle: Handle,
    pub(crate) context: Context<'c>,
    /// Whether the call came over a stream.
    pub(crate) is_over_tcp: bool,
    /// When the call came.
    pub(crate) now: Duration,
    /// With which others it came.
    pub(crate) batch: Option<NonZero<u64>>,
    /// Whose delegations do not stand in the way.
    pub(crate) requester: Requester,
    /// What is kept of the call beyond its end, if it must not happen twice.
    pub(crate) begun: Option<&'c Begun<'c>>,
}

impl<'c> Node<'c> {
    /// The file system that the file is in.
    pub(crate) fn fs(&self) -> &'c dyn FileSystem {
        &*self.exported.export.file_system
    }

    /// Whether a change must be put off to a thread that may wait.
    pub(crate) fn changes_wait(&self) -> bool {
        !self.context.may_block && self.fs().changes_wait()
    }

    /// What state and open files are kept under.
    pub(crate) fn file_key(&self) -> FileKey {
        self.exported.file_key(self.handle)
    }

    /// Another file of the same export.
    pub(crate) fn sibling(&self, handle: Handle) -> Node<'c> {
        Node { handle, ..*self }
    }

    /// The handle of this file as clients get it.
    pub(crate) fn wire_handle(&self) -> WireHandle {
        ExportTable::wire_handle(self.exported, &self.handle)
    }

    /// Whether `other` is in the same export.
    pub(crate) fn shares_export(&self, other: &Node<'_>) -> bool {
        Arc::ptr_eq(self.exported, other.exported)
    }

    /// This file, as the client of NFSv4 that asks for it sees it.
    pub(crate) fn for_requester(self, requester: Requester) -> Node<'c> {
        Node { requester, ..self }
    }

    /// Whether clients may be promised that nobody changes the file behind their backs.
    pub(crate) fn may_be_delegated(&self) -> bool {
        self.options.delegations.unwrap_or_else(|| self.fs().properties().exclusive)
    }

    /// The attributes as they are now.
    pub(crate) fn attributes(&self) -> vfs::Result<Attributes> {
        self.fs().attributes(&self.context, &self.handle)
    }

    /// Refuses when the caller lacks one of the `wanted` ways to use the file.
    pub(crate) fn require(&self, attributes: &Attributes, wanted: Access) -> vfs::Result<()> {
        let granted = self.fs().access(&self.context, &self.handle, attributes, wanted)?;
        if granted.contains(wanted) { Ok(()) } else { Err(vfs::Error::AccessDenied) }
    }

    /// Like [`Node::require`], but the owner always may: who opened a file for writing and then took the permission away
    /// goes on writing, and the server sees no open (RFC 1813 §4.4).
    pub(crate) fn require_or_own(&self, attributes: &Attributes, wanted: Access) -> vfs::Result<()> {
        if permission::is_owner(attributes, &self.context.caller) {
            return Ok(());
        }
        self.require(attributes, wanted)
    }

    /// Refuses on an export that is read-only for this client. Whatever changes anything asks for this first, so that attributes which
    /// the requests of a batch share are forgotten here.
    pub(crate) fn require_writable(&self) -> vfs::Result<()> {
        if self.options.read_only {
            return Err(vfs::Error::ReadOnly);
        }
        self.server.files.forget_attributes(self.context.worker);
        Ok(())
    }

    /// Refuses unless the caller may add names to this directory and take them away, and returns its attributes.
    pub(crate) fn require_changeable_dir(&self) -> vfs::Result<Attributes> {
        self.require_writable()?;
        self.require_changeable(self.attributes())
    }

    /// The same, with attributes that were asked for just now.
    pub(crate) fn require_changeable(&self, attributes: vfs::Result<Attributes>) -> vfs::Result<Attributes> {
        self.require_writable()?;
        let attributes = attributes?;
        if attributes.kind != vfs::FileKind::Directory {
            return Err(vfs::Error::NotDirectory);
        }
        self.require(&attributes, Access::WRITE | Access::EXECUTE)?;
        Ok(attributes)
    }

    /// The place that `name` has in this directory.
    pub(crate) fn place<'n>(&self, name: &'n [u8]) -> Result<Place<'n>, vfs::NameError> {
        Ok(Place { dir: self.handle, name: vfs::Name::new(name)? })
    }

    /// The file called `name` in this directory, `.` and `..` included; what permission that needs is not checked here.
    pub(crate) fn lookup(&self, name: &[u8]) -> Result<Entry, Fault> {
        match name {
            b"." => Ok(Entry { handle: self.handle, attributes: self.attributes()? }),
            b".." => Ok(self.fs().parent(&self.context, &self.handle)?),
            _ => {
                let name = vfs::Name::new(name).map_err(Fault::from)?;
                Ok(self.fs().lookup(&self.context, Place { dir: self.handle, name })?)
            }
        }
    }

    /// Refuses unless this is a directory in which the caller may look up names.
    pub(crate) fn require_searchable(&self, attributes: &Attributes) -> vfs::Result<()> {
        if attributes.kind != vfs::FileKind::Directory {
            return Err(vfs::Error::NotDirectory);
        }
        self.require(attributes, Access::EXECUTE)
    }

    /// The file called `name` in this directory, if the caller may look it up.
    pub(crate) fn search(&self, attributes: &Attributes, name: &[u8]) -> Result<Entry, Fault> {
        self.require_searchable(attributes)?;
        self.lookup(name)
    }

    /// What is at `place`, if anything; what permission that needs is not checked here.
    pub(crate) fn existing(&self, place: Place<'_>) -> vfs::Result<Option<Entry>> {
        match self.fs().lookup(&self.context, place) {
            Ok(entry) => Ok(Some(entry)),
            Err(vfs::Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_key(&self, mode: OpenMode) -> OpenKey {
        OpenKey { file: self.file_key(), mode }
    }

    /// The open file; its permissions are the caller's business. When descriptors have run out, files that nobody uses
    /// are closed first.
    pub(crate) fn open(&self, mode: OpenMode) -> vfs::Result<Arc<dyn OpenFile>> {
        let open = || self.fs().open(&self.context, &self.handle, mode);
        let (files, worker) = (&self.server.files, self.context.worker);
        match files.get((worker, self.now), &self.open_key(mode), open) {
            Err(error) if error.lacks_descriptors() => {
                files.release(self.now);
                files.get((worker, self.now), &self.open_key(mode), open)
            }
            result => result,
        }
    }

    /// The open file to read from, and its attributes as they are now: found out after this request was received, for it or for one
    /// that was received with it and answered just before.
    pub(crate) fn open_to_read(&self) -> vfs::Result<(Arc<dyn OpenFile>, Attributes)> {
        let file = self.open(OpenMode::Read)?;
        let Some(batch) = self.batch else {
            let attributes = file.attributes(&self.context)?;
            return Ok((file, attributes));
        };
        let (files, worker) = (&self.server.files, self.context.worker);
        let attributes = files.attributes(worker, batch, &self.file_key(), || file.attributes(&self.context))?;
        Ok((file, attributes))
    }

    /// Closes the cached open files of this file.
    pub(crate) fn forget_open_files(&self) {
        self.server.files.purge(&self.file_key(), self.now);
    }

    /// Closes the cached open files of `entry`, whose last name may have been removed just now.
    pub(crate) fn forget_if_unlinked(&self, entry: &Entry) {
        if entry.attributes.kind == vfs::FileKind::Regular && entry.attributes.links <= 1 {
            self.server.files.purge(&self.sibling(entry.handle).file_key(), self.now);
        }
    }
}
