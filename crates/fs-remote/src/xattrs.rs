use client_files::{Status, XattrMode};
use vfs::{Context, Handle, Result, SetXattr, XattrName};

use super::shared::Shared;
use super::status;

pub(super) fn get(shared: &Shared, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
    let known = shared.handles.find(node)?;
    match shared.wait_for(cx, shared.mount_for(cx).getxattr(&known.handle, name.as_bytes()))? {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.status() == Some(Status::NoXattr) => Ok(None),
        Err(error) => Err(status::neutral(error)),
    }
}

pub(super) fn set(shared: &Shared, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
    let known = shared.handles.find(node)?;
    let mode = match set.mode {
        vfs::XattrMode::Either => XattrMode::Either,
        vfs::XattrMode::Create => XattrMode::Create,
        vfs::XattrMode::Replace => XattrMode::Replace,
    };
    shared.wait(cx, shared.mount_for(cx).setxattr(&known.handle, set.name.as_bytes(), set.value, mode))
}

pub(super) fn list(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
    let known = shared.handles.find(node)?;
    let names = shared.wait(cx, shared.mount_for(cx).listxattrs(&known.handle))?;
    // Invalid names from the server are left out.
    let is_name = |name: &Vec<u8>| XattrName::new(name).is_ok();
    let mut names: Vec<Box<[u8]>> = names.into_iter().filter(is_name).map(Vec::into_boxed_slice).collect();
    names.sort_unstable();
    Ok(names)
}

pub(super) fn remove(shared: &Shared, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
    let known = shared.handles.find(node)?;
    shared.wait(cx, shared.mount_for(cx).removexattr(&known.handle, name.as_bytes()))
}
