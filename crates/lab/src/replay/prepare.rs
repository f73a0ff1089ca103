//! Makes the files that a capture found at its start, in a directory of their own, and removes them afterwards.
//!
//! Names are invented, and contents too: files get data where the capture reads them, and holes elsewhere.

use std::collections::HashMap;
use std::future::ready;
use std::ops::Range;

use bytes::Bytes;
use client::{Detail, Entry, Follow, Handle, Mount, Url};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use vfs::{CreateMode, FileKind, SetAttributes, Stability};

use super::ids::{FileId, NameId, Place};
use super::invented::{MAX_TARGET_BYTES, name, target};
use super::tree::{Kind, Origin, Tree};
use super::{Error, Replay};
use crate::bench::Stop;
use crate::leftovers::{self, Leftover, Made};

/// How many files are made or removed at once.
const AT_ONCE: usize = 16;

/// The directory of the replay, with its files.
pub(super) struct Prepared {
    pub mount: Mount,
    parent: Handle,
    name: String,
    /// The URL of the directory.
    url: String,
    top: Handle,
    /// The handle of each file of the capture, as soon as there is one.
    pub handles: Vec<Option<Handle>>,
    made: Made,
    stop: Stop,
}

/// A file to make.
struct Wanted {
    file: FileId,
    dir: Handle,
    name: Vec<u8>,
}

impl Prepared {
    /// Makes the directory, still empty.
    pub(super) async fn new(mount: Mount, replay: &Replay) -> Result<Prepared, Error> {
        let parent = mount.walk(mount.path_below(), Follow::Links).await?;
        if parent.attributes.kind != FileKind::Directory {
            return Err(Error::NotADirectory(replay.url.to_string()));
        }
        let name = Replay::dir_name();
        let url = format!("{}/{name}", replay.url);
        let path = [&replay.url.path, &b"/"[..], name.as_bytes()].concat();
        let made = Made::new(Leftover::export(&Url { path, ..replay.url.clone() }));
        match mount.mkdir(&parent.handle, name.as_bytes(), &mode(0o700)).await {
            Ok(entry) => {
                let (top, stop) = (entry.handle, replay.stop.clone());
                Ok(Prepared { mount, parent: parent.handle, name, url, top, handles: Vec::new(), made, stop })
            }
            Err(source) => {
                made.release();
                Err(Error::Prepare { dir: url, source })
            }
        }
    }

    /// Makes the files, until it is to stop.
    pub(super) async fn fill(&mut self, tree: &Tree, payload: &Bytes) -> Result<(), Error> {
        self.handles = vec![None; tree.files.len()];
        let made = self.make_all(tree, payload).await;
        // Without all its files, a replay is another one.
        if self.stop.is_stopped() {
            return Err(Error::Stopped);
        }
        made.map_err(|source| Error::Prepare { dir: self.url.clone(), source })
    }

    async fn make_all(&mut self, tree: &Tree, payload: &Bytes) -> client::Result<()> {
        let (mut inner, at_top) = divide(tree);
        self.make_below(at_top, &mut inner, tree, payload).await?;
        // What is left is below itself, or below what is made later.
        let mut left: Vec<FileId> = inner.values().flatten().map(|(file, _)| *file).collect();
        left.sort_unstable_by_key(|file| file.0);
        for file in left {
            if self.handle(file).is_none() {
                inner.values_mut().for_each(|files| files.retain(|(other, _)| *other != file));
                self.make_below(vec![file], &mut inner, tree, payload).await?;
            }
        }
        for (file, Place { dir, name: id }) in tree.links.iter().take_while(|_| !self.stop.is_stopped()) {
            if let (Some(file), Some(dir)) = (self.handle(*file), self.handle(*dir)) {
                self.mount.link(&file, &dir, &name(*id)).await?;
            }
        }
        Ok(())
    }

    /// Makes files at the top, and all that are in them.
    async fn make_below(
        &mut self,
        at_top: Vec<FileId>,
        inner: &mut Inner,
        tree: &Tree,
        payload: &Bytes,
    ) -> client::Result<()> {
        let wanted = |file: FileId| Wanted { file, dir: self.top, name: format!("f{}", file.0).into_bytes() };
        let mut level: Vec<Wanted> = at_top.into_iter().map(wanted).collect();
        while !level.is_empty() {
            let (mount, stop) = (&self.mount, &self.stop);
            let make = |wanted| make(mount, wanted, tree, payload, stop);
            // Those in flight are waited for: a file that appears later could not be removed.
            let begun = stream::iter(level).take_while(|_| ready(!stop.is_stopped()));
            let made: Vec<(FileId, Handle)> = begun.map(make).buffer_unordered(AT_ONCE).try_collect().await?;
            level = Vec::new();
            for (file, handle) in made {
                self.handles[file.0 as usize] = Some(handle);
                let below = inner.remove(&file).unwrap_or_default().into_iter();
                level.extend(below.map(|(file, id)| Wanted { file, dir: handle, name: name(id) }));
            }
        }
        Ok(())
    }

