//! Set-id bits of a file that somebody changes who may not keep them: the kernel leaves it to us to take them away (`HANDLE_KILLPRIV_V2`).

use vfs::{Context, SetAttributes};

use crate::dispatch::Call;

/// Takes them away before a write. A server that knows who writes does it by itself, and need not let everybody.
pub(crate) fn end(call: &Call<'_>, cx: &Context<'_>, file: &vfs::Handle) {
    let Some(mode) = call.session.nodes.mode_without_set_ids(call.request.node) else { return };
    let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    match call.session.fs.set_attributes(cx, file, &set) {
        Ok(attributes) => {
            call.session.nodes.note_mode(call.request.node, attributes.mode);
            call.session.forget_attributes(call.request.node);
        }
        Err(error) => tracing::debug!(%error, "the set-id bits of a file that is written are left to the server"),
    }
}

/// What a change of the file's length does to its permission bits.
pub(crate) fn mode_after(call: &Call<'_>, ends_set_ids: bool) -> Option<u32> {
    if ends_set_ids { call.session.nodes.mode_without_set_ids(call.request.node) } else { None }
}
