//! MKNOD: makes a file of any kind but directories and symbolic links.

use rustix::io::Errno;
use vfs::{CreateMode, NewNode, Place, SetAttributes};

use crate::abi::kind;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::reply::device_of;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let (mode, device) = (arguments.u32()?, arguments.u32()?);
    // The umask, already applied to the mode, and padding.
    arguments.bytes(8)?;
    let place = Place { dir: call.handle()?, name: arguments.name()? };
    let set = SetAttributes { mode: Some(mode & 0o7777), ..SetAttributes::default() };
    let identity = call.identity();
    let (cx, fs) = (call.context(&identity), &call.session.fs);
    let made = match mode & kind::MASK {
        0 | kind::REGULAR => fs.create(&cx, place, CreateMode::Guarded, &set),
        kind::BLOCK_DEVICE => fs.make_node(&cx, place, NewNode::BlockDevice(device_of(device)), &set),
        kind::CHAR_DEVICE => fs.make_node(&cx, place, NewNode::CharDevice(device_of(device)), &set),
        kind::FIFO => fs.make_node(&cx, place, NewNode::Fifo, &set),
        kind::SOCKET => fs.make_node(&cx, place, NewNode::Socket, &set),
        _ => return Err(Errno::INVAL),
    };
    call.reply_entry(&made.map_err(errno)?);
    Ok(())
}
