//! One file of one export, as one caller sees it: procedures reach the file system through it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use access_rules::{DelegationPolicy, ExportOptions};
use peer::Transport;
use state::{FileKey, Requester, StateError};
use vfs::{
    Access, Attributes, Caller, Context, Entry, FileSystem, Handle, OpenFile, OpenMode, Origin, Place, permission,
};

use crate::change::ChangeInProgress;
use crate::exports::{Export, ExportTable, Exported};
use crate::fault::Fault;
use crate::handle::WireHandle;
use crate::identity::Identity;
use crate::open_files::{OpenKey, SharedAttributes};
use crate::refusals::Refusal;
use crate::replay::Begun;
use crate::request::Request;
use crate::server::Server;

/// One call, with everything that its procedure needs.
pub(crate) struct CallContext<'s> {
    pub(crate) server: &'s Server,
    pub(crate) request: &'s Request<'s>,
    pub(crate) exports: &'s ExportTable,
    pub(crate) identity: Identity<'s>,
    /// The call's entry in the replay cache, if it is not idempotent.
    pub(crate) begun: Option<&'s Begun<'s>>,
    /// The id of the export that was used last: if the call must wait, it waits for this export.
    pub(crate) waits_for: Cell<u64>,
    /// Whether replies may have parts that are sent directly from files: over TCP, unless they will be wrapped.
    pub(crate) may_send_files: bool,
}

impl<'s> CallContext<'s> {
    /// A call that the replay cache does not know.
    #[inline(always)]
    pub(crate) fn new(
        server: &'s Server,
        request: &'s Request<'s>,
        exports: &'s ExportTable,
        identity: Identity<'s>,
    ) -> CallContext<'s> {
        let may_send_files = request.peer.transport == Transport::Tcp;
        CallContext { server, request, exports, identity, begun: None, waits_for: Cell::new(0), may_send_files }
    }

    /// The file of a handle, if it is exported to the caller.
    pub(crate) fn node(&self, handle: &[u8]) -> Result<Node<'_>, Fault> {
        let (exported, node) = self.exports.resolve(handle)?;
        self.node_of(exported, node)
    }

    /// A file of an export, if the export is offered to the caller.
    pub(crate) fn node_of<'c>(&'c self, exported: &'c Arc<Exported>, handle: Handle) -> Result<Node<'c>, Fault> {
        self.waits_for.set(exported.id());
        let Some(options) = exported.export.options_for(self.client()) else {
            return Err(self.refused(&exported.export));
        };
        if !self.request.may_block && exported.export.file_system.blocking() == vfs::Blocking::Always {
            return Err(Fault::Defer);
        }
        let caller = self.identity.squashed(options);
        Ok(Node {
            now: self.request.now,
            batch: self.request.batch,
            may_send_files: self.may_send_files,
            server: self.server,
            exported,
            options,
            handle,
            context: self.context(caller),
            requester: Requester::Other,
            begun: self.begun,
        })
    }

    /// The file called `name` in `dir`, if the caller may look it up; `attributes` are those of `dir`. Where another
    /// export begins, it is that export's root, if that export is offered to the caller.
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
        // During a reload, an export may end at another one that is not in the table yet.
        let exported = self.exports.beginning_at(origin).ok_or(vfs::Error::AccessDenied)?;
        self.node_of(exported, exported.export.file_system.root())
    }

    fn context<'c>(&self, caller: Caller<'c>) -> Context<'c> {
        Context { caller, worker: self.request.worker, may_block: self.request.may_block, ..Context::ROOT }
    }

    /// The fault of a client that an export is not for.
    #[cold]
    pub(crate) fn refused(&self, export: &Export) -> Fault {
        self.note_refusal(&Refusal::NotOffered(export));
        Fault::NotExported
    }

    /// Logs why the caller is refused.
    pub(crate) fn note_refusal(&self, refusal: &Refusal<'_>) {
        self.server.refusals.note(self.client(), self.request.now, refusal);
    }

    /// Logs that the caller's host has all the state that it may have, if that is the answer.
    pub(crate) fn note_if_full<T>(&self, answer: Result<T, StateError>) -> Result<T, StateError> {
        if matches!(answer, Err(StateError::Resource)) {
            self.note_refusal(&Refusal::TooMuchState);
        }
        answer
    }

    /// The address of the caller.
    pub(crate) fn client(&self) -> SocketAddr {
        self.request.peer.address
    }
}

/// How a file may be delegated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delegability {
    /// Not at all.
    No,
    /// Without a lease: only the server changes it, or the administrator says so.
    Freely,
    /// Under a lease of the host.
    Leased,
}

