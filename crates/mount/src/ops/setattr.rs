//! SETATTR: mode, owner, length and times of a file.

use vfs::{SetAttributes, SetTime, Timestamp};

use super::set_ids;
use crate::abi::{SETATTR_ENDS_SET_IDS, set};
use crate::arguments::Arguments;
use rustix::io::Errno;

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let wanted = parse(call.arguments())?;
    let ends_set_ids = call.arguments().u32()? & SETATTR_ENDS_SET_IDS != 0;
    let identity = call.identity();
    let handle = call.handle()?;
    let cx = call.context(&identity);
    if ends_set_ids && wanted.mode.is_none() {
        set_ids::end(&call, &cx, &handle);
    }
    let after = call.session.fs.set_attributes(&cx, &handle, &wanted).map_err(errno)?;
    call.reply_attributes(&after);
    Ok(())
}

fn parse(mut arguments: Arguments<'_>) -> Result<SetAttributes, Errno> {
    let valid = arguments.u32()?;
    // Padding and the open file.
    arguments.bytes(12)?;
    let size_bytes = arguments.u64()?;
    let _lock_owner = arguments.u64()?;
    let (accessed_s, modified_s, _changed_s) = (arguments.u64()?, arguments.u64()?, arguments.u64()?);
    let (accessed_ns, modified_ns, _changed_ns) = (arguments.u32()?, arguments.u32()?, arguments.u32()?);
    let mode = arguments.u32()?;
    arguments.u32()?;
    let (uid, gid) = (arguments.u32()?, arguments.u32()?);
    let is_valid = |bit| valid & bit != 0;
    let time = |bits: (u32, u32), seconds: u64, nanoseconds| match bits {
        (_, now) if is_valid(now) => Some(SetTime::Now),
        (given, _) if is_valid(given) => Some(SetTime::To(Timestamp { seconds: seconds.cast_signed(), nanoseconds })),
        _ => None,
    };
    Ok(SetAttributes {
        mode: is_valid(set::MODE).then_some(mode & 0o7777),
        uid: is_valid(set::UID).then_some(uid),
        gid: is_valid(set::GID).then_some(gid),
        size_bytes: is_valid(set::SIZE).then_some(size_bytes),
        accessed: time((set::ATIME, set::ATIME_NOW), accessed_s, accessed_ns),
        modified: time((set::MTIME, set::MTIME_NOW), modified_s, modified_ns),
    })
}
