//! The two files of COPY and CLONE, and the range to copy (RFC 7862 §15.2, §15.13).

use std::sync::Arc;

use proto::nfs4::{Stateid, Status};
use state::{IoKind, StateidScope};
use vfs::{CopyRange, FileKind, OpenFile};

use super::compound::{Compound, check_io};
use super::copies::CopyFile;
use super::failure::OpResult;
use crate::change::ChangeInProgress;
use crate::node::Node;
use crate::transfer;

/// A source that the caller may read, and a destination that it may write.
pub(super) struct CopyPair<'n> {
    pub(super) source: Node<'n>,
    pub(super) from: Arc<dyn OpenFile>,
    source_size_bytes: u64,
    pub(super) destination: Node<'n>,
    pub(super) to: Arc<dyn OpenFile>,
    /// Announces the change of the destination as long as there is the pair.
    _change: ChangeInProgress<'n>,
}

/// One of the files, and the stateid that it is read or written under.
pub(super) struct Side<'n> {
    pub(super) node: Node<'n>,
    pub(super) stateid: Stateid,
}

impl<'n> CopyPair<'n> {
    /// Opens the saved file for reading and the current one for writing.
    pub(super) fn open(compound: &'n Compound<'_>, source: &Stateid, destination: &Stateid) -> OpResult<CopyPair<'n>> {
        let from = Side { node: compound.saved()?, stateid: source_stateid(compound, source)? };
        let to = Side { node: compound.current()?, stateid: compound.stateid(destination)? };
        CopyPair::of(compound.stateid_scope()?, &from, &to)
    }

    /// Opens one file for reading and another for writing.
    pub(super) fn of(scope: StateidScope, from: &Side<'n>, to: &Side<'n>) -> OpResult<CopyPair<'n>> {
        from.check_io(scope, IoKind::Read)?;
        require_regular(&from.node)?;
        let readable = transfer::open_for_read(&from.node)?;
        let file = to.open_for_write(scope)?;
        let source_size_bytes = readable.attributes.size_bytes;
        Ok(CopyPair {
            source: from.node,
            from: readable.file,
            source_size_bytes,
            destination: to.node,
            to: file,
            _change: to.node.announce_change(),
        })
    }

    /// The range; a count of 0 means everything up to the source's end.
    ///
    /// It must not exceed the source's end or overlap itself (§15.2.3, §15.13.3).
    pub(super) fn range(&self, from_bytes: u64, to_bytes: u64, count: u64) -> OpResult<CopyRange> {
        let available = self.source_size_bytes.checked_sub(from_bytes).ok_or(Status::Inval)?;
        let length_bytes = if count == 0 { available } else { count };
        let is_same = self.source.handle == self.destination.handle && self.source.shares_export(&self.destination);
        if length_bytes > available || (is_same && from_bytes.abs_diff(to_bytes) < length_bytes) {
            return Err(Status::Inval.into());
        }
        match to_bytes.checked_add(length_bytes).map(i64::try_from) {
            Some(Ok(_)) => Ok(CopyRange { from_bytes, to_bytes, length_bytes }),
            _ => Err(Status::FBig.into()),
        }
    }
}

impl Side<'_> {
    pub(super) fn open_for_write(&self, scope: StateidScope) -> OpResult<Arc<dyn OpenFile>> {
        self.check_io(scope, IoKind::Write)?;
        require_regular(&self.node)?;
        Ok(transfer::open_for_write(&self.node, &self.node.attributes()?)?)
    }

    fn check_io(&self, scope: StateidScope, io: IoKind) -> OpResult<()> {
        check_io(scope, &self.node, &self.stateid, io)
    }
}

/// Resolves the current stateid of the source, which is the one saved with the saved file (RFC 8881 §16.2.3.1.2).
pub(super) fn source_stateid(compound: &Compound<'_>, source: &Stateid) -> OpResult<Stateid> {
    match *source {
        Stateid::CURRENT => Ok(compound.progress.saved_stateid.ok_or(Status::BadStateid)?),
        source => Ok(source),
    }
}

/// A file for a copy that goes on after the reply.
pub(super) fn copy_file(node: &Node<'_>, stateid: Stateid) -> CopyFile {
    CopyFile { export: node.exported.id(), file: node.file_key(), stateid }
}

pub(super) fn require_regular(node: &Node<'_>) -> OpResult<()> {
    match node.attributes()?.kind {
        FileKind::Regular => Ok(()),
        FileKind::Directory => Err(Status::IsDir.into()),
        _ => Err(Status::WrongType.into()),
    }
}
