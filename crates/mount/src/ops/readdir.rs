//! READDIR: names in a directory.

use std::ops::ControlFlow;

use rustix::io::Errno;
use vfs::{Attributes, Detail, DirEntry, FileKind, Handle, ReadDir};

use crate::abi::{DIRENT_BYTES, ENTRY_BYTES, MAX_DATA_BYTES};
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::reply::kind_bits;

/// The offsets of `.` and `..`, which the file system does not list: the positions of its entries follow them.
const DOTS: u64 = 2;
/// The type for an unknown kind.
const UNKNOWN: u32 = 0;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    list(&mut call, Detail::Names)
}

/// A name in a listing.
struct Item<'a> {
    name: &'a [u8],
    fileid: u64,
    /// The offset behind it.
    next: u64,
    kind: Option<FileKind>,
}

/// Lists names, with their attributes if requested.
pub(crate) fn list(call: &mut Call<'_>, detail: Detail) -> FuseResult {
    let mut arguments = call.arguments();
    let (number, place) = (arguments.u64()?, arguments.u64()?);
    let room = (arguments.u32()? as usize).min(MAX_DATA_BYTES);
    let positions = call.session.open_dirs.positions(number)?;
    let mut position = place.saturating_sub(DOTS);
    let after = positions.cookie(position)?;
    if call.session.open_dirs.is_endless(number, after) {
        tracing::warn!("the listing of a directory would not end: the server repeats cookies");
        return Err(Errno::IO);
    }
    let dir = call.handle()?;
    let place = dots(call, &dir, place, room, detail)?;
    if place < DOTS {
        return Ok(());
    }
    let identity = call.identity();
    let (fs, cx) = (&call.session.fs, call.context(&identity));
    let list = ReadDir { dir: &dir, after, detail };
    let mut cookies = Vec::new();
    let mut each = |entry: DirEntry<'_>| {
        if !fits(call, entry.name, room, detail) {
            return ControlFlow::Break(());
        }
        position = positions.behind(position, entry.cookie);
        put_entry(call, &entry, position, detail);
        cookies.push(entry.cookie);
        ControlFlow::Continue(())
    };
    let listed = fs.read_dir(&cx, list, &mut each);
    call.session.open_dirs.note_reply(number, cookies);
    match listed {
        Err(error) if call.output.length() == 0 => Err(errno(error)),
        // The entries before the error are returned, and the next request meets the error again.
        _ => Ok(()),
    }
}

/// Adds `.` and `..`, unless the listing has passed them. Returns the next offset.
fn dots(call: &mut Call<'_>, dir: &Handle, place: u64, room: usize, detail: Detail) -> Result<u64, Errno> {
    if place >= DOTS {
        return Ok(place);
    }
    let identity = call.identity();
    let cx = call.context(&identity);
    let own = call.session.fs.attributes(&cx, dir).map_err(errno)?;
    let above = call.session.fs.parent(&cx, dir).map_or(own, |entry| entry.attributes);
    let dots: [(&[u8], Attributes); 2] = [(b".", own), (b"..", above)];
    for (next, (name, attributes)) in (1..).zip(dots).skip(place as usize) {
        let item = Item { name, fileid: attributes.fileid, next, kind: Some(FileKind::Directory) };
        if !fits(call, name, room, detail) {
            return Ok(next - 1);
        }
        if detail == Detail::Entries {
            // Node ID 0: the kernel has these two already.
            call.output.zeros(ENTRY_BYTES);
        }
        put(call, &item);
    }
    Ok(DOTS)
}

fn put_entry(call: &mut Call<'_>, entry: &DirEntry<'_>, position: u64, detail: Detail) {
    let item = Item { name: entry.name, fileid: entry.fileid, next: position + DOTS, kind: entry.kind };
    match (detail, &entry.entry) {
        (Detail::Names | Detail::Kinds, _) => {}
        (Detail::Entries, Some(entry)) => call.reply_entry(entry),
        (Detail::Entries, None) => call.output.zeros(ENTRY_BYTES),
    }
    put(call, &item);
}

fn fits(call: &Call<'_>, name: &[u8], room: usize, detail: Detail) -> bool {
    let entry = if detail == Detail::Entries { ENTRY_BYTES } else { 0 };
    call.output.length() + entry + (DIRENT_BYTES + name.len()).next_multiple_of(8) <= room
}

/// `fuse_dirent`.
fn put(call: &mut Call<'_>, item: &Item<'_>) {
    call.output.u64(item.fileid);
    call.output.u64(item.next);
    call.output.u32(u32::try_from(item.name.len()).unwrap_or(0));
    call.output.u32(item.kind.map_or(UNKNOWN, |kind| kind_bits(kind) >> 12));
    call.output.bytes(item.name);
    let length = DIRENT_BYTES + item.name.len();
    call.output.zeros(length.next_multiple_of(8) - length);
}
