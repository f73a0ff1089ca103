//! LOOKUP: the file that a name in a directory leads to.
//!
//! In a directory that others have replaced, the kernel looks the path up again when this fails with ESTALE, unless it
//! is about to make the name. Then the name has to be missing, so that the kernel goes on, and the call that makes it
//! fails with ESTALE: that one the kernel does retry.

use rustix::io::Errno;
use vfs::{Context, Error, FileKind, Place};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let place = Place { dir: call.handle()?, name: call.arguments().name()? };
    let identity = call.identity();
    let cx = call.context(&identity);
    match call.session.fs.find(&cx, place) {
        Ok(found) => {
            let number = call.reply_found(&found);
            if found.entry.attributes.kind == FileKind::Directory {
                call.session.nodes.note_name(number, call.request.node, place.name);
            }
        }
        Err(Error::Stale) if is_missing_at_path(&call, &cx, place) => return Err(Errno::NOENT),
        // A cacheable missing name is a success without a file.
        Err(Error::NoEntry) if !call.session.options.validity.absences.is_zero() => call.reply_absence(),
        Err(error) => return Err(errno(error)),
    }
    Ok(())
}

/// Whether the path of a stale directory leads to another one by now, which lacks the name.
fn is_missing_at_path(call: &Call<'_>, cx: &Context<'_>, place: Place<'_>) -> bool {
    let fs = &call.session.fs;
    let Some((above, name)) = call.session.nodes.name(call.request.node) else { return false };
    let Ok(name) = vfs::Name::new(&name) else { return false };
    let Ok(dir) = fs.lookup(cx, Place { dir: above, name }) else { return false };
    dir.handle != place.dir && matches!(fs.lookup(cx, Place { dir: dir.handle, ..place }), Err(Error::NoEntry))
}
