//! OPEN: opens a file to read or write it.

use rustix::io::Errno;
use vfs::{Access, Attributes, Handle, OpenMode};

use crate::abi::{flags, open};
use crate::callers::Identity;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::files::Opened;
use crate::output::Undo;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let flags = arguments.u32()?;
    let handle = call.handle()?;
    let identity = call.identity();
    check_rights(&call, &handle, &identity, flags)?;
    let opened = open_file(&call, handle, identity, flags)?;
    let cx = opened.context(call.worker);
    let attributes = opened.file.attributes(&cx).map_err(errno)?;
    let is_current = is_current(&call, &attributes);
    reply(&mut call, opened, flags, is_current);
    Ok(())
}

/// Asks the file system whether the opener may write, where its open does not. Without that, the writes of a file that
/// may not be written would fail when nobody is left to get the error. The kernel has checked the permission bits.
fn check_rights(call: &Call<'_>, handle: &Handle, identity: &Identity, flags: u32) -> Result<(), Errno> {
    let is_read = flags & flags::ACCESS_MODE == flags::READ_ONLY;
    if is_read || call.session.properties.checks_opens {
        return Ok(());
    }
    let (fs, cx) = (&call.session.fs, call.context(identity));
    let attributes = fs.attributes(&cx, handle).map_err(errno)?;
    let allowed = fs.access(&cx, handle, &attributes, Access::WRITE).map_err(errno)?;
    if allowed.contains(Access::WRITE) { Ok(()) } else { Err(Errno::ACCESS) }
}

/// Opens a file for this identity.
pub(crate) fn open_file(call: &Call<'_>, handle: Handle, identity: Identity, flags: u32) -> Result<Opened, Errno> {
    let mode = if flags & flags::ACCESS_MODE == flags::READ_ONLY { OpenMode::Read } else { OpenMode::Write };
    let file = call.session.fs.open(&call.context(&identity), &handle, mode).map_err(errno)?;
    Ok(Opened::new(file, handle, identity, mode))
}

/// Whether the kernel's pages are still valid. If not, its attributes are invalidated, too: the kernel drops the pages
/// by itself, but would keep the file's old length.
fn is_current(call: &Call<'_>, attributes: &Attributes) -> bool {
    let is_current = call.session.nodes.is_current(call.request.node, attributes);
    if !is_current {
        call.session.forget_attributes(call.request.node);
        call.session.nodes.tell_attributes(call.request.node, attributes);
    }
    is_current
}

/// `fuse_open_out`. With `O_DIRECT`, reads bypass the kernel's size of the file, too, which hides what others appended.
pub(crate) fn reply(call: &mut Call<'_>, opened: Opened, flags: u32, is_current: bool) {
    let number = call.session.files.insert(opened);
    call.output.gives(Undo::Close(number));
    let is_direct = call.session.options.is_direct || flags & flags::DIRECT != 0;
    let direct = if is_direct { open::DIRECT_IO } else { 0 };
    let keep = if is_current { open::KEEP_CACHE } else { 0 };
    call.output.u64(number);
    call.output.u32(direct | keep);
    call.output.u32(0);
}
