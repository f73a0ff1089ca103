//! An application with a directory of its own, and what it knows must be there.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use client::{Entry, File, LockKind, Mount, OpenOptions, Status, Version, WriteVerifier};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::simulation::world::{Began, World};
use testing::Random;

const NAMES: [&str; 3] = ["one", "two", "three"];
/// Files grow to about this, in bytes.
const MAX_FILE_BYTES: u64 = 40_000;
const MAX_WRITE_BYTES: u64 = 9000;

pub struct Actor {
    world: Arc<World>,
    mount: Mount,
    dir: Entry,
    random: Random,
    /// What must be in each file.
    model: BTreeMap<&'static str, Vec<u8>>,
    /// The file that is open, and its unstable writes that were not committed.
    open: Option<(&'static str, File)>,
    uncommitted: Vec<(u64, Bytes, WriteVerifier)>,
    log: Vec<String>,
}

impl Actor {
    pub async fn new(world: &Arc<World>, mount: &Mount, number: u64, seed: u64) -> Actor {
        let name = format!("actor-{number}");
        let root = mount.root().handle;
        let began = Began::new(world);
        let made = mount.mkdir(&root, name.as_bytes(), &mode(0o755)).await;
        let dir = match made {
            Err(error) if error.status() == Some(Status::Exists) && began.may_be_forgotten(world) => {
                mount.lookup(&root, name.as_bytes()).await.unwrap()
            }
            other => other.unwrap(),
        };
        let (world, mount, random) = (Arc::clone(world), mount.clone(), Random(seed ^ number << 32));
        let (model, log) = (BTreeMap::new(), Vec::new());
        Actor { world, mount, dir, random, model, open: None, uncommitted: Vec::new(), log }
    }

    pub async fn run(&mut self, operations: u32) {
        for _ in 0..operations {
            self.one().await;
        }
    }

    async fn one(&mut self) {
        let name = NAMES[self.random.below(3) as usize];
        match self.random.below(100) {
            0..30 => self.write(name).await,
            30..45 => self.write_unstable(name).await,
            45..65 => self.read(name).await,
            65..70 => self.truncate(name).await,
            70..78 => self.sync().await,
            78..83 => self.close().await,
            83..88 => self.lock(name).await,
            88..92 => self.rename(name).await,
            92..95 => self.remove(name).await,
            95..98 => self.make_dir(name).await,
            _ => self.list().await,
        }
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }

    /// The file of this name, open; made if it is not there.
    async fn file(&mut self, name: &'static str) {
        if self.open.as_ref().is_some_and(|(open, _)| *open == name) {
            return;
        }
        self.close().await;
        let mut options = OpenOptions::both();
        if !self.model.contains_key(name) {
            options = options.creating(self.create_mode(), mode(0o644));
            self.model.insert(name, Vec::new());
        }
        self.note(format!("open {name}"));
        let file = self.mount.open(&self.dir.handle, name.as_bytes(), &options).await;
        self.open = Some((name, file.unwrap_or_else(|error| panic!("{error}: {:?}", self.log))));
    }

    /// Files that are not there are made; version 2 cannot tell whether they are (RFC 1094 §2.2.10).
    fn create_mode(&mut self) -> CreateMode {
        match self.mount.version() {
            Version::V2 => CreateMode::Unchecked,
            _ if self.random.chance(500) => CreateMode::Exclusive(self.random.next().to_be_bytes()),
            _ => CreateMode::Unchecked,
        }
    }

    fn opened(&self) -> &File {
        &self.open.as_ref().unwrap().1
    }

    fn choose_range(&mut self) -> (u64, Bytes) {
        let (offset, count) = (self.random.below(MAX_FILE_BYTES), 1 + self.random.below(MAX_WRITE_BYTES));
        (offset, self.random.bytes(count as usize).into())
    }

    fn change(&mut self, name: &'static str, offset: u64, data: &[u8]) {
        let bytes = self.model.get_mut(name).unwrap();
        let end = offset as usize + data.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[offset as usize..end].copy_from_slice(data);
    }

    async fn write(&mut self, name: &'static str) {
        self.file(name).await;
        // What is sent again later would go over it.
        self.commit().await;
        let (offset, data) = self.choose_range();
        self.note(format!("write {name} {offset}+{}", data.len()));
        let written = self.opened().write_at(offset, &data).await;
        assert_eq!(written.unwrap_or_else(|error| panic!("{error}: {:?}", self.log)), data.len());
        self.change(name, offset, &data);
    }

    /// Writes as an application does that keeps what it wrote until it is committed.
    async fn write_unstable(&mut self, name: &'static str) {
        self.file(name).await;
        let (mut offset, mut data) = self.choose_range();
        self.note(format!("write unstable {name} {offset}+{}", data.len()));
        self.change(name, offset, &data);
        while !data.is_empty() {
            let part = data.slice(..data.len().min(self.mount.sizes().write as usize));
            let written = self.opened().write(offset, part, Stability::Unstable).await;
            let written = written.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
            let part = data.split_to(written.count as usize);
            if written.stability == Stability::Unstable {
                self.uncommitted.push((offset, part, written.verifier));
            }
            offset += u64::from(written.count);
        }
    }

    /// Commits what was written unstably, and sends again what the server lost, in the order in which it was written.
    async fn commit(&mut self) {
        while !self.uncommitted.is_empty() {
            let verifier = self.opened().commit(0, 0).await;
            let verifier = verifier.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
            let sent = std::mem::take(&mut self.uncommitted);
            let Some(first) = sent.iter().position(|(_, _, before)| *before != verifier) else { return };
            self.note(format!("{} of {} unstable writes lost", sent.len() - first, sent.len()));
            for (offset, data, _) in &sent[first..] {
                let mut done = 0;
                while done < data.len() {
                    let at = *offset + done as u64;
                    let written = self.opened().write(at, data.slice(done..), Stability::Unstable).await.unwrap();
                    let part = data.slice(done..done + written.count as usize);
                    done += part.len();
                    self.uncommitted.push((at, part, written.verifier));
                }
            }
        }
    }

