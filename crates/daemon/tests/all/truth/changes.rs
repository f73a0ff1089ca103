//! A local process that changes names and files of an export, each in a way that an answer shows.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::oracle::{Identity, Oracle, Present, Shape};
use super::{DIRS, NAMES, Random, Site, WRITERS, number};

/// A file as it is made.
const MODE: u32 = 0o600;

/// The most changes without a pause, and the longest pause: names are kept by the server only while nothing changes.
const MAX_BURST: u64 = 12;
const MAX_PAUSE_MS: u64 = 30;

/// The thread that alone changes the names of which it has the number.
pub struct Writer<'s> {
    site: &'s Site,
    oracle: &'s Oracle,
    random: Random,
    own: usize,
    serial: u64,
}

impl<'s> Writer<'s> {
    pub fn new(site: &'s Site, oracle: &'s Oracle, own: usize, seed: u64) -> Writer<'s> {
        Writer { site, oracle, random: Random::new(seed, own as u64), own, serial: own as u64 + 1 }
    }

    pub fn run(&mut self, is_over: impl Fn() -> bool) {
        while !is_over() {
            // A burst is in one directory, so that the others are quiet meanwhile.
            let dir = self.random.below(DIRS as u64) as usize;
            for _ in 0..=self.random.below(MAX_BURST) {
                self.change(dir);
            }
            thread::sleep(Duration::from_millis(self.random.below(MAX_PAUSE_MS)));
        }
    }

    fn change(&mut self, dir: usize) {
        let name = self.random_name(dir);
        match self.oracle.current(name) {
            None if self.random.below(2) == 0 => self.make(name),
            None => self.move_in(name),
            Some(there) => match self.random.below(9) {
                0 => self.move_in(name),
                1 => self.oracle.change(&[(name, None)], || fs::remove_file(self.path(name)).unwrap()),
                2 => self.oracle.change(&[(name, None)], || fs::rename(self.path(name), self.outside("gone")).unwrap()),
                3 => self.resize(name, there, |path, size| open(path).set_len(size).unwrap()),
                4 => self.resize(name, there, |path, size| open(path).write_all_at(b"x", size - 1).unwrap()),
                5 => self.change_mode(name, there),
                6 => self.link(name, there),
                7 => self.resize_elsewhere(name, there),
                _ => self.rename(name, there, dir),
            },
        }
    }

    fn random_name(&mut self, dir: usize) -> usize {
        number(dir, self.own + WRITERS * self.random.below((NAMES / WRITERS) as u64) as usize)
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += WRITERS as u64;
        self.serial
    }

    /// A size that no file had before.
    fn next_size(&mut self) -> u64 {
        self.next_serial()
    }

    fn path(&self, name: usize) -> PathBuf {
        self.site.path(name)
    }

    fn outside(&self, what: &str) -> PathBuf {
        self.site.outside().join(format!("{what}-{}", self.own))
    }

    fn make(&mut self, name: usize) {
        let file = Identity { serial: self.next_serial(), fileid: None };
        let shape = Shape { size: 0, mode: MODE, links: 1 };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(MODE);
        let path = self.path(name);
        let made = self.oracle.change(&[(name, Some(Present { file, shape }))], || options.open(path).unwrap());
        self.oracle.learn(name, made.metadata().unwrap().ino());
    }

    fn move_in(&mut self, name: usize) {
        let (new, size) = (self.outside("new"), self.next_size());
        let made = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&new).unwrap();
        made.set_len(size).unwrap();
        let file = Identity { serial: self.next_serial(), fileid: Some(made.metadata().unwrap().ino()) };
        let there = Present { file, shape: Shape { size, mode: MODE, links: 1 } };
        self.oracle.change(&[(name, Some(there))], || fs::rename(new, self.path(name)).unwrap());
    }

    fn resize(&mut self, name: usize, there: Present, resize: impl FnOnce(PathBuf, u64)) {
        let size = self.next_size();
        let resized = Present { shape: Shape { size, ..there.shape }, ..there };
        self.oracle.change(&[(name, Some(resized))], || resize(self.path(name), size));
    }

    fn change_mode(&mut self, name: usize, there: Present) {
        let mode = 0o600 | ((there.shape.mode + 1) & 0o77);
        let changed = Present { shape: Shape { mode, ..there.shape }, ..there };
        let set = || fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
        self.oracle.change(&[(name, Some(changed))], set);
    }

    /// Another link, outside of the export, comes and goes.
    fn link(&mut self, name: usize, there: Present) {
        let link = self.outside("link");
        let linked = Present { shape: Shape { links: 2, ..there.shape }, ..there };
        self.oracle.change(&[(name, Some(linked))], || fs::hard_link(self.path(name), &link).unwrap());
        self.oracle.change(&[(name, Some(there))], || fs::remove_file(&link).unwrap());
    }

    /// A change by another link, which no watch of the directory would report.
    fn resize_elsewhere(&mut self, name: usize, there: Present) {
        let (link, size) = (self.outside("link"), self.next_size());
        let linked = Present { shape: Shape { links: 2, ..there.shape }, ..there };
        let resized = Present { shape: Shape { size, ..linked.shape }, ..there };
        let alone = Present { shape: Shape { size, ..there.shape }, ..there };
        self.oracle.change(&[(name, Some(linked))], || fs::hard_link(self.path(name), &link).unwrap());
        self.oracle.change(&[(name, Some(resized))], || open(link.clone()).set_len(size).unwrap());
        self.oracle.change(&[(name, Some(alone))], || fs::remove_file(&link).unwrap());
    }

    /// Often over another file.
    fn rename(&mut self, name: usize, there: Present, dir: usize) {
        let to = self.random_name(dir);
        if to != name {
            let rename = || fs::rename(self.path(name), self.path(to)).unwrap();
            self.oracle.change(&[(name, None), (to, Some(there))], rename);
        }
    }
}

fn open(path: PathBuf) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}
