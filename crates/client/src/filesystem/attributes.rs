use vfs::{Attributes, Context, Handle, OpenFile, Result, SetAttributes};

use super::Shared;

pub(super) fn get(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    match shared.opens.writer(known.number) {
        Some(file) => file.attributes(cx),
        None => shared.wait(cx, shared.mount.attributes(&known.handle)),
    }
}

/// Sets attributes. A server that refuses to set nothing (RFC 8881 §18.30.4 lets it) is only asked for them.
pub(super) fn set(shared: &Shared, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    if set.is_empty() {
        return get(shared, cx, node);
    }
    match shared.opens.writer(known.number) {
        // Who has the file open may cut it, whatever its mode says by now.
        Some(file) => file.set_attributes(cx, set),
        None => shared.wait(cx, shared.mount.setattr(&known.handle, set)),
    }
}
