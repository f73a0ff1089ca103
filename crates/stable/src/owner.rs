//! The owner's description of itself in a log's header.

use std::path::{Path, PathBuf};

use vfs::FileSystem;

use crate::hex;
use crate::mark::{is_one, root};

/// The log's random name, its server, and the numbers of the exports that it has records of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogOwner {
    pub(crate) id: String,
    /// The id of the state directory of the server that used it last; logs of earlier versions do not have it.
    pub(crate) server: Option<String>,
    pub(crate) exports: Vec<OwnedExport>,
    /// The number that the next export gets.
    next: u32,
}

/// An export of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnedExport {
    pub(crate) name: PathBuf,
    pub(crate) number: u32,
    /// The root directory ([`root`]).
    root: (u64, u64),
    /// The memory that had the unflushed changes ([`FileSystem::memory`]).
    pub(crate) memory: Option<u64>,
}

const HEAD: &str = "wharf write log";

impl LogOwner {
    pub(crate) fn new() -> LogOwner {
        LogOwner { id: new_id(), server: None, exports: Vec::new(), next: 0 }
    }

    /// Takes another name, so that what was recorded about the log is no longer valid.
    pub(crate) fn rename(&mut self) {
        self.id = new_id();
    }

    /// Reads what [`LogOwner::bytes`] wrote.
    pub(crate) fn read(text: &[u8]) -> Option<LogOwner> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        let (head, id, next) = (lines.next()?, lines.next()?, lines.next()?);
        let (next, server) =
            next.split_once(' ').map_or((next, None), |(next, server)| (next, Some(server.to_owned())));
        let exports = lines.map(OwnedExport::read).collect::<Option<_>>()?;
        (head == HEAD).then_some(LogOwner { id: id.to_owned(), server, exports, next: next.parse().ok()? })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let server = self.server.iter().map(|server| format!(" {server}"));
        let lines = [HEAD.to_owned(), self.id.clone(), self.next.to_string() + &server.collect::<String>()];
        let lines: Vec<String> = lines.into_iter().chain(self.exports.iter().map(OwnedExport::text)).collect();
        lines.join("\n").into_bytes()
    }

    /// Returns the number of an export, and its description if it is known. The description stays: it is that of the
    /// records, until [`LogOwner::describe`] replaces it.
    pub(crate) fn number_of(&mut self, now: &OwnedExport) -> (u32, Option<OwnedExport>) {
        if let Some(known) = self.exports.iter().find(|known| known.name == now.name) {
            return (known.number, Some(known.clone()));
        }
        let number = self.next;
        self.next += 1;
        self.exports.push(OwnedExport { number, ..now.clone() });
        (number, None)
    }

    /// Replaces the description of a known export.
    pub(crate) fn describe(&mut self, now: &OwnedExport) {
        for known in self.exports.iter_mut().filter(|known| known.name == now.name) {
            *known = OwnedExport { number: known.number, ..now.clone() };
        }
    }

    /// Gives the export of this name another number when it returns.
    pub(crate) fn forget(&mut self, name: &Path) {
        self.exports.retain(|owned| owned.name != name);
    }

    /// Treats unflushed changes of an export, and of all others with the same memory, as lost: storage reports a loss
    /// to one of them. They are replayed when the exports return. Returns the names of these exports.
    pub(crate) fn forget_memory(&mut self, name: &Path) -> Vec<PathBuf> {
        let memory = self.exports.iter().find(|owned| owned.name == name).and_then(|owned| owned.memory);
        let is_lost = |owned: &&mut OwnedExport| owned.name == name || (memory.is_some() && owned.memory == memory);
        let lost = self.exports.iter_mut().filter(is_lost).map(|owned| {
            owned.memory = None;
            owned.name.clone()
        });
        lost.collect()
    }
}

/// A random name.
pub(crate) fn new_id() -> String {
    getrandom::u64().map_or_else(|_| String::from("0"), |id| format!("{id:016x}"))
}

/// The names of the exports in the header of a write log; `None` for another log.
#[must_use]
pub fn owners_exports(owner: &[u8]) -> Option<Vec<PathBuf>> {
    Some(LogOwner::read(owner)?.exports.into_iter().map(|owned| owned.name).collect())
}

impl OwnedExport {
    pub(crate) fn of(name: &Path, fs: &dyn FileSystem) -> OwnedExport {
        OwnedExport {
            name: name.to_owned(),
            number: 0,
            root: root(fs),
            memory: fs.memory().map(|memory| memory.number),
        }
    }

    pub(crate) fn is_same_tree(&self, other: &OwnedExport) -> bool {
        self.root == other.root
    }

    /// Whether it is known to be the same directory, whatever paths lead to it.
    pub(crate) fn is_same_dir(&self, other: &OwnedExport) -> bool {
        is_one(self.root, other.root)
    }

    /// Whether the machine still has the unflushed changes in memory.
    pub(crate) fn has_memory_of(&self, known: Option<&OwnedExport>) -> bool {
        self.memory.is_some() && known.is_some_and(|known| known.memory == self.memory)
    }

    fn text(&self) -> String {
        let memory = self.memory.map_or_else(|| "-".to_owned(), |memory| memory.to_string());
        format!("{} {} {} {memory} {}", self.number, self.root.0, self.root.1, hex::hex_path(&self.name))
    }

    fn read(line: &str) -> Option<OwnedExport> {
        let [number, fileid, birth, memory, name] = *line.split(' ').collect::<Vec<_>>() else { return None };
        Some(OwnedExport {
            name: hex::path(name)?,
            number: number.parse().ok()?,
            root: (fileid.parse().ok()?, birth.parse().ok()?),
            memory: if memory == "-" { None } else { Some(memory.parse().ok()?) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_of_an_export_stays_that_of_its_records_until_it_is_replaced() {
        let mut owner = LogOwner::new();
        let export = |memory| OwnedExport { name: "/a".into(), number: 0, root: (0, 0), memory };
        owner.number_of(&export(Some(1)));
        owner.forget_memory(Path::new("/a"));
        owner.number_of(&export(Some(1)));
        assert_eq!(owner.exports[0].memory, None, "a start that fails stores that nothing must be replayed");
        owner.describe(&export(Some(1)));
        assert_eq!(owner.exports[0].memory, Some(1));
    }

    #[test]
    fn server_comes_back_and_logs_of_earlier_versions_have_none() {
        for server in [Some("0a".to_owned()), None] {
            let owner = LogOwner { server, next: 7, ..LogOwner::new() };
            assert_eq!(LogOwner::read(&owner.bytes()), Some(owner));
        }
    }

    #[test]
    fn loss_that_one_export_hears_of_is_one_of_all_exports_with_its_memory() {
        let mut owner = LogOwner::new();
        for (name, memory) in [("/a", Some(1)), ("/b", Some(2)), ("/c", Some(1)), ("/d", None)] {
            owner.number_of(&OwnedExport { name: name.into(), number: 0, root: (0, 0), memory });
        }
        assert_eq!(owner.forget_memory(Path::new("/a")), ["/a", "/c"].map(PathBuf::from));
        assert_eq!(owner.forget_memory(Path::new("/d")), ["/d"].map(PathBuf::from));
        let memories: Vec<_> = owner.exports.iter().map(|owned| owned.memory).collect();
        assert_eq!(memories, [None, Some(2), None, None]);
    }
}
