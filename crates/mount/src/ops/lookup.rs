//! LOOKUP: the file that a name in a directory leads to.

use vfs::{Error, Place};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let place = Place { dir: call.handle()?, name: call.arguments().name()? };
    let identity = call.identity();
    match call.session.fs.find(&call.context(&identity), place) {
        Ok(found) => call.reply_found(&found),
        // A cacheable missing name is a success without a file.
        Err(Error::NoEntry) if !call.session.options.validity.absences.is_zero() => call.reply_absence(),
        Err(error) => return Err(errno(error)),
    }
    Ok(())
}