    async fn read_raw(&self, offset: u64, buffer: &mut [u8]) -> client::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let read = self.opened().read_into(offset + done as u64, &mut buffer[done..]).await?;
            done += read.count;
            if read.is_eof || read.count == 0 {
                break;
            }
        }
        Ok(done)
    }

    async fn read(&mut self, name: &'static str) {
        self.file(name).await;
        // What the server may have lost is not back before it was sent again.
        self.commit().await;
        let (offset, data) = self.choose_range();
        let mut buffer = vec![0; data.len()];
        let is_raw = self.random.chance(300);
        self.note(format!("read {name} {offset}+{}{}", data.len(), if is_raw { " past the cache" } else { "" }));
        let count = match is_raw {
            true => self.read_raw(offset, &mut buffer).await,
            false => self.opened().read_at(offset, &mut buffer).await,
        };
        let count = count.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
        let expected = self.model[name].get(offset as usize..).unwrap_or_default();
        let expected = &expected[..expected.len().min(data.len())];
        assert!(buffer[..count] == *expected, "{count} bytes, expected {}: {:?}", expected.len(), self.log);
    }

    async fn truncate(&mut self, name: &'static str) {
        self.file(name).await;
        self.commit().await;
        let size = self.random.below(MAX_FILE_BYTES);
        self.note(format!("truncate {name} {size}"));
        let done = self.opened().set_len(size).await;
        done.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
        self.model.get_mut(name).unwrap().resize(size as usize, 0);
    }

    async fn sync(&mut self) {
        if self.open.is_none() {
            return;
        }
        self.note("sync".to_owned());
        self.commit().await;
        let synced = self.opened().sync().await;
        synced.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
    }

    async fn close(&mut self) {
        if self.open.is_none() {
            return;
        }
        self.commit().await;
        let Some((name, file)) = self.open.take() else { return };
        self.note(format!("close {name}"));
        file.close().await.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
    }

    async fn lock(&mut self, name: &'static str) {
        if !matches!(self.mount.version(), Version::V4(_)) {
            return;
        }
        self.file(name).await;
        let (offset, length) = (self.random.below(1000), 1 + self.random.below(1000));
        self.note(format!("lock {name} {offset}+{length}"));
        let done = match self.random.chance(500) {
            true => self.opened().lock(LockKind::Exclusive, offset, length).await,
            false => self.opened().unlock(offset, length).await,
        };
        done.unwrap_or_else(|error| panic!("{error}: {:?}", self.log));
    }

    /// What an operation says that must happen once. One that was in flight while the server restarted, or the lease
    /// ended, may be told that it happened already: a session's replies end with it.
    fn check(&self, result: client::Result<()>, expected: Option<Status>, (began, again): (Began, Status)) {
        let found = result.as_ref().err().map(|error| error.status());
        let is_again = expected.is_none() && found == Some(Some(again)) && began.may_be_forgotten(&self.world);
        let is_as_expected = found == expected.map(Some);
        assert!(is_again || is_as_expected, "{result:?}, expected {expected:?}: {:?}", self.log);
    }

    async fn rename(&mut self, name: &'static str) {
        self.close().await;
        let to = NAMES[self.random.below(3) as usize];
        if to == name {
            return;
        }
        self.note(format!("rename {name} {to}"));
        let (began, dir) = (Began::new(&self.world), self.dir.handle);
        let result = self.mount.rename(&dir, name.as_bytes(), &dir, to.as_bytes()).await;
        let bytes = self.model.remove(name);
        let expected = if bytes.is_some() { None } else { Some(Status::NoEntry) };
        self.check(result, expected, (began, Status::NoEntry));
        bytes.into_iter().for_each(|bytes| drop(self.model.insert(to, bytes)));
    }

    async fn remove(&mut self, name: &'static str) {
        self.close().await;
        self.note(format!("remove {name}"));
        let began = Began::new(&self.world);
        let result = self.mount.remove(&self.dir.handle, name.as_bytes()).await;
        let expected = if self.model.remove(name).is_some() { None } else { Some(Status::NoEntry) };
        self.check(result, expected, (began, Status::NoEntry));
    }

    /// Makes and removes a directory, which happens once each.
    async fn make_dir(&mut self, name: &'static str) {
        self.note(format!("mkdir and rmdir {name}.d"));
        let (name, dir) = (format!("{name}.d").into_bytes(), self.dir.handle);
        let began = Began::new(&self.world);
        let made = self.mount.mkdir(&dir, &name, &mode(0o700)).await;
        self.check(made.map(drop), None, (began, Status::Exists));
        let began = Began::new(&self.world);
        let removed = self.mount.rmdir(&dir, &name).await;
        self.check(removed, None, (began, Status::NoEntry));
    }

    async fn list(&mut self) {
        self.note("list".to_owned());
        let mut listing = self.mount.read_dir(&self.dir.handle, client::Detail::Names);
        let mut names = Vec::new();
        while let Some(entry) = listing.next().await.unwrap_or_else(|error| panic!("{error}: {:?}", self.log)) {
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        }
        names.sort();
        assert_eq!(names, self.model.keys().copied().map(str::to_owned).collect::<Vec<_>>(), "{:?}", self.log);
    }

    /// Closes all, and gives what must be there.
    pub async fn finish(mut self) -> BTreeMap<&'static str, Vec<u8>> {
        self.sync().await;
        self.list().await;
        self.close().await;
        self.model
    }
}

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}
