//! Operations on names and attributes.

use std::cell::Cell;
use std::rc::Rc;

use client::{Detail, Handle, Mount, OpenOptions, Rights, Status};
use tokio::task::JoinSet;
use vfs::{CreateMode, SetAttributes, Stability};

use super::Operation;
use super::payload::Payload;
use super::tally::Done;
use super::target::Target;
use crate::leftovers;

/// What one connection asks of the file and of the directory that it is in.
pub(super) struct Metadata {
    mount: Mount,
    dir: Handle,
    /// What the names begin with that this connection makes.
    prefix: String,
    made: Cell<u64>,
    /// What a new file gets.
    payload: Rc<Payload>,
}

/// How many REMOVEs are in flight at once after the measurement.
const REMOVALS: u64 = 16;

impl Metadata {
    /// Those of a connection, whose new names begin with `prefix`. New files get blocks of `payload`.
    pub(super) fn new(prefix: String, mount: Mount, target: &Target, payload: Rc<Payload>) -> Metadata {
        Metadata { mount, dir: target.dir, prefix, made: Cell::new(0), payload }
    }

    /// Does one of them, with this file and so many bytes; none for the operations that are done elsewhere.
    pub(super) async fn carry_out(&self, operation: Operation, target: &Target, bytes: u32) -> client::Result<Done> {
        match operation {
            Operation::GetAttr => self.mount.getattr(&target.handle).await.map(drop)?,
            Operation::Access => self.mount.access(&target.handle, Rights::ALL).await.map(drop)?,
            Operation::Lookup => self.mount.lookup(&target.dir, &target.name).await.map(drop)?,
            Operation::CreateRemove => self.create_and_remove().await?,
            Operation::NewFile => self.make_file(bytes).await?,
            Operation::List => self.list().await?,
            Operation::Transfer
            | Operation::ReadPlus(_)
            | Operation::OpenClose
            | Operation::LockUnlock
            | Operation::Build
            | Operation::BuildStep(_)
            | Operation::Mix => {}
        }
        Ok(Done { moved_bytes: 0, is_short: false })
    }

    fn new_name(&self) -> String {
        self.name_of(self.made.replace(self.made.get() + 1))
    }

    fn name_of(&self, number: u64) -> String {
        format!("{}.{number}", self.prefix)
    }

    async fn make_file(&self, bytes: u32) -> client::Result<()> {
        let (name, options) = (self.new_name(), OpenOptions::write().making_new(0o644));
        let file = self.mount.open(&self.dir, name.as_bytes(), &options).await?;
        file.write(0, self.payload.block(0, bytes), Stability::File).await?;
        file.close().await
    }

    /// Removes the new files; one that is not there is none of them. Goes on after a failure, and returns the first.
    pub(super) async fn remove_new_files(&self) -> client::Result<()> {
        let mut removals = JoinSet::new();
        for first in 0..REMOVALS {
            let numbers = (first..self.made.get()).step_by(REMOVALS as usize);
            let names: Vec<String> = numbers.map(|number| self.name_of(number)).collect();
            let (mount, dir) = (self.mount.clone(), self.dir);
            removals.spawn_local(async move {
                let mut all = Ok(());
                for name in names {
                    let removed = mount.remove(&dir, name.as_bytes()).await;
                    leftovers::note_progress();
                    all = all.and(removed.or_else(|error| match error.status() {
                        Some(Status::NoEntry) => Ok(()),
                        _ => Err(error),
                    }));
                }
                all
            });
        }
        let mut all = Ok(());
        while let Some(removed) = removals.join_next().await {
            // A removal does not panic.
            all = all.and(removed.unwrap_or(Ok(())));
        }
        all
    }

    async fn create_and_remove(&self) -> client::Result<()> {
        let name = self.new_name();
        let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        self.mount.create(&self.dir, name.as_bytes(), CreateMode::Guarded, &set).await?;
        self.mount.remove(&self.dir, name.as_bytes()).await
    }

    async fn list(&self) -> client::Result<()> {
        let mut listing = self.mount.read_dir(&self.dir, Detail::Entries);
        while listing.next_page().await?.is_some() {}
        Ok(())
    }
}
