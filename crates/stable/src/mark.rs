//! The mark of an export: which log it depends on, and whether it still does.

use std::path::{Path, PathBuf};

use vfs::FileSystem;

use crate::hex;

/// The log of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Whether acknowledged changes of the export may be in the log alone.
    pub(crate) is_needed: bool,
    /// The log's random id.
    pub(crate) log: String,
    /// The number of the log's header when the mark was made.
    pub(crate) generation: u64,
    /// Where the log was.
    pub(crate) path: PathBuf,
    /// The root directory ([`root`]). A copy of the directory has the mark too, but another root.
    pub(crate) root: (u64, u64),
    /// The state directory of the log's server. Marks of earlier versions do not have it.
    pub(crate) state_dir: Option<PathBuf>,
}

impl Mark {
    pub(crate) fn text(&self) -> String {
        let need = if self.is_needed { "needed" } else { "released" };
        let (fileid, birth) = self.root;
        let path = hex::hex_path(&self.path);
        let state_dir = self.state_dir.as_ref().map(|dir| format!(" {}", hex::hex_path(dir))).unwrap_or_default();
        format!("{need} {} {} {fileid} {birth} {path}{state_dir}", self.log, self.generation)
    }

    pub(crate) fn read(text: &str) -> Option<Mark> {
        let words: Vec<&str> = text.split(' ').collect();
        let [need, log, generation, fileid, birth, path, ref rest @ ..] = *words else { return None };
        let state_dir = match *rest {
            [] => None,
            [dir] => Some(hex::path(dir)?),
            _ => return None,
        };
        Some(Mark {
            is_needed: match need {
                "needed" => true,
                "released" => false,
                _ => return None,
            },
            log: log.to_owned(),
            generation: generation.parse().ok()?,
            path: hex::path(path)?,
            root: (fileid.parse().ok()?, birth.parse().ok()?),
            state_dir,
        })
    }
}

/// The newer one of two marks of one log.
pub(crate) fn newer(own: Mark, kept: Mark) -> Mark {
    let age = |mark: &Mark| (mark.generation, mark.is_needed);
    if age(&kept) > age(&own) { kept } else { own }
}

/// The number of an export's root directory, and a value that distinguishes it from a later directory with that number.
pub(crate) fn root(fs: &dyn FileSystem) -> (u64, u64) {
    fs.origin().map_or(UNKNOWN, |origin| (origin.fileid, origin.birth))
}

/// The root of a file system that does not say where it begins.
const UNKNOWN: (u64, u64) = (0, 0);

/// Whether two roots are known to be one directory, whatever paths lead to it.
pub(crate) fn is_one(root: (u64, u64), other: (u64, u64)) -> bool {
    root == other && root != UNKNOWN
}

/// A log's path as marks have it.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(log: &str, generation: u64, is_needed: bool) -> Mark {
        Mark {
            is_needed,
            log: log.to_owned(),
            generation,
            path: "/a b/log".into(),
            root: (2, 7),
            state_dir: Some("/state".into()),
        }
    }

    #[test]
    fn mark_is_read_again() {
        for is_needed in [true, false] {
            assert_eq!(Mark::read(&mark("0a", 9, is_needed).text()), Some(mark("0a", 9, is_needed)));
        }
        let of_earlier_version = Mark { state_dir: None, ..mark("0a", 9, true) };
        assert_eq!(Mark::read(&of_earlier_version.text()), Some(of_earlier_version));
        assert_eq!(Mark::read("needed 0a 9"), None);
    }

    #[test]
    fn newer_mark_of_one_log_wins() {
        let choose = |own: &Mark, kept: &Mark| newer(own.clone(), kept.clone());
        let (old, new) = (mark("x", 1, true), mark("x", 2, false));
        assert_eq!(choose(&old, &new), new);
        assert_eq!(choose(&new, &old), new);
        // Only one of the two was stored before a crash.
        let (needed, released) = (mark("x", 2, true), mark("x", 2, false));
        assert_eq!(choose(&needed, &released), needed);
        assert_eq!(choose(&released, &needed), needed);
    }
}
