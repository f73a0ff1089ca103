//! Open directories, by the file handles that the kernel uses: each knows where its listing was continued, so that a
//! server whose cookies lead back does not make a program list for ever.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use crate::positions::Positions;
use crate::sync::hold;

/// All open directories of a mount.
#[derive(Debug, Default)]
pub(crate) struct OpenDirs {
    open: Mutex<HashMap<u64, OpenDir>>,
    last: AtomicU64,
}

#[derive(Debug, Default)]
struct OpenDir {
    /// The cookies where the listing was continued since it last began or was moved.
    continued: HashSet<u64>,
    /// The cookie of the last request.
    asked: u64,
    /// The cookies of the entries of the last reply.
    told: Vec<u64>,
    positions: Arc<Positions>,
}

impl OpenDirs {
    /// Adds an open directory, and returns its number.
    pub(crate) fn insert(&self) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        hold(&self.open).insert(number, OpenDir::default());
        number
    }

    /// The kernel's offsets in the listing.
    ///
    /// # Errors
    /// EBADF for a number that no open directory has.
    pub(crate) fn positions(&self, number: u64) -> Result<Arc<Positions>, Errno> {
        hold(&self.open).get(&number).map(|dir| Arc::clone(&dir.positions)).ok_or(Errno::BADF)
    }

    pub(crate) fn remove(&self, number: u64) {
        hold(&self.open).remove(&number);
    }

    /// Notes a request for the entries behind a cookie. Returns whether the listing is endless: it comes back to one
    /// by following its own ones. A program that moves it by seekdir(3) begins again.
    pub(crate) fn is_endless(&self, number: u64, cookie: u64) -> bool {
        let mut open = hold(&self.open);
        let Some(dir) = open.get_mut(&number) else { return false };
        let (is_again, follows) = (cookie == dir.asked, dir.told.contains(&cookie));
        dir.asked = cookie;
        if follows {
            return !dir.continued.insert(cookie);
        }
        if !is_again {
            dir.continued.clear();
        }
        false
    }

    /// Notes the cookies of a reply.
    pub(crate) fn note_reply(&self, number: u64, cookies: Vec<u64>) {
        if let Some(dir) = hold(&self.open).get_mut(&number) {
            dir.told = cookies;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a listing in which `next` has the offsets behind each one, for up to 1000 requests.
    fn ends(next: impl Fn(u64) -> Vec<u64>) -> bool {
        let dirs = OpenDirs::default();
        let (number, mut offset) = (dirs.insert(), 0);
        for _ in 0..1000 {
            if dirs.is_endless(number, offset) {
                return true;
            }
            let told = next(offset);
            offset = *told.last().unwrap();
            dirs.note_reply(number, told);
        }
        false
    }

    #[test]
    fn circle_of_any_length_is_found_and_a_long_listing_is_none() {
        for length in [1, 2, 7, 400] {
            assert!(ends(|offset| vec![offset % length + 1]), "{length}");
        }
        assert!(!ends(|offset| vec![offset + 1, offset + 2]));
    }

    #[test]
    fn program_may_move_a_listing_and_the_kernel_may_use_a_part_of_a_reply() {
        let dirs = OpenDirs::default();
        let number = dirs.insert();
        for _ in 0..3 {
            for offset in [0, 2, 2, 4] {
                assert!(!dirs.is_endless(number, offset), "{offset}");
                dirs.note_reply(number, vec![offset + 1, offset + 2, offset + 3]);
            }
        }
        dirs.remove(number);
        assert!(!dirs.is_endless(number, 4));
    }
}
