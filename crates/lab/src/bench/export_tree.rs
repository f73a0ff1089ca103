//! A tree of small files in an export, and the steps of a build in it.

use std::future::ready;

use client::{Detail, Handle, Mount, Rights};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use vfs::{CreateMode, SetAttributes, Stability};

use super::build::{FILES_PER_DIR, NEW, TreePlan, dir_name, file_name};
use super::payload::Payload;
use super::target::write_all;
use super::{BuildStep, Error, Stop};
use crate::leftovers;

/// How many files are made or removed at once.
const FILES_AT_ONCE: usize = 16;
/// The mode of files, which a step sets again, and of directories.
const FILE_MODE: u32 = 0o644;
const DIR_MODE: u32 = 0o755;

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

pub(super) struct ExportTree {
    mount: Mount,
    /// The directory that it is in.
    parent: Handle,
    plan: TreePlan,
    root: Handle,
    dirs: Vec<Handle>,
}

impl ExportTree {
    /// Makes a tree in a directory.
    pub(super) async fn new(
        mount: &Mount,
        parent: Handle,
        plan: TreePlan,
        payload: &Payload,
        stop: &Stop,
    ) -> Result<ExportTree, Error> {
        let root = mount.mkdir(&parent, plan.name.as_bytes(), &mode(DIR_MODE)).await?.handle;
        let mut tree = ExportTree { mount: mount.clone(), parent, plan, root, dirs: Vec::new() };
        match tree.fill(payload, stop).await {
            Ok(()) => Ok(tree),
            Err(error) => {
                let _ = tree.remove().await;
                Err(error)
            }
        }
    }

    async fn fill(&mut self, payload: &Payload, stop: &Stop) -> Result<(), Error> {
        for number in 0..self.plan.dirs() {
            let dir = self.mount.mkdir(&self.root, dir_name(number).as_bytes(), &mode(DIR_MODE)).await?;
            self.dirs.push(dir.handle);
        }
        let this = &*self;
        let make =
            |(number, &bytes): (u64, &u32)| async move { this.write(number, &file_name(number), payload, bytes).await };
        // Those in flight are waited for: a file that appears later could not be removed.
        let begun = stream::iter((0..).zip(&this.plan.sizes)).take_while(|_| ready(!stop.is_stopped()));
        begun.map(make).buffer_unordered(FILES_AT_ONCE).try_for_each(|()| ready(Ok(()))).await?;
        stop.check()
    }

    fn dir(&self, file: u64) -> &Handle {
        &self.dirs[(file / FILES_PER_DIR) as usize]
    }

    /// Makes or replaces a file, which is on stable storage then, as after close(2) of a file on an NFS mount.
    async fn write(&self, file: u64, name: &str, payload: &Payload, bytes: u32) -> client::Result<()> {
        let made = self.mount.create(self.dir(file), name.as_bytes(), CreateMode::Unchecked, &mode(FILE_MODE)).await?;
        write_all(&self.mount, made.handle, 0, payload.block(0, bytes), Stability::File).await.map(drop)
    }

    /// Does a step with the file of this random number, and so many bytes where it writes. Returns how many were moved.
    pub(super) async fn carry_out(
        &self,
        step: BuildStep,
        number: u64,
        payload: &Payload,
        bytes: u32,
    ) -> client::Result<u64> {
        let file = self.plan.file(number);
        let (mount, dir, name) = (&self.mount, self.dir(file), file_name(file));
        match step {
            BuildStep::Write => {
                self.write(file, NEW, payload, bytes).await?;
                mount.rename(dir, NEW.as_bytes(), dir, name.as_bytes()).await?;
                return Ok(bytes.into());
            }
            BuildStep::CreateRemove => {
                mount.create(dir, NEW.as_bytes(), CreateMode::Unchecked, &mode(FILE_MODE)).await?;
                mount.remove(dir, NEW.as_bytes()).await?;
            }
            BuildStep::MakeDir => {
                mount.mkdir(&self.root, NEW.as_bytes(), &mode(DIR_MODE)).await?;
                mount.rmdir(&self.root, NEW.as_bytes()).await?;
            }
            BuildStep::List => {
                let mut listing = mount.read_dir(dir, Detail::Entries);
                while listing.next_page().await?.is_some() {}
            }
            BuildStep::Stat => drop(mount.lookup(dir, name.as_bytes()).await?),
            BuildStep::Access => {
                let found = mount.lookup(dir, name.as_bytes()).await?;
                mount.access(&found.handle, Rights::ALL).await?;
            }
            BuildStep::Chmod => {
                let found = mount.lookup(dir, name.as_bytes()).await?;
                mount.setattr(&found.handle, &mode(FILE_MODE)).await?;
            }
            BuildStep::Read => {
                let found = mount.lookup(dir, name.as_bytes()).await?;
                let data = mount.read(&found.handle, 0, mount.sizes().read.min(self.plan.max_bytes)).await?;
                return Ok(data.bytes.len() as u64);
            }
        }
        Ok(0)
    }

    /// Removes all of it. Fails when something stays.
    pub(super) async fn remove(self) -> client::Result<()> {
        let remove = |file: u64| {
            let (mount, dir) = (self.mount.clone(), *self.dir(file));
            async move {
                let _ = mount.remove(&dir, file_name(file).as_bytes()).await;
                leftovers::note_progress();
            }
        };
        let made = (0..self.plan.sizes.len() as u64).take(self.dirs.len() * FILES_PER_DIR as usize);
        stream::iter(made).for_each_concurrent(FILES_AT_ONCE, remove).await;
        for (number, dir) in (0..).zip(&self.dirs) {
            // A step that failed may have left it.
            let _ = self.mount.remove(dir, NEW.as_bytes()).await;
            let _ = self.mount.rmdir(&self.root, dir_name(number).as_bytes()).await;
        }
        let _ = self.mount.rmdir(&self.root, NEW.as_bytes()).await;
        self.mount.rmdir(&self.parent, self.plan.name.as_bytes()).await
    }
}
