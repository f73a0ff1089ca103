//! OPENDIR: opens a directory for listing. Its state only shows whether the listing ends.

use crate::dispatch::{Call, FuseResult};
use crate::output::Undo;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let number = call.session.open_dirs.insert();
    call.output.gives(Undo::CloseDir(number));
    call.output.u64(number);
    call.output.zeros(8);
    Ok(())
}
