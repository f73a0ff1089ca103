//! CREATE: makes a file and opens it.

use vfs::{CreateMode, Place, SetAttributes};

use super::open;
use crate::abi::flags;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let (flags, mode) = (arguments.u32()?, arguments.u32()?);
    // The umask, already applied to the mode, and flags of the kernel.
    arguments.bytes(8)?;
    let place = Place { dir: call.handle()?, name: arguments.name()? };
    let create = if flags & flags::EXCLUSIVE == 0 { CreateMode::Unchecked } else { CreateMode::Guarded };
    let set = SetAttributes {
        mode: Some(mode & 0o7777),
        size_bytes: (flags & flags::TRUNCATE != 0).then_some(0),
        ..SetAttributes::default()
    };
    let identity = call.identity();
    let entry = call.session.fs.create(&call.context(&identity), place, create, &set).map_err(errno)?;
    let opened = open::open_file(&call, entry.handle, identity, flags)?;
    call.reply_entry(&entry);
    open::reply(&mut call, opened, flags, true);
    Ok(())
}
