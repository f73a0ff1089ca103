//! Access lists of files and directories.

use vfs::{Acls, Context, Error, FileKind, Handle, PosixAcl, Result, SetAttributes};

use crate::host::HostFs;
use crate::node::HostNode;
use crate::posix_acl::{read_access, read_default, write_access, write_default};

impl HostFs {
    pub(crate) fn acls_of(&self, cx: &Context<'_>, handle: &Handle) -> Result<Acls> {
        let node = self.node(cx, handle)?;
        let stat = self.stat_living(handle, &node)?;
        self.identity.own()?;
        let access = read_access(node.fd())?.unwrap_or_else(|| PosixAcl::from_mode(stat.stx_mode.into()));
        let is_directory = node.kind() == FileKind::Directory;
        Ok(Acls { access, default: if is_directory { read_default(node.fd())? } else { None } })
    }

    /// Sets the lists as the caller, so that the kernel judges it, and brings them to storage where that is asked for.
    pub(crate) fn put_acls(&self, cx: &Context<'_>, handle: &Handle, acls: &Acls) -> Result<()> {
        self.check_may_change(cx)?;
        let node = self.node(cx, handle)?;
        let before = self.stat_living(handle, &node)?;
        check_kind(node.kind(), acls)?;
        self.check_set(cx, &before, &SetAttributes { mode: Some(acls.access.mode()), ..SetAttributes::default() })?;
        self.identity.own()?;
        let opened = self.with_room(cx, || self.open_to_set(&node, &SetAttributes::default()))?;
        self.identity.assume(&cx.caller)?;
        write_both(&node, acls)?;
        self.settle_attributes(opened)?;
        self.reaffirm(handle, &node)
    }
}

fn check_kind(kind: FileKind, acls: &Acls) -> Result<()> {
    match kind {
        FileKind::Symlink => Err(Error::NotSupported),
        FileKind::Directory => Ok(()),
        _ if acls.default.is_some() => Err(Error::Invalid),
        _ => Ok(()),
    }
}

/// Sets both lists, or neither: the default one is put back when the other is refused.
fn write_both(node: &HostNode, acls: &Acls) -> Result<()> {
    if node.kind() != FileKind::Directory {
        return write_access(node.fd(), &acls.access);
    }
    let before = read_default(node.fd())?;
    write_default(node.fd(), acls.default.as_ref())?;
    write_access(node.fd(), &acls.access).inspect_err(|_| {
        // Why the list was refused says more than whether the other one could be put back.
        let _ = write_default(node.fd(), before.as_ref());
    })
}
