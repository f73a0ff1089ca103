use vfs::{Attributes, Context, Handle, Result, SetAttributes};

use super::Shared;

pub(super) fn get(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    shared.wait(cx, shared.mount.getattr(&known.handle))
}

/// Sets attributes. A server that refuses to set nothing (RFC 8881 §18.30.4 lets it) is only asked for them.
pub(super) fn set(shared: &Shared, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    if set.is_empty() {
        return shared.wait(cx, shared.mount.getattr(&known.handle));
    }
    shared.wait(cx, shared.mount.setattr(&known.handle, set))
}
