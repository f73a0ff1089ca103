//! Extended attributes of the user's (`user.…`): the others are the host's own business (RFC 8276 §4).

use std::ffi::{CStr, CString};
use std::sync::Arc;

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use vfs::{Context, Error, FileKind, Handle, Result, SetAttributes, SetXattr, XattrMode, XattrName};

use crate::failure::failed;
use crate::host::HostFs;
use crate::node::HostNode;
use crate::proc_path::proc_path;

const PREFIX: &[u8] = b"user.";

/// The start of the names that the server keeps for itself: clients neither see nor change such attributes.
const OWN_PREFIX: &[u8] = b"wharf.";

/// The longest value, and the longest list of names, that Linux has, in bytes.
const MAX_BYTES: usize = 65_536;

impl HostFs {
    pub(crate) fn xattr(&self, cx: &Context<'_>, handle: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        let node = self.xattr_node(cx, handle)?;
        if name.as_bytes().starts_with(OWN_PREFIX) {
            return Ok(None);
        }
        self.identity.own()?;
        read(proc_path(node.fd()).as_c_str(), &full(name)?)
    }

    pub(crate) fn xattr_names(&self, cx: &Context<'_>, handle: &Handle) -> Result<Vec<Box<[u8]>>> {
        let node = self.xattr_node(cx, handle)?;
        self.identity.own()?;
        let mut list = vec![0_u8; MAX_BYTES];
        let length = rustix::fs::listxattr(proc_path(node.fd()).as_c_str(), &mut list).map_err(failed)?;
        let names = list[..length].split(|&byte| byte == 0).filter_map(|name| name.strip_prefix(PREFIX));
        let names = names.filter(|name| !name.starts_with(OWN_PREFIX));
        let mut names: Vec<Box<[u8]>> = names.map(Box::from).collect();
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) fn put_xattr(&self, cx: &Context<'_>, handle: &Handle, set: &SetXattr<'_>) -> Result<()> {
        let flags = match set.mode {
            XattrMode::Either => XattrFlags::empty(),
            XattrMode::Create => XattrFlags::CREATE,
            XattrMode::Replace => XattrFlags::REPLACE,
        };
        let name = clients(set.name)?;
        self.change_xattr(cx, handle, |path| rustix::fs::setxattr(path, &*name, set.value, flags))
    }

    pub(crate) fn take_xattr(&self, cx: &Context<'_>, handle: &Handle, name: XattrName<'_>) -> Result<()> {
        let name = clients(name)?;
        self.change_xattr(cx, handle, |path| rustix::fs::removexattr(path, &*name))
    }

    /// Makes one change as the caller, so that the kernel judges it, and brings it to storage where that is asked for.
    fn change_xattr(
        &self,
        cx: &Context<'_>,
        handle: &Handle,
        change: impl Fn(&CStr) -> rustix::io::Result<()>,
    ) -> Result<()> {
        self.check_may_change(cx)?;
        let node = self.xattr_node(cx, handle)?;
        self.identity.own()?;
        let opened = self.with_room(cx, || self.open_to_set(&node, &SetAttributes::default()))?;
        self.identity.assume(&cx.caller)?;
        change(proc_path(node.fd()).as_c_str()).map_err(|errno| match errno {
            Errno::NODATA => Error::NoEntry,
            Errno::TOOBIG | Errno::RANGE => Error::FileTooBig,
            errno => failed(errno),
        })?;
        self.settle_attributes(opened)?;
        self.reaffirm(handle, &node)
    }

    /// Only regular files and directories have attributes of the user's, since on others no permission guards them.
    fn xattr_node(&self, cx: &Context<'_>, handle: &Handle) -> Result<Arc<HostNode>> {
        let node = self.node(cx, handle)?;
        self.stat_living(handle, &node)?;
        match node.kind() {
            FileKind::Regular | FileKind::Directory => Ok(node),
            _ => Err(Error::WrongKind),
        }
    }
}

pub(crate) fn read(path: &CStr, name: &CStr) -> Result<Option<Vec<u8>>> {
    let mut value = vec![0; MAX_BYTES];
    match rustix::fs::getxattr(path, name, &mut value) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(Errno::NODATA) => Ok(None),
        Err(errno) => Err(failed(errno)),
    }
}

/// The kernel's name of an attribute that clients may change.
fn clients(name: XattrName<'_>) -> Result<CString> {
    if name.as_bytes().starts_with(OWN_PREFIX) { Err(Error::AccessDenied) } else { full(name) }
}

/// A name as the kernel knows it.
fn full(name: XattrName<'_>) -> Result<CString> {
    CString::new([PREFIX, name.as_bytes()].concat()).map_err(|_| Error::Invalid)
}
