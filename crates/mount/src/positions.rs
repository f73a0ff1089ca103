//! The kernel's offsets in the listing of an open directory.
//!
//! A cookie of the file system may be any number of 64 bits. The kernel passes offsets of 63 bits, and to programs of
//! 32 bits those of 31 bits. So each open directory numbers the entries that it lists, and keeps their cookies.

use std::sync::Mutex;

use rustix::io::Errno;

use crate::sync::hold;

/// The cookies that an open directory has listed. Position N is behind the entry with cookie N - 1 of these.
#[derive(Debug, Default)]
pub(crate) struct Positions(Mutex<Vec<u64>>);

impl Positions {
    /// The cookie of the entry before a position; 0 at the start.
    ///
    /// # Errors
    /// EINVAL for a position that was never returned.
    pub(crate) fn cookie(&self, position: u64) -> Result<u64, Errno> {
        let Some(before) = position.checked_sub(1) else { return Ok(0) };
        let cookies = hold(&self.0);
        usize::try_from(before).ok().and_then(|before| cookies.get(before)).copied().ok_or(Errno::INVAL)
    }

    /// The position behind the entry with this cookie, which was listed at `position`. A directory that has not changed
    /// has the same positions each time it is listed.
    pub(crate) fn behind(&self, position: u64, cookie: u64) -> u64 {
        let mut cookies = hold(&self.0);
        let known = usize::try_from(position).ok().and_then(|at| cookies.get(at));
        if known == Some(&cookie) {
            return position + 1;
        }
        cookies.push(cookie);
        cookies.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_small_whatever_the_cookies_and_the_same_in_each_pass() {
        let (dir, cookies) = (Positions::default(), [7, u64::MAX, 1 << 63, 3]);
        for _ in 0..2 {
            let mut position = 0;
            for (before, cookie) in cookies.into_iter().enumerate() {
                position = dir.behind(position, cookie);
                assert_eq!((position, dir.cookie(position)), (before as u64 + 1, Ok(cookie)));
            }
        }
        assert_eq!((dir.cookie(0), dir.cookie(5)), (Ok(0), Err(Errno::INVAL)));
    }

    #[test]
    fn changed_directory_keeps_the_positions_that_were_returned() {
        let dir = Positions::default();
        let first = dir.behind(0, 10);
        let second = dir.behind(first, 20);
        let other = dir.behind(first, 15);
        assert_eq!((dir.cookie(second), dir.cookie(other)), (Ok(20), Ok(15)));
        assert_eq!(dir.cookie(dir.behind(other, 20)), Ok(20));
    }
}
