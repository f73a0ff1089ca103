//! What a server leaves behind that is killed, and one that is started with it.

use std::sync::{Arc, Mutex};

use server::{MadeBefore, ReplyLog, Server};
use vfs::FileSystem;

use super::{EXPORT, export, server};

/// A log in memory.
#[derive(Default)]
pub struct Records(Mutex<Vec<Vec<u8>>>);

impl ReplyLog for Records {
    fn keep(&self, record: &[u8]) {
        self.0.lock().unwrap().push(record.to_vec());
    }
}

impl Records {
    /// Drops all records before those of the call that is sent next.
    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    pub fn all(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    /// What a server has written that is killed before it writes the reply to its last call.
    pub fn without_the_reply(&self) -> Vec<Vec<u8>> {
        self.without_the_last(1)
    }

    /// What a server has written that is killed before it writes the last `count` records.
    pub fn without_the_last(&self, count: usize) -> Vec<Vec<u8>> {
        let mut records = self.all();
        records.truncate(records.len() - count);
        records
    }

    pub fn kinds(&self) -> Vec<u8> {
        self.0.lock().unwrap().iter().map(|record| record[3]).collect()
    }
}

pub const BEGUN: u8 = 1;
pub const ANSWERED: u8 = 2;
pub const ENDED: u8 = 5;
pub const SLOT_ANSWERED: u8 = 6;

/// A server that keeps records, with those of the one before it.
pub fn started(file_system: Arc<dyn FileSystem>, records: &[Vec<u8>]) -> (Server, Arc<Records>) {
    started_after_power_failure(file_system, records, &[])
}

/// The same, with what a write log knows to be made.
pub fn started_after_power_failure(
    file_system: Arc<dyn FileSystem>,
    records: &[Vec<u8>],
    made: &[MadeBefore],
) -> (Server, Arc<Records>) {
    let (mut server, log) = (server(vec![export(EXPORT, file_system)]), Arc::new(Records::default()));
    server.keep_replies(log.clone(), records, made);
    (server, log)
}
