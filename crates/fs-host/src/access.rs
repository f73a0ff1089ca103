//! What a caller may do with a file, decided without asking the kernel.

use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use vfs::{Access, Attributes, Context, FileKind, Handle, Result, Timestamp, permission};

use crate::host::HostFs;
use crate::node::HostNode;
use crate::posix_acl::{self, CachedAcl};

/// How long after a change another one may carry the same time: one tick of the slowest kernel clock, and some more.
const MAX_TICK: Duration = Duration::from_millis(20);

impl HostFs {
    /// The ways to use a file that its access list gives to the caller, or its permission bits if it has none.
    pub(crate) fn allowed(&self, cx: &Context<'_>, handle: &Handle, attributes: &Attributes) -> Result<Access> {
        let by_mode = permission::by_mode(attributes, &cx.caller);
        // No list stops the superuser, and the owner's entry of a list is the owner's permission bits.
        let bits_decide = cx.caller.is_root() || cx.caller.uid == attributes.uid || !self.volume.has_acls;
        if bits_decide || attributes.kind == FileKind::Symlink {
            return Ok(by_mode);
        }
        let node = self.node(cx, handle)?;
        self.by_acl(cx, &node, attributes).map(|by_acl| by_acl.unwrap_or(by_mode))
    }

    /// What the access list says, which is read again only after the file's change time has moved.
    fn by_acl(&self, cx: &Context<'_>, node: &HostNode, attributes: &Attributes) -> Result<Option<Access>> {
        let mut cached = node.acl.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.as_ref().is_none_or(|cached| cached.changed != attributes.changed) {
            *cached = Some(CachedAcl { changed: attributes.changed, acl: posix_acl::read_access(node.fd())? });
        }
        let acl = cached.as_ref().and_then(|cached| cached.acl.as_ref());
        let allowed = acl.map(|acl| acl.evaluate(attributes, &cx.caller));
        if is_recent(attributes.changed) {
            *cached = None;
        }
        Ok(allowed)
    }
}

/// Whether a list that was read now could be replaced without the change time showing it.
fn is_recent(changed: Timestamp) -> bool {
    let now = SystemTime::now();
    changed >= Timestamp::from(now.checked_sub(MAX_TICK).unwrap_or(now))
}
