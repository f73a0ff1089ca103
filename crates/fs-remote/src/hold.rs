//! Holds on files: whoever removes the last name through this file system hides it instead.

use std::sync::Arc;

use vfs::{Handle, Result};

use super::handles::Number;
use super::open::Opening;
use super::remote_file::HiddenName;
use super::shared::Shared;

/// A file that counts as open. The server behind is not asked: a file that its other clients remove is lost, unless it
/// is open there.
#[derive(Debug)]
pub(super) struct RemoteHold {
    shared: Arc<Shared>,
    number: Number,
}

/// Holds a file.
pub(super) fn hold(shared: &Arc<Shared>, node: &Handle) -> Result<RemoteHold> {
    let (known, _opening) = Opening::begin(shared, node)?;
    shared.handles.pin(&known);
    shared.opens.begin(known.number);
    shared.opens.begin_hold(known.number);
    Ok(RemoteHold { shared: Arc::clone(shared), number: known.number })
}

impl Drop for RemoteHold {
    fn drop(&mut self) {
        self.shared.opens.end_hold(self.number);
        let hidden = HiddenName::at_close(&self.shared, self.number);
        self.shared.handles.unpin(self.number);
        if let Some(hidden) = hidden {
            self.shared.run(hidden.remove());
        }
    }
}
