//! A COMPOUND as its operations see it: the current and the saved file, and their stateids (RFC 8881 §16.2).

use std::sync::Arc;

use buffer::Mark;
use proto::nfs4::{Stateid, Status};
use state::{IoKind, StateidScope};
use vfs::{Attributes, Handle};

use super::failure::{Failure, OpResult};
use super::progress::CompoundState;
use super::state_error::inner;
use crate::exports::Exported;
use crate::fault::Fault;
use crate::node::{CallContext, Node};

/// A current or saved file, as the caller sees it.
#[derive(Clone, Copy)]
pub(super) struct CompoundFile<'c> {
    pub(super) node: Node<'c>,
    /// Its attributes, fetched by this COMPOUND, until an operation may have changed them.
    pub(super) attributes: Option<Attributes>,
}

/// A COMPOUND in progress.
pub(super) struct Compound<'c> {
    pub(super) cx: &'c CallContext<'c>,
    pub(super) current: Option<CompoundFile<'c>>,
    pub(super) saved: Option<CompoundFile<'c>>,
    /// Attributes of the current file after an operation that changed it.
    pub(super) attributes_after: Option<Attributes>,
    pub(super) progress: CompoundState,
    /// The start of the reply in the output.
    pub(super) reply_mark: Mark,
}

impl<'c> Compound<'c> {
    /// Whether the current operation may send its data from a file: it must be the last one, and the reply must not be
    /// cached.
    pub(super) fn may_send_from_file(&self) -> bool {
        let is_last = self.progress.done + 1 == self.progress.count;
        is_last && self.progress.turn.as_ref().is_some_and(|turn| !turn.cache_this())
    }

    /// Resolves the special current stateid (RFC 8881 §16.2.3.1.2).
    pub(super) fn stateid(&self, argument: &Stateid) -> OpResult<Stateid> {
        if *argument != Stateid::CURRENT {
            return Ok(*argument);
        }
        Ok(self.progress.current_stateid.ok_or(Status::BadStateid)?)
    }

    /// Fails if `stateid` does not permit the access.
    pub(super) fn check_io(&self, node: &Node<'_>, stateid: &Stateid, io: IoKind) -> OpResult<()> {
        check_io(self.stateid_scope()?, node, &self.stateid(stateid)?, io)
    }

    /// The current file, as the caller sees it.
    pub(super) fn current(&self) -> OpResult<Node<'c>> {
        self.node(self.current.as_ref())
    }

    /// The saved file, as the caller sees it.
    pub(super) fn saved(&self) -> OpResult<Node<'c>> {
        self.node(self.saved.as_ref())
    }

    fn node(&self, file: Option<&CompoundFile<'c>>) -> OpResult<Node<'c>> {
        let file = file.ok_or_else(|| no_file(&self.progress))?;
        self.cx.waits_for.set(file.node.exported.id());
        Ok(file.node)
    }

    /// The attributes of the current file: those that an earlier operation fetched, unless one may have changed them
    /// since.
    pub(super) fn current_attributes(&mut self) -> OpResult<&Attributes> {
        let CompoundFile { node, attributes } = self.current.as_mut().ok_or_else(|| no_file(&self.progress))?;
        self.cx.waits_for.set(node.exported.id());
        match attributes {
            Some(fetched) => Ok(fetched),
            // Not with `?`, which moves the attributes once more.
            none => match node.attributes() {
                Ok(fetched) => Ok(none.insert(fetched)),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Keeps attributes of the current file that were just fetched.
    pub(super) fn set_attributes(&mut self, attributes: Attributes) {
        if let Some(current) = &mut self.current {
            current.attributes = Some(attributes);
        }
    }

    /// Drops all attributes but those that a change left.
    pub(super) fn drop_attributes(&mut self) {
        for file in [&mut self.current, &mut self.saved].into_iter().flatten() {
            file.attributes = None;
        }
        if let Some(attributes) = self.attributes_after.take() {
            self.set_attributes(attributes);
        }
    }

    /// Makes a file of the same export the current one.
    pub(super) fn set_current_sibling(&mut self, handle: Handle) {
        if let Some(current) = &mut self.current {
            *current = CompoundFile { node: current.node.sibling(handle), attributes: None };
        }
        self.progress.current_stateid = None;
    }

    /// Makes a file the current one, if it is exported to the caller.
    #[inline]
    pub(super) fn set_current(&mut self, exported: &'c Arc<Exported>, handle: Handle) -> OpResult<()> {
        let file = self.file(exported, handle).map_err(|fault| match fault {
            // RFC 8881 §2.6.3.1: another flavour or address might succeed.
            Fault::NotExported => Failure::Status(Status::Access),
            fault => fault.into(),
        })?;
        self.current = Some(file);
        self.progress.current_stateid = None;
        Ok(())
    }

    /// A file as the caller sees it, if it is exported to the caller.
    #[inline]
    pub(super) fn file(&self, exported: &'c Arc<Exported>, handle: Handle) -> Result<CompoundFile<'c>, Fault> {
        let mut node = self.cx.node_of(exported, handle)?;
        node.requester = self.requester();
        Ok(CompoundFile { node, attributes: None })
    }
}

/// The failure of an operation that needs a file where there is none.
fn no_file(progress: &CompoundState) -> Status {
    progress.foreign.map_or(Status::NoFileHandle, |foreign| foreign.status)
}

/// Fails if `stateid`, which must not be the current stateid, does not permit the access.
pub(super) fn check_io(scope: StateidScope, node: &Node<'_>, stateid: &Stateid, io: IoKind) -> OpResult<()> {
    Ok(node.server.state.check_io(node.now, scope.of(&inner(stateid)), &node.file_key(), io)?)
}
