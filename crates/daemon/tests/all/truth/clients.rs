//! NFS clients, and a local process, that look all the time.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use proto::Operation;
use proto::mount::{DirPath, Mnt3, Mnt3Reply};
use proto::nfs3::{
    DirOp, Fattr, FileHandle, Lookup, LookupArgs, LookupOk, PostOpAttr, Readdir, ReaddirArgs, ReaddirOk, Readdirplus,
    ReaddirplusArgs, ReaddirplusOk, Res, Status,
};
use rpc::Procedure;
use xdr::{Decode, Decoder};

use super::oracle::{Answer, Asked, Oracle, Shape};
use super::{DIRS, EXPORT, NAMES, Random, Site, name_of, number};
use crate::raw::Wire;

/// How many calls are sent before a reply is awaited: the server answers some of them in one batch.
const DEPTH: usize = 8;

/// Enough for all names of a directory.
const LISTING_BYTES: u32 = 64 << 10;

/// A client of NFSv3 that keeps nothing.
pub struct Client<'s> {
    oracle: &'s Oracle,
    random: Random,
    wire: Wire,
    dirs: Vec<FileHandle>,
}

#[derive(Clone, Copy)]
enum Question {
    Lookup(usize),
    Names(usize),
    Entries(usize),
}

impl<'s> Client<'s> {
    pub fn new(site: &Site, oracle: &'s Oracle, seed: u64, index: u64) -> Client<'s> {
        let mut wire = site.connect();
        wire.send(procedure::<Mnt3>(), &DirPath { path: EXPORT.as_bytes() });
        let Mnt3Reply::Ok(root) = Mnt3Reply::decode(&mut wire.receive()).unwrap() else { panic!("not mounted") };
        let mut dirs = Vec::new();
        for dir in 0..DIRS {
            let name = format!("dir{dir}");
            wire.send(procedure::<Lookup>(), &LookupArgs { what: DirOp { dir: root.handle, name: name.as_bytes() } });
            dirs.push(success(Res::<LookupOk, PostOpAttr>::decode(&mut wire.receive_any().1).unwrap()).object);
        }
        Client { oracle, random: Random::new(seed, 1000 + index), wire, dirs }
    }

    pub fn run(&mut self, is_over: impl Fn() -> bool) {
        while !is_over() {
            let asked: HashMap<u32, (Question, u64)> = (0..DEPTH).map(|_| self.ask()).collect();
            for _ in 0..DEPTH {
                let (call, from) = self.wire.receive_any();
                let (question, stamp) = asked[&call];
                let asked = Asked { from: stamp, to: self.oracle.stamp() };
                check(self.oracle, question, asked, from);
            }
        }
    }

    fn ask(&mut self) -> (u32, (Question, u64)) {
        let dir = self.random.below(DIRS as u64) as usize;
        let handle = self.dirs[dir];
        let (stamp, verifier) = (self.oracle.stamp(), [0; 8]);
        match self.random.below(16) {
            0 => {
                let args = ReaddirArgs { dir: handle, cookie: 0, verifier, count: LISTING_BYTES };
                (self.wire.send(procedure::<Readdir>(), &args), (Question::Names(dir), stamp))
            }
            1 => {
                let (dir_count, max_count) = (LISTING_BYTES, LISTING_BYTES);
                let args = ReaddirplusArgs { dir: handle, cookie: 0, verifier, dir_count, max_count };
                (self.wire.send(procedure::<Readdirplus>(), &args), (Question::Entries(dir), stamp))
            }
            _ => {
                let name = self.random.below(NAMES as u64) as usize;
                let (text, question) = (name_of(name), Question::Lookup(number(dir, name)));
                let what = DirOp { dir: handle, name: text.as_bytes() };
                (self.wire.send(procedure::<Lookup>(), &LookupArgs { what }), (question, stamp))
            }
        }
    }
}

/// Looks at a name as a local process does.
pub fn look(site: &Site, oracle: &Oracle, name: usize) {
    let from = oracle.stamp();
    let found = std::fs::symlink_metadata(site.path(name));
    let asked = Asked { from, to: oracle.stamp() };
    let answer = found.map_or(Answer::Absent, |found| Answer::Found {
        fileid: found.ino(),
        shape: Shape { size: found.size(), mode: found.mode() & 0o7777, links: found.nlink() as u32 },
    });
    oracle.judge(name, asked, answer);
}

fn check(oracle: &Oracle, question: Question, asked: Asked, mut from: Decoder<'_>) {
    match question {
        Question::Lookup(name) => match Res::<LookupOk, PostOpAttr>::decode(&mut from).unwrap() {
            Res::Fail(Status::NoEnt, _) => {
                oracle.judge(name, asked, Answer::Absent);
            }
            found => {
                let found = success(found);
                judge_found(oracle, (name, asked), &found.attributes.unwrap(), &found.object);
            }
        },
        Question::Names(dir) => {
            let listed = success(Res::<ReaddirOk<'_>, PostOpAttr>::decode(&mut from).unwrap());
            let mut seen = Seen::new(dir);
            for entry in &listed.entries {
                if let Some(name) = seen.add(entry.name) {
                    oracle.judge(name, asked, Answer::Named { fileid: entry.fileid });
                }
            }
            seen.judge_rest(oracle, asked, listed.eof);
        }
        Question::Entries(dir) => {
            let listed = success(Res::<ReaddirplusOk<'_>, PostOpAttr>::decode(&mut from).unwrap());
            let mut seen = Seen::new(dir);
            for listed in &listed.entries {
                let Some(name) = seen.add(listed.entry.name) else { continue };
                if let (Some(attributes), Some(handle)) = (&listed.attributes, &listed.handle) {
                    judge_found(oracle, (name, asked), attributes, handle);
                } else {
                    oracle.judge(name, asked, Answer::Named { fileid: listed.entry.fileid });
                }
            }
            seen.judge_rest(oracle, asked, listed.eof);
        }
    }
}

fn judge_found(oracle: &Oracle, (name, asked): (usize, Asked), attributes: &Fattr, handle: &FileHandle) {
    let shape = Shape { size: attributes.size, mode: attributes.mode & 0o7777, links: attributes.links };
    if let Some(file) = oracle.judge(name, asked, Answer::Found { fileid: attributes.fileid, shape }) {
        oracle.judge_handle(handle.as_bytes(), file);
    }
}

/// The names of a directory that a listing has.
struct Seen {
    dir: usize,
    names: [bool; NAMES],
}

impl Seen {
    fn new(dir: usize) -> Seen {
        Seen { dir, names: [false; NAMES] }
    }

    fn add(&mut self, name: &[u8]) -> Option<usize> {
        let index = std::str::from_utf8(name).unwrap().strip_prefix("name")?.parse().unwrap();
        assert!(!std::mem::replace(&mut self.names[index], true), "name{index} is listed twice");
        Some(number(self.dir, index))
    }

    /// What a whole listing does not have is not there.
    fn judge_rest(&self, oracle: &Oracle, asked: Asked, is_whole: bool) {
        for (index, is_seen) in self.names.iter().enumerate() {
            if is_whole && !is_seen {
                oracle.judge(number(self.dir, index), asked, Answer::Unlisted);
            }
        }
    }
}

fn procedure<O: Operation>() -> Procedure {
    Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE }
}

fn success<T, F: std::fmt::Debug>(result: Res<T, F>) -> T {
    match result {
        Res::Ok(ok) => ok,
        Res::Fail(status, fail) => panic!("{status:?}: {fail:?}"),
    }
}
