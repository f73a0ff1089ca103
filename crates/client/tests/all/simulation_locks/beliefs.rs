//! Which bytes each owner takes for locked by itself, and what was counted under locks.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Mutex;

use client::LockKind;

#[derive(Default)]
pub struct Beliefs(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The locks of each byte, by who has them.
    bytes: HashMap<u64, HashMap<u64, LockKind>>,
    /// Each number that somebody knows to have written to a counter.
    written: BTreeSet<(u64, u64)>,
}

impl Beliefs {
    /// Somebody was told that he has a lock: from now on until he gives it up nobody else may be told so.
    ///
    /// # Errors
    /// Whose lock is in the way, and on which byte.
    pub fn lock(&self, who: u64, kind: LockKind, range: Range<u64>) -> Result<(), String> {
        let inner = &mut *self.0.lock().unwrap();
        for byte in range {
            let holders = inner.bytes.entry(byte).or_default();
            holders.insert(who, kind);
            let is_exclusive = holders.values().any(|kind| *kind == LockKind::Exclusive);
            if is_exclusive && holders.len() > 1 {
                return Err(format!("byte {byte} is locked by {holders:?}"));
            }
        }
        Ok(())
    }

    /// Somebody begins to give up what he has there.
    pub fn unlock(&self, who: u64, range: Range<u64>) {
        let inner = &mut *self.0.lock().unwrap();
        for byte in range {
            inner.bytes.entry(byte).or_default().remove(&who);
        }
    }

    /// Somebody wrote a number to a counter under his lock; whoever writes the same has not seen this.
    ///
    /// # Errors
    /// When somebody else wrote it before.
    pub fn count(&self, counter: u64, number: u64) -> Result<(), String> {
        match self.0.lock().unwrap().written.insert((counter, number)) {
            true => Ok(()),
            false => Err(format!("{number} was written to counter {counter} twice")),
        }
    }

    /// The highest number that was written to a counter, and how many were.
    pub fn counted(&self, counter: u64) -> (u64, u64) {
        let inner = self.0.lock().unwrap();
        let all = inner.written.iter().filter(|(of, _)| *of == counter);
        (all.clone().map(|(_, number)| *number).max().unwrap_or(0), all.count() as u64)
    }
}
