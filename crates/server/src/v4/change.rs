//! `change_info4`: a directory's change attribute before and after an operation (RFC 7530 §2.2.9, RFC 8881 §3.3.3).

use proto::nfs4::ChangeInfo;
use vfs::Attributes;

use crate::change::ChangeInProgress;
use crate::fault::Fault;
use crate::node::Node;

/// A change of a directory in progress.
pub(super) struct DirChange<'c> {
    change: ChangeInProgress<'c>,
    before: Attributes,
}

impl<'c> DirChange<'c> {
    /// Begins the change and takes the attributes before it.
    pub(super) fn begin(dir: &Node<'c>) -> Result<DirChange<'c>, Fault> {
        let change = dir.begin_change()?;
        let before = dir.attributes_before(&change)?;
        Ok(DirChange { change, before })
    }

    /// The directory's attributes before it.
    pub(super) fn before(&self) -> Attributes {
        self.before
    }

    /// Takes the change attribute after it. The two are atomic only if no other change overlapped.
    pub(super) fn info(&self, dir: &Node<'_>) -> ChangeInfo {
        let before = self.before.change;
        match dir.attributes_after(&self.change) {
            Ok(attributes) => ChangeInfo { atomic: self.change.was_alone(), before, after: attributes.change },
            Err(_) => ChangeInfo { atomic: false, before, after: before.wrapping_add(1) },
        }
    }
}
