//! What a caller may do with a file, decided without asking the kernel.

use std::sync::PoisonError;

use vfs::{Access, Attributes, Context, FileKind, Handle, Result, permission};

use crate::acl::{Acl, CachedAcl};
use crate::host::HostFs;
use crate::node::Node;

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
    fn by_acl(&self, cx: &Context<'_>, node: &Node, attributes: &Attributes) -> Result<Option<Access>> {
        let mut cached = node.acl.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.as_ref().is_none_or(|cached| cached.changed != attributes.changed) {
            let acl = Acl::read(node.fd())?;
            *cached = Some(CachedAcl { changed: attributes.changed, acl });
        }
        let acl = cached.as_ref().and_then(|cached| cached.acl.as_ref());
        Ok(acl.map(|acl| acl.evaluate(attributes, &cx.caller)))
    }
}
