//! A user who makes, moves and removes names in directories that others use too, and what he knows must be there.

use std::collections::BTreeSet;
use std::sync::Arc;

use client::{Detail, Dir, OpenOptions, Result, Status, Version};
use vfs::{CreateMode, FileKind, SetAttributes};

use crate::simulation::world::{Began, World};
use crate::simulation_tree::model::{Expected, Model, Node};
use testing::Random;

/// How many names each user has for each directory.
const NAMES: u64 = 5;
/// The most directories on the way to a file.
const MAX_DEPTH: usize = 4;

pub struct User {
    world: Arc<World>,
    root: Dir,
    number: u64,
    random: Random,
    pub model: Model,
    log: Vec<String>,
}

/// What an operation that is carried out a second time says.
const DONE_TWICE: [Status; 2] = [Status::Exists, Status::NoEntry];

impl User {
    pub fn new(world: &Arc<World>, root: Dir, (number, seed): (u64, u64), shared: &[&str]) -> User {
        let (random, model) = (Random(seed ^ number << 32), Model::new(shared.iter().map(|dir| (*dir).to_owned())));
        User { world: Arc::clone(world), root, number, random, model, log: Vec::new() }
    }

    pub async fn run(&mut self, operations: u32) {
        for _ in 0..operations {
            self.one().await;
        }
    }

    /// Some path of this user's, which may be there or not, in a directory that is.
    fn path(&mut self) -> String {
        let dirs = self.model.dirs();
        let dir = &dirs[self.random.below(dirs.len() as u64) as usize];
        format!("{dir}/user{}-{}", self.number, self.random.below(NAMES))
    }

    async fn one(&mut self) {
        let path = self.path();
        match self.random.below(100) {
            0..20 => self.create(&path).await,
            20..30 => self.create_dir(&path).await,
            30..36 => self.symlink(&path).await,
            36..45 => self.link(&path).await,
            45..62 => self.rename(&path).await,
            62..74 => self.remove(&path).await,
            74..80 => self.remove_dir(&path).await,
            80..92 => self.look(&path).await,
            _ => self.list().await,
        }
    }

    /// Compares what an operation says with what it must say. One that was in flight while the server restarted, or its
    /// lease ended, may have happened and be forgotten: then it says what a second one does.
    fn check(&mut self, what: String, said: Result<()>, (began, expected): (Began, Expected)) {
        self.log.push(what);
        let status = said.as_ref().err().map(|error| error.status());
        let is_expected = match (&status, expected) {
            (None, Ok(())) => true,
            (Some(Some(status)), Err(expected)) => expected.contains(status),
            (Some(Some(status)), Ok(())) => DONE_TWICE.contains(status) && began.may_be_forgotten(&self.world),
            _ => false,
        };
        assert!(is_expected, "{said:?}, expected {expected:?}: {:?}", self.log);
    }

    async fn create(&mut self, path: &str) {
        if matches!(self.model.nodes.get(path), Some(Node::Symlink(_))) {
            return;
        }
        let began = Began::new(&self.world);
        let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        let verifier = self.random.next().to_be_bytes();
        // Version 2 looks first, and then makes what may be there (RFC 1094 §2.2.10).
        let is_exclusive = self.root.mount().version() != Version::V2 && self.random.chance(500);
        let mode = if is_exclusive { CreateMode::Exclusive(verifier) } else { CreateMode::Guarded };
        let opened = self.root.open(path, &OpenOptions::write().creating(mode, set)).await;
        let expected = self.model.create(path);
        let made = match opened {
            Ok(file) => file.close().await,
            Err(error) => Err(error),
        };
        self.check(format!("create {path} {mode:?}"), made, (began, expected));
    }

    async fn create_dir(&mut self, path: &str) {
        if path.matches('/').count() >= MAX_DEPTH {
            return;
        }
        let began = Began::new(&self.world);
        let made = self.root.create_dir(path, 0o755).await.map(drop);
        let expected = self.model.add(path, Node::Dir);
        self.check(format!("mkdir {path}"), made, (began, expected));
    }

