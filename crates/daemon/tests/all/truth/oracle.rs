//! What could be true of each name, and when.
//!
//! All threads draw stamps from one counter. A change is made at some moment between two stamps. So a version of a name
//! may hold from the first stamp of the change that made it, until somebody is known to have seen a later version: the
//! process that made that one, when its call returned; a process that looked; or a client, by an answer. An answer must
//! be a version that could hold between the stamps of question and answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a name stands for, as far as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub size: u64,
    pub mode: u32,
    pub links: u32,
}

/// A file: a number of its own, and the file system's once that is known.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    pub serial: u64,
    pub fileid: Option<u64>,
}

/// A file with a name.
#[derive(Debug, Clone, Copy)]
pub struct Present {
    pub file: Identity,
    pub shape: Shape,
}

/// What somebody was told of a name.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    Absent,
    /// A listing does not have it. One that is made while a name passes to another file may miss both (readdir(3p)).
    Unlisted,
    /// There is such a name.
    Named {
        fileid: u64,
    },
    Found {
        fileid: u64,
        shape: Shape,
    },
}

#[derive(Debug, Clone, Copy)]
struct Version {
    state: Option<Present>,
    start: u64,
    /// Until when nobody is known to have seen it.
    seen: u64,
}

/// From before a question until its answer was there.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub from: u64,
    pub to: u64,
}

/// All names, by their number.
pub struct Oracle {
    stamps: AtomicU64,
    names: Vec<Mutex<Vec<Version>>>,
    /// Which file each handle was given for.
    handles: Mutex<HashMap<Vec<u8>, u64>>,
    pub answers: AtomicU64,
}

impl Oracle {
    pub fn new(names: usize) -> Oracle {
        let first = Version { state: None, start: 0, seen: 0 };
        let names = (0..names).map(|_| Mutex::new(vec![first])).collect();
        Oracle { stamps: AtomicU64::new(1), names, handles: Mutex::default(), answers: AtomicU64::new(0) }
    }

    pub fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }

    /// What a name stands for; only for the thread that changes it.
    pub fn current(&self, name: usize) -> Option<Present> {
        self.versions(name, |versions| versions.last().unwrap().state)
    }

    /// Makes a change of names that one thread alone changes. It is given what they stand for afterwards.
    pub fn change<T>(&self, changes: &[(usize, Option<Present>)], make: impl FnOnce() -> T) -> T {
        let start = self.stamp();
        for &(name, state) in changes {
            self.versions(name, |versions| versions.push(Version { state, start, seen: u64::MAX }));
        }
        let made = make();
        let end = self.stamp();
        for &(name, _) in changes {
            self.versions(name, |versions| {
                let last = versions.last_mut().unwrap();
                last.seen = last.seen.min(end);
            });
        }
        made
    }

    /// The file system's number of a new file is known.
    pub fn learn(&self, name: usize, fileid: u64) {
        self.versions(name, |versions| {
            versions.last_mut().unwrap().state.as_mut().unwrap().file.fileid = Some(fileid);
        });
    }

    /// Checks an answer, and notes what it shows. Returns the file that it is about, if that is certain.
    pub fn judge(&self, name: usize, asked: Asked, answer: Answer) -> Option<u64> {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.versions(name, |versions| {
            let oldest = (1..versions.len()).rev().find(|&later| versions[later].seen <= asked.from).unwrap_or(0);
            let begun = versions[oldest..].iter().take_while(|version| version.start < asked.to).count();
            let possible = &mut versions[oldest..oldest + begun];
            // Whether the version was still being replaced when the answer came, or was replaced by then.
            let is_replaced = |index| index + 1 < begun;
            let fits = |&index: &usize| possible[index].could_be(answer, is_replaced(index));
            let fitting: Vec<usize> = (0..begun).filter(fits).collect();
            let Some(&first) = fitting.first() else {
                panic!("name {name}, {asked:?}: {answer:?} is none of {:?}", &versions[oldest..]);
            };
            possible[first].seen = possible[first].seen.min(asked.to);
            let file_of = |index: usize| possible[index].state.map(|present| present.file.serial);
            file_of(first).filter(|_| fitting.iter().all(|&index| file_of(index) == file_of(first)))
        })
    }

    /// Checks that a handle was never given for another file.
    pub fn judge_handle(&self, handle: &[u8], file: u64) {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let known = *handles.entry(handle.to_vec()).or_insert(file);
        assert_eq!(known, file, "the handle {handle:02x?} was another file's");
    }

    fn versions<T>(&self, name: usize, with: impl FnOnce(&mut Vec<Version>) -> T) -> T {
        with(&mut self.names[name].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Present {
    /// A file that is losing its name may be found by it with a link less, by local processes too: XFS and btrfs count
    /// before they remove the name.
    fn looks(&self, shape: Shape, is_replaced: bool) -> bool {
        self.shape == shape || (is_replaced && self.shape == Shape { links: shape.links + 1, ..shape })
    }
}

impl Version {
    fn could_be(&self, answer: Answer, is_replaced: bool) -> bool {
        let is = |present: &Present, fileid| present.file.fileid.is_none_or(|known| known == fileid);
        match (self.state, answer) {
            (None, Answer::Absent | Answer::Unlisted) => true,
            (Some(_), Answer::Unlisted) => is_replaced,
            (Some(present), Answer::Named { fileid }) => is(&present, fileid),
            (Some(present), Answer::Found { fileid, shape }) => {
                is(&present, fileid) && present.looks(shape, is_replaced)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(serial: u64, size: u64) -> Present {
        let shape = Shape { size, mode: 0o600, links: 1 };
        Present { file: Identity { serial, fileid: Some(serial) }, shape }
    }

    fn found(serial: u64, size: u64) -> Answer {
        Answer::Found { fileid: serial, shape: file(serial, size).shape }
    }

    fn asked(oracle: &Oracle) -> Asked {
        Asked { from: oracle.stamp(), to: oracle.stamp() }
    }

    #[test]
    fn answer_during_a_change_may_be_either() {
        for answer in [Answer::Absent, found(7, 1)] {
            let oracle = Oracle::new(1);
            oracle.change(&[(0, Some(file(7, 1)))], || oracle.judge(0, asked(&oracle), answer));
        }
    }

    #[test]
    #[should_panic(expected = "is none of")]
    fn old_answer_after_a_change_is_wrong() {
        let oracle = Oracle::new(1);
        oracle.change(&[(0, Some(file(7, 1)))], || ());
        oracle.judge(0, asked(&oracle), Answer::Absent);
    }

    #[test]
    #[should_panic(expected = "is none of")]
    fn old_answer_after_somebody_saw_the_new_one_is_wrong() {
        let oracle = Oracle::new(1);
        oracle.change(&[(0, Some(file(7, 1)))], || {
            oracle.judge(0, asked(&oracle), found(7, 1));
            oracle.judge(0, asked(&oracle), Answer::Absent);
        });
    }

    #[test]
    #[should_panic(expected = "is none of")]
    fn answer_that_mixes_two_files_is_wrong() {
        let oracle = Oracle::new(1);
        oracle.change(&[(0, Some(file(7, 1)))], || ());
        let before = oracle.stamp();
        oracle.change(&[(0, Some(file(8, 2)))], || ());
        oracle.judge(0, Asked { from: before, to: oracle.stamp() }, found(8, 1));
    }

    #[test]
    #[should_panic(expected = "another file's")]
    fn handle_of_two_files_is_wrong() {
        let oracle = Oracle::new(1);
        oracle.judge_handle(b"handle", 1);
        oracle.judge_handle(b"handle", 2);
    }
}
