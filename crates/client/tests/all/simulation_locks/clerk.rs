//! Somebody who counts in a file that others count in too, under locks.

use std::sync::Arc;

use bytes::Bytes;
use client::{Error, File, LockKind, Mount, OpenOptions, Reason};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::simulation_locks::beliefs::Beliefs;
use testing::Random;

/// How many counters there are, eight bytes each.
pub const COUNTERS: u64 = 4;
const COUNTER_BYTES: u64 = 8;
const ALL_BYTES: u64 = COUNTERS * COUNTER_BYTES;

pub struct Clerk {
    mount: Mount,
    file: Option<File>,
    number: u64,
    random: Random,
    beliefs: Arc<Beliefs>,
    /// Whether locks may be lost, and have to be told so.
    may_lose: bool,
    /// The counters that this one has locked for himself alone.
    locked: Vec<u64>,
    /// How many writes may have happened or not.
    pub uncertain: u64,
    pub losses: u64,
    log: Vec<String>,
}

pub async fn open(mount: &Mount) -> File {
    let set = SetAttributes { mode: Some(0o666), ..SetAttributes::default() };
    let options = OpenOptions::both().creating(CreateMode::Unchecked, set);
    mount.open(&mount.root().handle, b"counters", &options).await.unwrap()
}

fn is_loss(error: &Error) -> bool {
    matches!(error.reason(), Reason::StateLost)
}

fn range(counter: u64) -> std::ops::Range<u64> {
    counter * COUNTER_BYTES..(counter + 1) * COUNTER_BYTES
}

impl Clerk {
    pub fn new(mount: &Mount, (number, seed): (u64, u64), beliefs: &Arc<Beliefs>, may_lose: bool) -> Clerk {
        let (mount, random, beliefs) = (mount.clone(), Random(seed ^ number << 32), Arc::clone(beliefs));
        let (locked, log) = (Vec::new(), Vec::new());
        Clerk { mount, file: None, number, random, beliefs, may_lose, locked, uncertain: 0, losses: 0, log }
    }

    pub async fn run(&mut self, turns: u32) {
        for _ in 0..turns {
            if self.file.is_none() {
                self.file = Some(open(&self.mount).await);
            }
            let counter = self.random.below(COUNTERS);
            let done = match self.random.below(10) {
                0..3 => self.lock(counter).await,
                3..7 => self.count().await,
                7 => self.look(counter).await,
                8 => self.unlock(counter).await,
                _ => self.unlock_all().await,
            };
            self.settle(done).await;
        }
        let done = self.close().await;
        self.settle(done).await;
    }

    /// Deals with what a turn ended in: whoever loses a lock opens the file again.
    async fn settle(&mut self, done: client::Result<()>) {
        let Err(error) = done else { return };
        assert!(self.may_lose && is_loss(&error), "{}: {error}: {:?}", self.number, self.log);
        self.losses += 1;
        self.log.push(format!("lost: {error}"));
        self.forget(0..ALL_BYTES);
        if let Some(file) = self.file.take() {
            // What is said of what is lost is known already.
            let _ = file.close().await;
        }
    }

    fn forget(&mut self, bytes: std::ops::Range<u64>) {
        if !self.may_lose {
            self.beliefs.unlock(self.number, bytes.clone());
        }
        self.locked.retain(|counter| !bytes.contains(&range(*counter).start));
    }

    fn note(&mut self, what: String) -> &File {
        self.log.push(what);
        self.file.as_ref().unwrap()
    }

    /// Locks a counter; whoever has one already does not wait for another one.
    async fn lock(&mut self, counter: u64) -> client::Result<()> {
        let (bytes, waits) = (range(counter), self.locked.is_empty());
        let file = self.note(format!("lock {counter}{}", if waits { "" } else { " if it is free" }));
        let locked = match waits {
            true => file.lock(LockKind::Exclusive, bytes.start, COUNTER_BYTES).await,
            false => file.try_lock(LockKind::Exclusive, bytes.start, COUNTER_BYTES).await,
        };
        match locked {
            Err(error) if !waits && matches!(error.reason(), Reason::Locked { .. }) => return Ok(()),
            other => other?,
        }
        if !self.locked.contains(&counter) {
            self.locked.push(counter);
        }
        self.believe(LockKind::Exclusive, bytes);
        Ok(())
    }

    fn believe(&self, kind: LockKind, bytes: std::ops::Range<u64>) {
        // Whoever may lose locks learns of it later than others get them.
        if !self.may_lose {
            let believed = self.beliefs.lock(self.number, kind, bytes);
            believed.unwrap_or_else(|why| panic!("{}: {why}: {:?}", self.number, self.log));
        }
    }

    /// Counts one further under a lock: no two write the same number.
    async fn count(&mut self) -> client::Result<()> {
        if self.locked.is_empty() {
            return Ok(());
        }
        let counter = self.locked[self.random.below(self.locked.len() as u64) as usize];
        let offset = range(counter).start;
        let mut bytes = [0; COUNTER_BYTES as usize];
        let is_raw = self.random.chance(500);
        let file = self.note(format!("count {counter}{}", if is_raw { " past the cache" } else { "" }));
        match is_raw {
            true => drop(file.read_into(offset, &mut bytes).await?),
            false => drop(file.read_at(offset, &mut bytes).await?),
        }
        let next = u64::from_be_bytes(bytes) + 1;
        let written = match is_raw {
            true => file.write(offset, Bytes::copy_from_slice(&next.to_be_bytes()), Stability::File).await.map(drop),
            false => match file.write_at(offset, &next.to_be_bytes()).await {
                Ok(_) => file.sync().await,
                Err(error) => Err(error),
            },
        };
        self.log.push(format!("{next} to {counter}: {written:?}"));
        if written.is_err() {
            self.uncertain += 1;
        }
        written?;
        let counted = self.beliefs.count(counter, next);
        counted.unwrap_or_else(|why| panic!("{}: {why}: {:?}", self.number, self.log));
        Ok(())
    }

    /// Shares a lock for a moment.
    async fn look(&mut self, counter: u64) -> client::Result<()> {
        if self.locked.contains(&counter) {
            return Ok(());
        }
        let bytes = range(counter);
        let file = self.note(format!("look at {counter}"));
        match file.try_lock(LockKind::Shared, bytes.start, COUNTER_BYTES).await {
            Err(error) if matches!(error.reason(), Reason::Locked { .. }) => return Ok(()),
            other => other?,
        }
        self.believe(LockKind::Shared, bytes);
        let mut found = [0; COUNTER_BYTES as usize];
        let file = self.note(format!("read {counter}"));
        file.read_at(range(counter).start, &mut found).await?;
        self.unlock(counter).await
    }

    async fn unlock(&mut self, counter: u64) -> client::Result<()> {
        let bytes = range(counter);
        self.forget(bytes.clone());
        self.note(format!("unlock {counter}")).unlock(bytes.start, COUNTER_BYTES).await
    }

    async fn unlock_all(&mut self) -> client::Result<()> {
        self.forget(0..ALL_BYTES);
        self.note("unlock all".to_owned()).unlock(0, u64::MAX).await
    }

    async fn close(&mut self) -> client::Result<()> {
        self.forget(0..ALL_BYTES);
        match self.file.take() {
            Some(file) => file.close().await,
            None => Ok(()),
        }
    }
}
