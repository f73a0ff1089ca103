//! GETLK: tests whether a lock would be granted.

use super::lock_range::{self, LockRequest};
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let wanted = LockRequest::parse(call.arguments())?;
    let opened = call.session.files.get(wanted.file)?;
    let taken = call.session.test_lock(&opened, wanted.call, wanted.wanted).map_err(errno)?;
    lock_range::put(call.output, taken);
    Ok(())
}
