//! Maps long cookies of directories to short ones (`crate::cookies`): keyed hashes of 31 bits.
//!
//! The key is kept across restarts, so that a client can continue an earlier listing. The directory is then listed from
//! its start until an entry's cookie has this hash.
//!
//! Among some hundred thousand entries, a few have equal hashes. The one listed later takes the next free number of its
//! own sequence of hashes. Directories are listed in the same order each time, so it takes the same number after a
//! restart, unless the colliding entries changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vfs::Handle;

use crate::handle::HandleKey;

/// Hashes have the highest bit set. [`u32::MAX`] is none of them.
pub(crate) const FIRST_MADE: u32 = 1 << 31;
/// The fewest cookies to remember; the maximum is twice as many, about 13 MB.
const MAX_COOKIES: usize = 1 << 17;
/// The number of hashes to try for one cookie. Remembered cookies use at most one number in ten thousand, so that even
/// the second is rarely taken.
const MAX_PROBES: u8 = 8;

/// The cookie itself, if it is short enough to be sent as it is.
pub(crate) fn as_short(cookie: u64) -> Option<u32> {
    u32::try_from(cookie).ok().filter(|cookie| *cookie < FIRST_MADE)
}

/// Which cookies are shortened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Width {
    /// Those of file systems, to the 63 bits of the wire.
    Wire,
    /// Those of the wire, to the 32 bits of NFSv2.
    Short,
}

/// Maps recent short cookies to their long ones.
#[derive(Debug)]
pub(crate) struct CookieJar {
    cookies: Mutex<Cookies>,
    key: HandleKey,
}

/// A keyed hash that identifies a directory and the width of its short cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DirKey(u64);

/// A short cookie and its directory.
type ShortKey = (DirKey, u32);

/// Two generations: when the younger one is full, it replaces the older one. So a listing in progress never loses its
/// latest cookies.
#[derive(Debug, Default)]
struct Cookies {
    young: HashMap<ShortKey, u64>,
    old: HashMap<ShortKey, u64>,
}

impl CookieJar {
    /// Makes an empty jar whose short cookies depend on `key`.
    pub(crate) fn new(key: &HandleKey) -> CookieJar {
        CookieJar { cookies: Mutex::default(), key: key.derive(b"short cookies") }
    }

    /// The key of a directory of an export.
    pub(crate) fn dir_key(&self, export: u64, dir: &Handle, width: Width) -> DirKey {
        DirKey(self.key.checksum(&[&export.to_be_bytes(), dir.as_bytes(), &[width as u8]].concat()))
    }

    /// The short cookie for a long one; remembers both.
    pub(crate) fn shorten(&self, dir: DirKey, long: u64) -> u32 {
        if let Some(short) = as_short(long) {
            return short;
        }
        let mut cookies = self.lock();
        let is_free_or_same = |short: &u32| cookies.get(&(dir, *short)).is_none_or(|other| other == long);
        let short = (0..MAX_PROBES).map(|probe| self.hash(long, probe)).find(is_free_or_same);
        // When all are taken, the listing may repeat some entries; the protocol has no error for this case.
        let short = short.unwrap_or_else(|| self.hash(long, 0));
        cookies.remember((dir, short), long);
        short
    }

    /// The long cookie for a short one, if it is remembered.
    pub(crate) fn lengthen(&self, dir: DirKey, short: u32) -> Option<u64> {
        if short < FIRST_MADE {
            return Some(u64::from(short));
        }
        self.lock().get(&(dir, short))
    }

    fn hash(&self, long: u64, probe: u8) -> u32 {
        let mut bytes = [probe; 9];
        bytes[1..].copy_from_slice(&long.to_be_bytes());
        (FIRST_MADE | self.key.checksum(&bytes) as u32).min(u32::MAX - 1)
    }

    fn lock(&self) -> MutexGuard<'_, Cookies> {
        self.cookies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cookies {
    fn get(&self, key: &ShortKey) -> Option<u64> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn remember(&mut self, key: ShortKey, long: u64) {
        if self.young.len() >= MAX_COOKIES && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, long);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn jar() -> (CookieJar, DirKey) {
        let jar = CookieJar::new(&HandleKey::new([9; 16]));
        let dir = jar.dir_key(1, &Handle::from_u64(1), Width::Short);
        (jar, dir)
    }

    /// Cookies like those of a file system that hashes names.
    fn long_cookies(count: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 40)
    }

    #[test]
    fn hundred_thousand_long_cookies_have_as_many_short_ones_and_come_back() {
        let (jar, dir) = jar();
        let short: Vec<u32> = long_cookies(100_000).map(|long| jar.shorten(dir, long)).collect();
        assert_eq!(short.iter().collect::<HashSet<_>>().len(), 100_000);
        for (long, short) in long_cookies(100_000).zip(short) {
            assert_eq!(jar.lengthen(dir, short), Some(long));
        }
    }

    #[test]
    fn another_jar_with_the_same_key_makes_the_same_short_cookies() {
        let ((first, dir), (second, _)) = (jar(), jar());
        assert!(long_cookies(100_000).all(|long| first.shorten(dir, long) == second.shorten(dir, long)));
    }

    #[test]
    fn cookie_of_31_bits_is_its_own_short_one_and_takes_no_memory() {
        let (jar, dir) = jar();
        assert_eq!(jar.shorten(dir, 0x7fff_ffff), 0x7fff_ffff);
        assert_eq!(jar.lengthen(dir, 0x7fff_ffff), Some(0x7fff_ffff));
        assert!(jar.lock().young.is_empty());
        assert!(jar.shorten(dir, 0x8000_0000) >= FIRST_MADE);
    }

    #[test]
    fn full_jar_forgets_the_oldest_cookies_only() {
        let (jar, dir) = jar();
        let short: Vec<u32> = long_cookies(3 * MAX_COOKIES as u64).map(|long| jar.shorten(dir, long)).collect();
        let cookies = jar.lock();
        assert!(cookies.young.len() + cookies.old.len() <= 2 * MAX_COOKIES);
        drop(cookies);
        assert!(short.iter().rev().take(MAX_COOKIES).all(|short| jar.lengthen(dir, *short).is_some()));
        assert_eq!(jar.lengthen(dir, short[0]), None);
    }

    #[test]
    fn directories_do_not_share_cookies() {
        let (jar, dir) = jar();
        let short = jar.shorten(dir, 1 << 40);
        for other in
            [jar.dir_key(1, &Handle::from_u64(2), Width::Short), jar.dir_key(1, &Handle::from_u64(1), Width::Wire)]
        {
            assert_eq!(jar.lengthen(other, short), None);
        }
    }
}
