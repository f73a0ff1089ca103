//! Weak cache consistency data: attributes before and after a change (RFC 1813 §2.6, `wcc_data`).

use proto::nfs3::WccData;
use vfs::{Attributes, Stability};

use super::convert;
use crate::change::ChangeInProgress;
use crate::fault::Fault;
use crate::node::Node;
use crate::transfer;

/// A change of one file in progress, with the attributes before it.
pub(super) struct Wcc<'c> {
    node: Node<'c>,
    change: ChangeInProgress<'c>,
    before: Option<Attributes>,
}

impl<'c> Wcc<'c> {
    /// Begins a change and takes the attributes before it.
    pub(super) fn begin(node: &Node<'c>) -> Result<Wcc<'c>, Fault> {
        Ok(Wcc::of(node, node.begin_change()?))
    }

    /// [`Wcc::begin`] for a write.
    pub(super) fn begin_write(node: &Node<'c>, stability: Stability) -> Result<Wcc<'c>, Fault> {
        transfer::defer_if_blocking(node, stability)?;
        Ok(Wcc::of(node, node.announce_change()))
    }

    fn of(node: &Node<'c>, change: ChangeInProgress<'c>) -> Wcc<'c> {
        let before = node.attributes_before(&change).ok();
        Wcc { node: *node, change, before }
    }

    /// The changed file.
    pub(super) fn node(&self) -> &Node<'c> {
        &self.node
    }

    /// The attributes before the change, or the error of fetching them.
    pub(super) fn before(&self) -> vfs::Result<Attributes> {
        self.before.map_or_else(|| self.node.attributes(), Ok)
    }

    /// Takes the attributes after the change. Those before are omitted if another change overlapped, since the client
    /// would take it for its own.
    pub(super) fn data(&self) -> WccData {
        self.data_with(self.node.attributes_after(&self.change).ok())
    }

    /// Like [`Wcc::data`], with attributes that were fetched after the change.
    pub(super) fn data_with(&self, after: Option<Attributes>) -> WccData {
        let before = self.before.as_ref().filter(|_| self.change.was_alone());
        WccData {
            before: before.map(convert::wcc_attr),
            after: after.map(|attributes| convert::fattr(&self.node, &attributes)),
        }
    }
}
