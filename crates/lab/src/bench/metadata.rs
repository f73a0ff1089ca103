//! Operations that move none of a file's bytes.

use std::cell::Cell;

use client::{Detail, Handle, Mount, Rights};
use vfs::{CreateMode, SetAttributes};

use super::Operation;
use super::tally::Done;
use super::target::Target;

/// What one connection asks of the file and of the directory that it is in.
pub(super) struct Metadata {
    mount: Mount,
    file: Handle,
    dir: Handle,
    name: Vec<u8>,
    /// What the names begin with that this connection makes.
    prefix: String,
    made: Cell<u64>,
}

impl Metadata {
    /// Those of the connection with this number, from 0.
    pub(super) fn new(number: u32, mount: Mount, target: &Target) -> Metadata {
        let prefix = format!("wharf-bench.{}.{number}", std::process::id());
        Metadata { mount, file: target.handle, dir: target.dir, name: target.name.clone(), prefix, made: Cell::new(0) }
    }

    /// Does one of them; none for the operations that are done elsewhere.
    pub(super) async fn carry_out(&self, operation: Operation) -> client::Result<Done> {
        match operation {
            Operation::GetAttr => self.mount.getattr(&self.file).await.map(drop)?,
            Operation::Access => self.mount.access(&self.file, Rights::ALL).await.map(drop)?,
            Operation::Lookup => self.mount.lookup(&self.dir, &self.name).await.map(drop)?,
            Operation::CreateRemove => self.create_and_remove().await?,
            Operation::List => self.list().await?,
            Operation::Transfer | Operation::ReadPlus(_) | Operation::OpenClose | Operation::LockUnlock => {}
        }
        Ok(Done { moved_bytes: 0, is_short: false })
    }

    async fn create_and_remove(&self) -> client::Result<()> {
        let name = format!("{}.{}", self.prefix, self.made.replace(self.made.get() + 1));
        let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        self.mount.create(&self.dir, name.as_bytes(), CreateMode::Unchecked, &set).await?;
        self.mount.remove(&self.dir, name.as_bytes()).await
    }

    async fn list(&self) -> client::Result<()> {
        let mut listing = self.mount.read_dir(&self.dir, Detail::Entries);
        while listing.next_page().await?.is_some() {}
        Ok(())
    }
}
