//! FSYNC: brings all written data to stable storage.

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let opened = call.session.files.get(call.arguments().u64()?)?;
    let synced = opened.file.sync(&opened.context(call.worker)).map_err(errno);
    call.session.files.report(&opened, synced)
}
