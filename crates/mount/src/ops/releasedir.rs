//! RELEASEDIR: the last descriptor of an open directory was closed.

use crate::dispatch::{Call, FuseResult};

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    call.session.open_dirs.remove(call.arguments().u64()?);
    Ok(())
}