    fn handle(&self, file: FileId) -> Option<Handle> {
        self.handles[file.0 as usize]
    }

    /// Removes everything, also what the replay made.
    pub(super) async fn remove(self) -> Result<(), Error> {
        self.remove_all().await.map_err(|source| Error::Remove { dir: self.url.clone(), source })?;
        self.made.release();
        Ok(())
    }

    async fn remove_all(&self) -> client::Result<()> {
        let mut dirs = vec![(self.parent, self.name.clone().into_bytes(), self.top)];
        let mut empty = Vec::new();
        while let Some((parent, name, dir)) = dirs.pop() {
            let mut files = Vec::new();
            let mut listing = self.mount.read_dir(&dir, Detail::Entries);
            while let Some(found) = listing.next().await? {
                match found.entry {
                    Some(Entry { handle, attributes }) if attributes.kind == FileKind::Directory => {
                        dirs.push((dir, found.name.to_vec(), handle));
                    }
                    _ => files.push(found.name),
                }
            }
            let remove = |name: Box<[u8]>| async move {
                self.mount.remove(&dir, &name).await.inspect(|()| leftovers::note_progress())
            };
            stream::iter(files).map(remove).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
            empty.push((parent, name));
        }
        // Each directory comes before those in it.
        for (parent, name) in empty.into_iter().rev() {
            self.mount.rmdir(&parent, &name).await?;
            leftovers::note_progress();
        }
        Ok(())
    }
}

/// The files in each directory.
type Inner = HashMap<FileId, Vec<(FileId, NameId)>>;

/// Which files of the start are in others, and which are at the top.
fn divide(tree: &Tree) -> (Inner, Vec<FileId>) {
    let (mut inner, mut at_top) = (Inner::new(), Vec::new());
    for (number, file) in tree.files.iter().enumerate() {
        let id = FileId(number as u32);
        match file.origin {
            Origin::Made => {}
            Origin::Unplaced => at_top.push(id),
            Origin::At(place) => inner.entry(place.dir).or_default().push((id, place.name)),
        }
    }
    (inner, at_top)
}

async fn make(
    mount: &Mount,
    wanted: Wanted,
    tree: &Tree,
    payload: &Bytes,
    stop: &Stop,
) -> client::Result<(FileId, Handle)> {
    let Wanted { file: id, dir, name } = wanted;
    let file = &tree[id];
    let made = match file.kind {
        Some(Kind::Directory) => mount.mkdir(&dir, &name, &mode(0o700)).await?,
        Some(Kind::Symlink) => {
            let target = target(file.size.unwrap_or(1).clamp(1, MAX_TARGET_BYTES) as usize);
            mount.symlink(&dir, &name, &target, &SetAttributes::default()).await?
        }
        Some(Kind::Regular) | None => {
            let made = mount.create(&dir, &name, CreateMode::Guarded, &mode(0o700)).await?;
            fill(mount, &made.handle, &file.contents(), payload, stop).await?;
            made
        }
    };
    if file.is_gone() {
        match file.kind {
            Some(Kind::Directory) => mount.rmdir(&dir, &name).await?,
            _ => mount.remove(&dir, &name).await?,
        }
    }
    Ok((id, made.handle))
}

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

/// What a file has at the start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contents {
    pub size: u64,
    /// Where there is data: ranges in order that do not meet.
    pub data: Vec<Range<u64>>,
}

impl super::tree::File {
    /// What is written into the file before the replay.
    pub(super) fn contents(&self) -> Contents {
        let mut asked = self.asked.clone();
        asked.sort_unstable_by_key(|range| (range.start, range.end));
        let asked_end = || asked.iter().map(|range| range.end).max().unwrap_or(0);
        let size = self.size.or(self.read_end).unwrap_or_else(asked_end);
        let mut data: Vec<Range<u64>> = Vec::new();
        for range in asked {
            let range = range.start.min(size)..range.end.min(size);
            match data.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ if range.is_empty() => {}
                _ => data.push(range),
            }
        }
        Contents { size, data }
    }
}

impl Contents {
    pub(super) fn data_bytes(&self) -> u64 {
        self.data.iter().map(|range| range.end - range.start).fold(0, u64::saturating_add)
    }
}

async fn fill(mount: &Mount, file: &Handle, contents: &Contents, payload: &Bytes, stop: &Stop) -> client::Result<()> {
    if contents.size > 0 {
        let set = SetAttributes { size_bytes: Some(contents.size), ..SetAttributes::default() };
        mount.setattr(file, &set).await?;
    }
    let max_bytes = u64::from(mount.sizes().write).min(payload.len() as u64);
    for range in &contents.data {
        let mut at = range.start;
        while at < range.end && !stop.is_stopped() {
            let bytes = max_bytes.min(range.end - at) as usize;
            let written = mount.write(file, at, payload.slice(..bytes), Stability::Unstable).await?;
            at += u64::from(written.count);
        }
    }
    if !contents.data.is_empty() {
        mount.commit(file, 0, 0).await?;
    }
    Ok(())
}