    async fn symlink(&mut self, path: &str) {
        let (began, target) = (Began::new(&self.world), format!("to-{}", self.random.below(1000)));
        let made = self.root.symlink(&target, path).await.map(drop);
        let expected = self.model.add(path, Node::Symlink(target));
        self.check(format!("symlink {path}"), made, (began, expected));
    }

    async fn link(&mut self, path: &str) {
        let to = self.path();
        if matches!(self.model.nodes.get(path), Some(Node::Dir | Node::Symlink(_))) {
            return;
        }
        let began = Began::new(&self.world);
        let linked = self.root.hard_link(path, &self.root, &to).await;
        let expected = self.model.link(path, &to);
        self.check(format!("link {path} {to}"), linked, (began, expected));
    }

    async fn rename(&mut self, path: &str) {
        let to = self.path();
        // A directory does not go into itself, and does not get deeper than the others.
        if to.starts_with(&format!("{path}/")) || path.starts_with(&format!("{to}/")) {
            return;
        }
        let is_dir = self.model.nodes.get(path) == Some(&Node::Dir);
        if is_dir && to.matches('/').count() > path.matches('/').count() {
            return;
        }
        let began = Began::new(&self.world);
        let renamed = self.root.rename(path, &self.root, &to).await;
        let expected = self.model.rename(path, &to);
        self.check(format!("rename {path} {to}"), renamed, (began, expected));
    }

    async fn remove(&mut self, path: &str) {
        let began = Began::new(&self.world);
        let removed = self.root.remove_file(path).await;
        let expected = self.model.remove(path);
        self.check(format!("remove {path}"), removed, (began, expected));
    }

    async fn remove_dir(&mut self, path: &str) {
        let began = Began::new(&self.world);
        let removed = self.root.remove_dir(path).await;
        let expected = self.model.remove_dir(path);
        self.check(format!("rmdir {path}"), removed, (began, expected));
    }

    /// What is known of an own name is what it was made into, whatever the caches hold.
    async fn look(&mut self, path: &str) {
        self.log.push(format!("look {path}"));
        let found = self.root.symlink_metadata(path).await;
        let kind = found.as_ref().map(|found| found.kind).map_err(client::Error::status);
        let expected = match self.model.nodes.get(path) {
            None => Err(Some(Status::NoEntry)),
            Some(Node::File(_)) => Ok(FileKind::Regular),
            Some(Node::Dir) => Ok(FileKind::Directory),
            Some(Node::Symlink(_)) => Ok(FileKind::Symlink),
        };
        assert_eq!(kind, expected, "{path}: {:?}", self.log);
        match self.model.nodes.get(path) {
            Some(Node::Symlink(target)) => {
                let read = self.root.read_link(path).await.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
                assert_eq!(read, target.as_bytes(), "{path}: {:?}", self.log);
            }
            Some(node @ Node::File(_)) => {
                let links = found.map(|found| found.links).unwrap_or_default() as usize;
                assert_eq!(links, self.model.links(node), "names of {path}: {:?}", self.log);
            }
            _ => {}
        }
    }

    async fn list(&mut self) {
        let dirs = self.model.dirs();
        let dir = dirs[self.random.below(dirs.len() as u64) as usize].clone();
        self.log.push(format!("list {dir}"));
        let own = format!("user{}-", self.number);
        let open = self.root.open_dir(&dir).await.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
        let detail = if self.random.chance(500) { Detail::Names } else { Detail::Entries };
        let (mut entries, mut found) = (open.read_dir(detail), BTreeSet::new());
        while let Some(entry) = entries.next().await.unwrap_or_else(|error| panic!("{error}: {:?}", self.log)) {
            let name = String::from_utf8(entry.name.to_vec()).unwrap();
            if name.starts_with(&own) {
                assert!(found.insert(name), "{:?} twice: {:?}", entry.name, self.log);
            }
        }
        assert_eq!(found, self.model.names_in(&dir), "{dir}: {:?}", self.log);
    }
}
