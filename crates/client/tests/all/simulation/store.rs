//! What a server keeps on its disk besides the files.

use std::sync::{Arc, Mutex};

use server::ReplyLog;
use state::{ClientRecord, ClientRecords, RecordKind, RecordsError};

/// The records of clients, so that they can reclaim.
#[derive(Clone, Default)]
pub struct Records(Arc<Mutex<Vec<ClientRecord>>>);

impl ClientRecords for Records {
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn add(&mut self, record: &ClientRecord) -> Result<(), RecordsError> {
        self.remove(&[(record.kind, &record.name)])?;
        self.0.lock().unwrap().push(record.clone());
        Ok(())
    }

    fn remove(&mut self, names: &[(RecordKind, &[u8])]) -> Result<(), RecordsError> {
        self.0.lock().unwrap().retain(|record| !names.contains(&(record.kind, &*record.name)));
        Ok(())
    }

    fn mark(&mut self, kind: RecordKind, name: &[u8], revoked: bool) -> Result<(), RecordsError> {
        let mut records = self.0.lock().unwrap();
        let found = records.iter_mut().filter(|record| record.kind == kind && *record.name == *name);
        found.for_each(|record| record.revoked = revoked);
        Ok(())
    }

    fn give_up(&mut self) -> Result<(), RecordsError> {
        self.0.lock().unwrap().clear();
        Ok(())
    }
}

/// The replies to calls of NFSv2, v3 and v4.0 that must not happen twice.
#[derive(Default)]
pub struct Replies(Mutex<Vec<Vec<u8>>>);

impl Replies {
    pub fn all(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }
}

impl ReplyLog for Replies {
    fn keep(&self, record: &[u8]) {
        self.0.lock().unwrap().push(record.to_vec());
    }
}
