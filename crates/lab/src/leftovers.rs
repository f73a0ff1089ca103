//! What this process made and has not removed yet, so that an interruption can name it.
//!
//! A signal is for the whole process, and so is the list.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use client::Url;
use vfs::quoted;

static LIST: Mutex<BTreeMap<u64, Leftover>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);
static PROGRESS: AtomicU64 = AtomicU64::new(0);

/// Files or trees in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Their directory.
    pub dir: Dir,
    /// Their name, or what all their names begin with.
    pub name: Vec<u8>,
    /// Whether there can be several, whose names go on behind this one.
    pub is_prefix: bool,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dir {
    /// Of this machine.
    Local(PathBuf),
    /// Of a server.
    Export(Url),
}

impl Leftover {
    /// The file or tree with this path on this machine.
    pub(crate) fn local(path: &Path) -> Leftover {
        let dir = Dir::Local(path.parent().unwrap_or(Path::new("/")).to_owned());
        let name = path.file_name().unwrap_or_default().as_bytes().to_vec();
        Leftover { dir, name, is_prefix: false }
    }

    /// The file or tree with this URL.
    pub(crate) fn export(url: &Url) -> Leftover {
        let end = url.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let dir = Dir::Export(Url { path: url.path[..end.max(1)].to_vec(), ..url.clone() });
        Leftover { dir, name: url.path[end + 1..].to_vec(), is_prefix: false }
    }

    /// Whether a file of the directory with this name belongs to it.
    #[must_use]
    pub fn has(&self, name: &[u8]) -> bool {
        if self.is_prefix { name.starts_with(&self.name) } else { name == self.name }
    }

    /// Whether all of another one belongs to it.
    fn covers(&self, other: &Leftover) -> bool {
        self.dir == other.dir && self.has(&other.name) && (self.is_prefix || !other.is_prefix)
    }

    /// The command that removes it.
    #[must_use]
    pub fn remedy(&self) -> String {
        let star = if self.is_prefix { "*" } else { "" };
        match &self.dir {
            Dir::Local(dir) => format!("rm -r {}{star}", quoted(dir.join(OsStr::from_bytes(&self.name)))),
            Dir::Export(url) if self.is_prefix => {
                let (url, name) = (quoted(url.with_parameters()), String::from_utf8_lossy(&self.name));
                format!("wharf find {url} -maxdepth 1 -name {} --url | xargs wharf rm -r", quoted(format!("{name}*")))
            }
            Dir::Export(url) => {
                let path = [&url.path, &b"/"[..], &self.name].concat();
                format!("wharf rm -r {}", quoted(Url { path, ..url.clone() }.with_parameters()))
            }
        }
    }
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dir {
            Dir::Local(dir) => write!(f, "{}", dir.display())?,
            Dir::Export(url) => write!(f, "{url}")?,
        }
        write!(f, "/{}{}", String::from_utf8_lossy(&self.name), if self.is_prefix { "*" } else { "" })
    }
}

/// An entry of the list. It stays there when this is dropped: then nobody removed what was made.
#[derive(Debug)]
#[must_use]
pub(crate) struct Made(u64);

impl Made {
    /// Lists what is about to be made.
    pub(crate) fn new(leftover: Leftover) -> Made {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        list().insert(number, leftover);
        Made(number)
    }

    /// Takes it off the list: it is removed, or is meant to stay.
    pub(crate) fn release(self) {
        list().remove(&self.0);
    }
}

fn list() -> MutexGuard<'static, BTreeMap<u64, Leftover>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All that was made and is not removed.
#[must_use]
pub fn all() -> Vec<Leftover> {
    let mut all: Vec<Leftover> = Vec::new();
    for leftover in list().values() {
        if !all.iter().any(|known| known.covers(leftover)) {
            all.retain(|known| !leftover.covers(known));
            all.push(leftover.clone());
        }
    }
    all
}

/// Takes what somebody else removed off the list.
pub fn forget(leftover: &Leftover) {
    list().retain(|_, listed| !leftover.covers(listed));
}

/// Notes that something was removed, so that whoever waits for that goes on waiting.
pub fn note_progress() {
    PROGRESS.fetch_add(1, Ordering::Relaxed);
}

/// A number that changes with each removal.
#[must_use]
pub fn progress() -> u64 {
    PROGRESS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_name_their_files_and_the_command_that_removes_them() {
        let one = Leftover::local(Path::new("/a b/c"));
        assert_eq!((one.to_string().as_str(), one.remedy().as_str()), ("/a b/c", "rm -r '/a b/c'"));
        let many = Leftover { is_prefix: true, ..Leftover::local(Path::new("/a/c.")) };
        assert_eq!((many.to_string().as_str(), many.remedy().as_str()), ("/a/c.*", "rm -r /a/c.*"));
        assert!(many.has(b"c.1") && !many.has(b"c1") && !one.has(b"c.1"));
        let there = Leftover::export(&"nfs://h/e/c.?uid=5".parse().unwrap());
        assert_eq!(
            (there.to_string().as_str(), there.remedy().as_str()),
            ("nfs://h/e/c.", "wharf rm -r 'nfs://h/e/c.?uid=5'")
        );
        let pipe = "wharf find 'nfs://h/e?uid=5' -maxdepth 1 -name 'c.*' --url | xargs wharf rm -r";
        assert_eq!(Leftover { is_prefix: true, ..there }.remedy(), pipe);
    }

    #[test]
    fn file_whose_name_begins_like_others_is_listed_with_them() {
        let file = |name: &str| Leftover::local(Path::new(&format!("/covered/{name}")));
        let many = Leftover { is_prefix: true, ..file("c.") };
        let _made = [file("c.1"), many.clone(), file("c.2"), file("d")].map(Made::new);
        let here = |leftover: &Leftover| leftover.dir == many.dir;
        assert_eq!(all().into_iter().filter(here).collect::<Vec<_>>(), [many.clone(), file("d")]);
        forget(&many);
        assert_eq!(all().into_iter().filter(here).collect::<Vec<_>>(), [file("d")]);
        forget(&file("d"));
    }

    #[test]
    fn what_nobody_removed_stays_on_the_list() {
        let leftovers = [1, 2].map(|number| Leftover::local(Path::new(&format!("/listed/{number}"))));
        let [removed, dropped] = leftovers.clone().map(Made::new);
        removed.release();
        drop(dropped);
        assert_eq!(leftovers.each_ref().map(|leftover| all().contains(leftover)), [false, true]);
        forget(&leftovers[1]);
        assert!(!all().contains(&leftovers[1]));
    }
}
