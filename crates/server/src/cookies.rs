//! Cookies of listings: those on the wire, and those of file systems, which may have 64 bits.
//!
//! NFSv3 and NFSv4 allow 64 bits. Clients hand cookies to programs as signed numbers, so at most 63 bits are sent; and
//! NFSv2 has 32. A cookie that fits is sent two higher, since 0 means the start, 1 is `.` and 2 is `..`. The greatest
//! signed number, with which ext4 and Btrfs end their directories, is sent as it is. Any other is shortened to a number
//! in a range of its own (`cookie_jar.rs`).

use std::ops::ControlFlow;

use vfs::{Detail, Error, Listing, ReadDir};

use crate::cookie_jar::{DirKey, FIRST_MADE, Width, as_short};
use crate::fault::Fault;
use crate::node::Node;

/// The cookies of the dots. Those of the file system are sent behind them.
const DOTS: u64 = 2;
/// The greatest cookie on the wire, which is the same in the file system.
const END: u64 = i64::MAX.cast_unsigned();
/// In front of a hash, the cookie of NFSv3 and NFSv4 that stands for a longer one.
const MADE: u64 = 0x7fff_ffff << 32;
/// The greatest cookie that is sent two higher.
const MAX_PLAIN: u64 = (MADE | FIRST_MADE as u64) - 1 - DOTS;

/// The cookie on the wire of NFSv3 and NFSv4 for a cookie of the file system in `dir`.
pub(crate) fn to_wire(dir: &Node<'_>, cookie: u64) -> u64 {
    match cookie {
        0..=MAX_PLAIN => cookie + DOTS,
        END => END,
        _ => MADE | u64::from(dir.server.cookies.shorten(key(dir, Width::Wire), cookie)),
    }
}

/// The cookie of the file system for one on the wire of NFSv3 and NFSv4. Those of the dots are its start.
pub(crate) fn from_wire(dir: &Node<'_>, wire: u64) -> Result<u64, Fault> {
    match wire {
        0..=DOTS => Ok(0),
        _ if wire - DOTS <= MAX_PLAIN => Ok(wire - DOTS),
        END => Ok(END),
        _ if wire > END => Err(Error::BadCookie.into()),
        _ => {
            let (jar, key, short) = (&dir.server.cookies, key(dir, Width::Wire), wire as u32);
            let is_long = |cookie| cookie > MAX_PLAIN && cookie != END;
            let is_it = &mut |cookie| is_long(cookie) && jar.shorten(key, cookie) == short;
            jar.lengthen(key, short).map_or_else(|| find(dir, is_it), Ok)
        }
    }
}

/// The cookies of NFSv2 in `dir`, for those on the wire of the other versions.
pub(crate) fn to_short(dir: &Node<'_>, wire: u64) -> u32 {
    dir.server.cookies.shorten(key(dir, Width::Short), wire)
}

/// The cookie on the wire of the other versions for one of NFSv2.
pub(crate) fn from_short(dir: &Node<'_>, short: u32) -> Result<u64, Fault> {
    let (jar, key) = (&dir.server.cookies, key(dir, Width::Short));
    if let Some(wire) = jar.lengthen(key, short) {
        return Ok(wire);
    }
    let is_it = |cookie| {
        let wire = to_wire(dir, cookie);
        as_short(wire).is_none() && jar.shorten(key, wire) == short
    };
    find(dir, &mut { is_it }).map(|cookie| to_wire(dir, cookie))
}

fn key(dir: &Node<'_>, width: Width) -> DirKey {
    dir.server.cookies.dir_key(dir.exported.id(), &dir.handle, width)
}

/// Lists a directory from its start until a cookie is the one that is looked for.
fn find(dir: &Node<'_>, is_it: &mut dyn FnMut(u64) -> bool) -> Result<u64, Fault> {
    if !dir.context.may_block {
        // A large directory would block the event loop for long.
        return Err(Fault::Defer);
    }
    let (mut after, mut found) = (0, None);
    loop {
        let list = ReadDir { dir: &dir.handle, after, detail: Detail::Names };
        let listing = dir.fs().read_dir(&dir.context, list, &mut |entry| {
            after = entry.cookie;
            found = is_it(after).then_some(after);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match (found, listing) {
            (Some(cookie), _) => return Ok(cookie),
            (None, Listing::Complete) => return Err(Error::BadCookie.into()),
            (None, Listing::Stopped) => {}
        }
    }
}
