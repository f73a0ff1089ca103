use client_files::{Version, clamped_times};
use vfs::{Attributes, Context, Handle, OpenFile, OpenMode, Result, SetAttributes};

use super::handles::Number;
use super::shared::Shared;

pub(super) fn get(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    match shared.opens.writer(known.number) {
        Some(file) => file.attributes(cx),
        None => {
            let mount = shared.mount_for(cx);
            let attributes = match cx.past_caches {
                true => shared.wait(cx, mount.attributes_at_open(&known.handle)),
                false => shared.wait(cx, mount.attributes(&known.handle)),
            };
            shared.visible(known.number, attributes)
        }
    }
}

impl Shared {
    /// `set` with the nearest times that NFSv2 or NFSv3 can express.
    pub(super) fn storable(&self, set: &SetAttributes) -> SetAttributes {
        match self.mount.version() {
            version @ (Version::V2 | Version::V3) => clamped_times(version, set),
            _ => *set,
        }
    }

    /// The attributes of a file without the link of its hidden name.
    pub(super) fn visible(&self, number: Number, attributes: Result<Attributes>) -> Result<Attributes> {
        let hidden = u32::from(self.opens.is_hidden(number));
        attributes.map(|found| Attributes { links: found.links.saturating_sub(hidden), ..found })
    }
}

/// Sets attributes. An empty set only fetches them, because a server may refuse it (RFC 8881 §18.30.4).
pub(super) fn set(shared: &Shared, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
    let known = shared.handles.find(node)?;
    if set.is_empty() {
        return get(shared, cx, node);
    }
    let mount = shared.mount_for(cx);
    // A user who has the file open may truncate it, whatever its mode is by now.
    if let Some(file) = shared.opens.get(known.number, mount.principal(), OpenMode::Write) {
        return file.set_attributes(cx, set);
    }
    let writer = shared.opens.writer(known.number);
    if let Some(other) = &writer {
        other.send_changes(cx)?;
    }
    let attributes = shared.wait(cx, mount.setattr(&known.handle, set));
    if let Some(other) = &writer {
        other.look_again();
    }
    shared.visible(known.number, attributes)
}