/// A file that is exported to the caller.
#[derive(Clone, Copy)]
pub(crate) struct Node<'c> {
    pub(crate) server: &'c Server,
    pub(crate) exported: &'c Arc<Exported>,
    pub(crate) options: &'c ExportOptions,
    pub(crate) handle: Handle,
    pub(crate) context: Context<'c>,
    /// Whether the reply may have parts that are sent directly from the file.
    pub(crate) may_send_files: bool,
    /// The time when the call arrived.
    pub(crate) now: Duration,
    /// The batch of calls that it arrived with.
    pub(crate) batch: Option<NonZero<u64>>,
    /// The client whose own delegations do not conflict.
    pub(crate) requester: Requester,
    /// The call's entry in the replay cache, if it is not idempotent.
    pub(crate) begun: Option<&'c Begun<'c>>,
}

impl<'c> Node<'c> {
    /// The file system that the file is in.
    pub(crate) fn fs(&self) -> &'c dyn FileSystem {
        &*self.exported.export.file_system
    }

    /// Whether changes must be deferred to a thread that may block.
    pub(crate) fn must_defer_changes(&self) -> bool {
        !self.context.may_block && self.fs().changes_wait()
    }

    /// The key of the file's state and cached open files.
    pub(crate) fn file_key(&self) -> FileKey {
        self.exported.file_key(self.handle)
    }

    /// The features of the file system, as far as this client may use them.
    pub(crate) fn properties(&self) -> vfs::Properties {
        let properties = self.fs().properties();
        let acls = properties.acls && self.options.offers_acls;
        let xattrs = properties.xattrs && self.options.offers_xattrs;
        vfs::Properties { acls, xattrs, ..properties }
    }

    /// Another file of the same export.
    pub(crate) fn sibling(&self, handle: Handle) -> Node<'c> {
        Node { handle, ..*self }
    }

    /// The handle of this file on the wire.
    pub(crate) fn wire_handle(&self) -> WireHandle {
        ExportTable::wire_handle(self.exported, &self.handle)
    }

    /// Whether `other` is in the same export.
    pub(crate) fn shares_export(&self, other: &Node<'_>) -> bool {
        Arc::ptr_eq(self.exported, other.exported)
    }

    /// How the file may be delegated.
    pub(crate) fn delegability(&self) -> Delegability {
        match self.options.delegations {
            DelegationPolicy::Off => Delegability::No,
            DelegationPolicy::Always => Delegability::Freely,
            DelegationPolicy::Auto if self.fs().properties().exclusive => Delegability::Freely,
            DelegationPolicy::Auto if self.fs().lease_break_time().is_some() => Delegability::Leased,
            DelegationPolicy::Auto => Delegability::No,
        }
    }

    /// The current attributes. A file whose last name a local process removed has some as long as it is open here.
    pub(crate) fn attributes(&self) -> vfs::Result<Attributes> {
        match self.fs().attributes(&self.context, &self.handle) {
            Err(vfs::Error::Stale) => {
                let open = |mode| self.server.files.find(&self.open_key(mode));
                let open = open(OpenMode::Read).or_else(|| open(OpenMode::Write)).ok_or(vfs::Error::Stale)?;
                open.attributes(&self.context)
            }
            found => found,
        }
    }

    /// Whether the file is reached by its handle, though it may have no name: a client has state in it.
    pub(crate) fn is_held(&self) -> bool {
        self.fs().attributes(&self.context, &self.handle).is_ok()
    }

    /// Fails unless the caller has all of the `wanted` permissions.
    pub(crate) fn require(&self, attributes: &Attributes, wanted: Access) -> vfs::Result<()> {
        let granted = self.fs().access(&self.context, &self.handle, attributes, wanted)?;
        if granted.contains(wanted) { Ok(()) } else { Err(vfs::Error::AccessDenied) }
    }

    /// Like [`Node::require`], but the owner always passes. A process may keep writing after it removes its own write
    /// permission, and the server sees no open (RFC 1813 §4.4).
    pub(crate) fn require_or_own(&self, attributes: &Attributes, wanted: Access) -> vfs::Result<()> {
        if permission::is_owner(attributes, &self.context.caller) {
            return Ok(());
        }
        self.require(attributes, wanted)
    }

    /// Fails on an export that is read-only for this client. Every change calls this first, so it also drops the
    /// attributes that a batch of requests shares.
    pub(crate) fn require_writable(&self) -> vfs::Result<()> {
        if self.options.read_only {
            return Err(vfs::Error::ReadOnly);
        }
        self.server.files.forget_attributes(self.context.worker);
        Ok(())
    }

    /// Fails where this client cannot write now: the export is read-only, or its storage is. Only calls that change
    /// nothing themselves ask the storage; it refuses changes by itself.
    pub(crate) fn require_writable_storage(&self) -> vfs::Result<()> {
        self.require_writable()?;
        if self.fs().is_read_only(&self.context)? { Err(vfs::Error::ReadOnly) } else { Ok(()) }
    }

    /// Fails unless the caller may add and remove names in this directory; returns its attributes, which were just
    /// fetched.
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

    /// The file called `name` in this directory, including `.` and `..`, without a permission check.
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

    /// Fails unless this is a directory that the caller may search.
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

    /// The file at `place`, if any, without a permission check.
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

    /// The verifier of unstable writes to this file.
    pub(crate) fn write_verifier(&self) -> [u8; 8] {
        self.server.write_verifier(self.exported.export.file_system.losses())
    }

    /// The open file, without a permission check. When descriptors run out, unused files are closed first.
    pub(crate) fn open(&self, mode: OpenMode) -> vfs::Result<Arc<dyn OpenFile>> {
        let open = || self.fs().open(&self.context, &self.handle, mode);
        let (files, worker) = (&self.server.files, self.context.worker);
        match files.get(worker, self.now, &self.open_key(mode), open) {
            Err(error) if error.lacks_descriptors() => {
                files.release(self.now);
                files.get(worker, self.now, &self.open_key(mode), open)
            }
            Err(vfs::Error::Stale) => files.find(&self.open_key(mode)).ok_or(vfs::Error::Stale),
            result => result,
        }
    }

    /// The open file to read from, and its shared attributes.
    pub(crate) fn open_to_read(&self) -> vfs::Result<(Arc<dyn OpenFile>, Attributes)> {
        let file = self.open(OpenMode::Read)?;
        let attributes = self.share_attributes(|| file.attributes(&self.context))?;
        Ok((file, attributes))
    }

    /// Attributes fetched after this request arrived: for this request, or for the previous one of its batch.
    pub(crate) fn shared_attributes(&self) -> vfs::Result<Attributes> {
        self.share_attributes(|| self.attributes())
    }

    /// Begins a change of this file's names or attributes. A change that will be deferred is deferred first, which
    /// saves this thread the lookup.
    pub(crate) fn begin_change(&self) -> Result<ChangeInProgress<'c>, Fault> {
        if self.must_defer_changes() { Err(Fault::Defer) } else { Ok(self.announce_change()) }
    }

    /// Announces a change of this file, which ends when the result is dropped (`crate::change`).
    pub(crate) fn announce_change(&self) -> ChangeInProgress<'c> {
        self.server.changes.begin(&self.handle)
    }

    /// The attributes before `change` of this file. After another change in the batch, they are those after that one.
    pub(crate) fn attributes_before(&self, change: &ChangeInProgress<'_>) -> vfs::Result<Attributes> {
        let shared = self.batch.and_then(|batch| {
            self.server.files.shared_between(self.context.worker, batch, &self.file_key(), change.before())
        });
        shared.map_or_else(|| self.attributes(), Ok)
    }

    /// The attributes after `change` of this file, which the rest of the batch shares.
    pub(crate) fn attributes_after(&self, change: &ChangeInProgress<'_>) -> vfs::Result<Attributes> {
        let attributes = self.attributes()?;
        if let Some(batch) = self.batch {
            let (file, at) = (self.file_key(), Some(change.after()));
            self.server.files.share(self.context.worker, SharedAttributes { batch, file, attributes, at });
        }
        Ok(attributes)
    }

    fn share_attributes(&self, fetch: impl FnOnce() -> vfs::Result<Attributes>) -> vfs::Result<Attributes> {
        let Some(batch) = self.batch else { return fetch() };
        self.server.files.attributes(self.context.worker, batch, &self.file_key(), fetch)
    }

    /// Evicts the cached open files of this file.
    pub(crate) fn evict_open_files(&self) {
        self.server.files.purge(&self.file_key(), self.now);
    }

    /// Closes what the server itself has open for writing for no call, since that keeps the file from being leased.
    pub(crate) fn evict_open_for_writing(&self) {
        self.server.files.purge_mode(&self.file_key(), OpenMode::Write, self.now);
        self.server.state.close_unlocked(&self.file_key());
    }

    /// Evicts the cached open files of `entry` if its last name was possibly removed.
    pub(crate) fn forget_if_unlinked(&self, entry: &Entry) {
        if entry.attributes.kind == vfs::FileKind::Regular && entry.attributes.links <= 1 {
            self.server.files.purge(&self.sibling(entry.handle).file_key(), self.now);
        }
    }
}
