//! Clears set-id bits when a caller changes a file and may not keep them: the kernel leaves this to the file system
//! (`HANDLE_KILLPRIV_V2`).

use vfs::{Context, SetAttributes};

use crate::dispatch::Call;

/// Clears them before a write or a change of length. A server that sees the caller's identity does it by itself, and
/// need not allow this.
pub(crate) fn end(call: &Call<'_>, cx: &Context<'_>, file: &vfs::Handle) {
    let Some(mode) = call.session.nodes.mode_without_set_ids(call.request.node) else { return };
    let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    let left = match call.session.fs.set_attributes(cx, file, &set) {
        Ok(attributes) => attributes.mode,
        Err(error) => {
            tracing::debug!(%error, "cannot clear the set-id bits of a changed file; left to the server");
            mode
        }
    };
    call.session.nodes.note_mode(call.request.node, left);
    call.session.forget_attributes(call.request.node);
}
