//! `change_info4`: a directory's change attribute before and after an operation (RFC 7530 §2.2.9, RFC 8881 §3.3.3).

use proto::nfs4::ChangeInfo;

use crate::change::ChangeInProgress;
use crate::node::Node;

/// A change of a directory in progress.
pub(super) struct DirChange<'c> {
    change: ChangeInProgress<'c>,
    before: u64,
}

impl<'c> DirChange<'c> {
    /// Announces the change and takes the change attribute before it.
    pub(super) fn begin(dir: &Node<'c>) -> vfs::Result<DirChange<'c>> {
        let change = dir.server.changes.begin(&dir.handle);
        Ok(DirChange { change, before: dir.attributes()?.change })
    }

    /// Takes the change attribute after it. The two are atomic only if no other change overlapped.
    pub(super) fn info(&self, dir: &Node<'_>) -> ChangeInfo {
        match dir.attributes() {
            Ok(attributes) => {
                ChangeInfo { atomic: self.change.was_alone(), before: self.before, after: attributes.change }
            }
            Err(_) => ChangeInfo { atomic: false, before: self.before, after: self.before.wrapping_add(1) },
        }
    }
}
