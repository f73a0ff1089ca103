use vfs::{Attributes, Context, Handle, OpenFile, Result, SetAttributes};

use super::Shared;
use super::handles::Number;

pub(super) fn get(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    match shared.opens.writer(known.number) {
        Some(file) => file.attributes(cx),
        None => shared.visible(known.number, shared.wait(cx, shared.mount.attributes(&known.handle))),
    }
}

impl Shared {
    /// The attributes of a file as those see it who do not know of its hidden name.
    pub(super) fn visible(&self, number: Number, attributes: Result<Attributes>) -> Result<Attributes> {
        let hidden = u32::from(self.opens.is_hidden(number));
        attributes.map(|found| Attributes { links: found.links.saturating_sub(hidden), ..found })
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
        None => shared.visible(known.number, shared.wait(cx, shared.mount.setattr(&known.handle, set))),
    }
}
