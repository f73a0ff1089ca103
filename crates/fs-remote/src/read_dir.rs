//! Lists directories by the server's own cookies.

use std::io;
use std::ops::ControlFlow;

use client_files::{Detail, DirEntry, DirPosition, Page, Version};
use vfs::{Context, EachEntry, Error, ReadDir, Result};

use super::handles::{Known, Listing, Moment, NameIn};
use super::shared::Shared;

/// The most consecutive replies without an entry.
const MAX_EMPTY_PAGES: u32 = 64;

/// Returns the entries after a cookie: those of one reply, or of the first reply with any.
pub(super) fn read_dir(
    shared: &Shared,
    cx: &Context<'_>,
    list: ReadDir<'_>,
    each: EachEntry<'_>,
) -> Result<vfs::Listing> {
    let dir = shared.handles.find_dir(list.dir)?;
    let detail = match list.detail {
        vfs::Detail::Names => Detail::Names,
        vfs::Detail::Kinds | vfs::Detail::Entries => Detail::Entries,
    };
    let mut after = list.after;
    for _ in 0..MAX_EMPTY_PAGES {
        let asked = shared.handles.now();
        let page = page(shared, cx, &dir, after, detail)?;
        let has_entries = !page.entries.is_empty();
        if give(shared, cx, (&dir, asked), &page, each)?.is_break() {
            return Ok(vfs::Listing::Stopped);
        }
        match (page.is_last, has_entries) {
            (true, _) => return Ok(vfs::Listing::Complete),
            (false, true) => return Ok(vfs::Listing::Stopped),
            (false, false) => after = page.next.cookie,
        }
    }
    Err(Error::Io(io::Error::other("the server lists a directory without telling its names")))
}

fn page(shared: &Shared, cx: &Context<'_>, dir: &Known, after: u64, detail: Detail) -> Result<Page> {
    let begun = match after {
        0 => Listing { verifier: [0; 8], detail },
        _ => shared.handles.listing(dir.number),
    };
    // The kernel asks for attributes at the beginning, and then for names only, until it looks a name up. A user who
    // removes everything looks up only behind the end, with a LOOKUP each; so the first detail is kept.
    let asked = if detail == Detail::Names && shared.mount.has_readdirplus() { begun.detail } else { detail };
    if shared.mount.version() == Version::V2 && u32::try_from(after).is_err() {
        return Err(Error::BadCookie);
    }
    let from = DirPosition { cookie: after, verifier: begun.verifier };
    let mut page = shared.wait(cx, shared.mount_for(cx).page_asking(&dir.handle, from, detail, asked))?;
    if detail == Detail::Names {
        page.entries.iter_mut().for_each(|entry| entry.entry = None);
    }
    shared.handles.set_listing(dir.number, Listing { verifier: page.next.verifier, ..begun });
    Ok(page)
}

fn give(
    shared: &Shared,
    cx: &Context<'_>,
    (dir, asked): (&Known, Moment),
    page: &Page,
    each: EachEntry<'_>,
) -> Result<ControlFlow<()>> {
    for entry in &page.entries {
        if entry.cookie == 0 {
            return Err(Error::Io(io::Error::other("the server gives a cookie that cannot be passed on")));
        }
        let DirEntry { name, fileid, cookie, entry, .. } = entry;
        let register = |found| shared.entry(cx, asked, &found, Some(NameIn::new(dir.handle, name)));
        let entry = entry.map(register).transpose()?;
        let kind = entry.map(|entry| entry.attributes.kind);
        if each(vfs::DirEntry { name, fileid: *fileid, cookie: *cookie, kind, entry }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
