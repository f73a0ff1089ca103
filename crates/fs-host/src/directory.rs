//! Listings. A cookie is the kernel's own position behind an entry (`d_off`), which ext4, XFS, Btrfs and tmpfs (since
//! Linux 6.6) keep good for as long as the directory exists, whatever is added to it or removed from it.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, RawDir, RawDirEntry, SeekFrom};
use rustix::io::Errno;
use vfs::{Context, Detail, DirEntry, EachEntry, Entry, Error, FileKind, Listing, ReadDir, Result};

use crate::failure::failed;
use crate::handles::NameAt;
use crate::host::HostFs;

/// How much of a directory is taken from the kernel at once, in bytes: about what one reply holds, since the rest is
/// asked for again with the next call.
const BATCH_BYTES: usize = 8 * 1024;

/// How long a listing goes on where it must not block; then it ends early with what it has.
const MAX_TIME_ON_LOOP: Duration = Duration::from_millis(2);

/// How many entries are given between two looks at the clock.
const ENTRIES_PER_LOOK: u32 = 64;

impl HostFs {
    pub(crate) fn list(&self, cx: &Context<'_>, list: &ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        if !cx.may_block && !self.volume.is_memory {
            // Nothing tells whether the kernel has the directory's blocks in memory.
            return Err(Error::WouldBlock);
        }
        let dir = self.dir_node(cx, list.dir)?;
        self.identity.own()?;
        self.stat_living(list.dir, &dir)?;
        let fd = self.with_room(cx, || dir.listing())?;
        let _position = dir.position.lock().unwrap_or_else(PoisonError::into_inner);
        go_to(fd, list.after)?;
        let mut budget = ListingBudget::new(cx);
        let mut buffer = [const { MaybeUninit::uninit() }; BATCH_BYTES];
        let mut entries = RawDir::new(fd, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|errno| refused(errno, list.after))?;
            if is_dots(entry.file_name()) {
                continue;
            }
            let site = NameAt { dir: list.dir, node: &dir, name: entry.file_name() };
            if each(self.dir_entry(cx, site, list.detail, &entry)).is_break() || budget.is_spent() {
                self.keep_handles()?;
                return Ok(Listing::Stopped);
            }
        }
        self.keep_handles()?;
        Ok(Listing::Complete)
    }

    fn dir_entry<'e>(
        &self,
        cx: &Context<'_>,
        site: NameAt<'_>,
        detail: Detail,
        entry: &'e RawDirEntry<'_>,
    ) -> DirEntry<'e> {
        let listed = kind(entry.file_type());
        let found = match detail {
            Detail::Names => None,
            // Some file systems keep no kinds beside the names.
            Detail::Kinds if listed.is_some() => None,
            Detail::Kinds | Detail::Entries => self.find(cx, site).ok(),
        };
        DirEntry {
            name: entry.file_name().to_bytes(),
            fileid: found.map_or(entry.ino(), |found: Entry| found.attributes.fileid),
            cookie: entry.next_entry_cookie(),
            kind: found.map(|found| found.attributes.kind).or(listed),
            entry: found,
        }
    }
}

/// The kind of file that a listing tells, if it does.
fn kind(listed: FileType) -> Option<FileKind> {
    Some(match listed {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::Unknown => return None,
    })
}

/// Puts the listing behind the entry of a cookie. The kernel counts in signed numbers.
fn go_to(fd: BorrowedFd<'_>, cookie: u64) -> Result<()> {
    if i64::try_from(cookie).is_err() {
        return Err(Error::BadCookie);
    }
    match rustix::fs::seek(fd, SeekFrom::Start(cookie)) {
        Ok(_) => Ok(()),
        Err(Errno::INVAL) => Err(Error::BadCookie),
        Err(errno) => Err(failed(errno)),
    }
}

/// ENOENT and EINVAL from a listing mean a directory that is gone or a position that is none.
fn refused(errno: Errno, cookie: u64) -> Error {
    match errno {
        Errno::NOENT => Error::Stale,
        Errno::INVAL if cookie != 0 => Error::BadCookie,
        _ => failed(errno),
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// The time that a listing may take on a thread that must not block.
struct ListingBudget {
    deadline: Option<Instant>,
    entries: u32,
}

impl ListingBudget {
    fn new(cx: &Context<'_>) -> ListingBudget {
        let deadline = (!cx.may_block).then(|| Instant::now() + MAX_TIME_ON_LOOP);
        ListingBudget { deadline, entries: 0 }
    }

    fn is_spent(&mut self) -> bool {
        self.entries += 1;
        self.entries.is_multiple_of(ENTRIES_PER_LOOK) && self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}
