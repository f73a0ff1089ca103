//! The file that a job uses: found or made, filled before, checked and removed afterwards.

use std::cell::Cell;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use client::{Entry, Follow, Handle, Mount, Status};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::task::JoinSet;
use vfs::{CreateMode, FileKind, SetAttributes, Stability};

use super::pattern::Pattern;
use super::unstable::Unstable;
use super::{Contents, Error, Existing, Files, Job, OperationError, Stop};
use crate::leftovers::{self, Made};

/// How many transfers are in flight at once while a file is filled or checked.
const TRANSFERS: usize = 8;
/// How much one of them moves, in bytes, where the server allows as much.
const TRANSFER_BYTES: u32 = 1 << 20;

/// How many files are made ready at once.
const FILES_AT_ONCE: usize = 16;

/// A file of a mount.
pub(super) struct Target {
    pub(super) handle: Handle,
    /// The directory that it is in, and its name there.
    pub(super) dir: Handle,
    pub(super) name: Vec<u8>,
    /// Whether it was made for this job only.
    pub(super) is_temporary: bool,
}

/// The files of a job.
pub(super) struct Prepared {
    pub(super) targets: Vec<Target>,
    /// How much of each is used, in bytes.
    pub(super) file_bytes: u64,
    /// Whether none of them existed before.
    pub(super) are_new: bool,
    /// Those that are to be removed.
    pub(super) made: Made,
}

impl Prepared {
    /// The files of the job in their order, some of them made ready at once. All are looked at before any is made or
    /// changed.
    pub(super) async fn new(mount: &Mount, job: &Job) -> Result<Prepared, Error> {
        let find = |suffix: String| async move { Place::find(mount, job, &suffix).await };
        let places: Vec<Place> = stream::iter(suffixes(job)).map(find).buffered(FILES_AT_ONCE).try_collect().await?;
        let are_new = places.iter().all(|place| place.existing.is_none());
        let existing = places.iter().filter_map(|place| place.existing.as_ref());
        let file_bytes = usable_bytes(job, existing.map(|file| file.attributes.size_bytes))?;
        let job = &Job { file_bytes, ..job.clone() };
        let made = Made::new(job.leftover(places.iter().any(|place| place.is_temporary)));
        let (targets, result) = prepare_all(mount, job, places).await;
        if let Err(error) = result {
            // The first error counts.
            let _ = remove_all(&targets, mount, made).await;
            return Err(error);
        }
        Ok(Prepared { targets, file_bytes, are_new, made })
    }
}

/// Prepares some files at once. After a failure no other is begun, and all that were made are returned.
async fn prepare_all(mount: &Mount, job: &Job, places: Vec<Place>) -> (Vec<Target>, Result<(), Error>) {
    let has_failed = &Cell::new(false);
    let prepare = |place: Place| async move {
        let prepared = place.prepare(mount, job).await;
        has_failed.set(has_failed.get() || prepared.is_err());
        prepared
    };
    let begun = stream::iter(places).take_while(|_| ready(!has_failed.get()));
    let (mut targets, mut result) = (Vec::new(), Ok(()));
    let mut prepared = pin!(begun.map(prepare).buffered(FILES_AT_ONCE));
    while let Some(prepared) = prepared.next().await {
        match prepared {
            Ok(target) => targets.push(target),
            Err(error) => result = result.and(Err(error)),
        }
    }
    (targets, result)
}

/// What is behind the names of the job's files.
pub(super) fn suffixes(job: &Job) -> Vec<String> {
    match job.files {
        Files::One => vec![String::new()],
        Files::OnePerConnection => (0..job.connections).map(|number| format!(".{number}")).collect(),
        Files::Spread(count) => (0..count).map(|number| format!(".{number}")).collect(),
    }
}

/// How much of each file the job uses, in bytes, where some exist with these sizes.
///
/// # Errors
/// When a file exists that the job may not change, or is too short to be read.
pub(super) fn usable_bytes(job: &Job, existing: impl Iterator<Item = u64>) -> Result<u64, Error> {
    let Some(size_bytes) = existing.min() else { return Ok(job.file_bytes) };
    let file = || job.target();
    let wanted_bytes = match job.existing {
        Existing::Overwrite => return Ok(job.file_bytes),
        _ if job.changes_files() => return Err(Error::Exists(file())),
        _ if !job.workload.reads() => return Ok(job.file_bytes),
        Existing::Keep => job.file_bytes,
        Existing::KeepWhole => job.max_block_bytes().into(),
    };
    if size_bytes < wanted_bytes {
        return Err(Error::TooShort { file: file(), size_bytes, wanted_bytes });
    }
    Ok(if job.existing == Existing::KeepWhole { size_bytes } else { job.file_bytes })
}

/// Removes the files that were made for this job only. Goes on after a failure, and returns the first one.
pub(super) async fn remove_all(targets: &[Target], mount: &Mount, made: Made) -> Result<(), Error> {
    let temporary = targets.iter().filter(|target| target.is_temporary);
    let remove = |target: &Target| {
        let (dir, name) = (target.dir, target.name.clone());
        async move { mount.remove(&dir, &name).await.inspect(|()| leftovers::note_progress()) }
    };
    let removed = stream::iter(temporary).map(remove).buffer_unordered(FILES_AT_ONCE);
    removed.fold(Ok(()), |all, removed| ready(Result::and(all, removed))).await?;
    made.release();
    Ok(())
}

/// Where a file of the job is, or will be.
struct Place {
    dir: Handle,
    name: Vec<u8>,
    existing: Option<Entry>,
    is_temporary: bool,
}

impl Place {
    /// The place of the job's URL, with this behind its name.
    async fn find(mount: &Mount, job: &Job, suffix: &str) -> Result<Place, Error> {
        job.stop.check()?;
        let path = mount.path_below();
        if let Some(found) = there(mount, path).await?
            && found.attributes.kind == FileKind::Directory
        {
            let name = format!("{}{suffix}", job.temporary_name()).into_bytes();
            return Ok(Place { dir: found.handle, name, existing: None, is_temporary: true });
        }
        let path = [path, suffix.as_bytes()].concat();
        let existing = there(mount, &path).await?;
        if existing.is_some_and(|found| found.attributes.kind != FileKind::Regular) {
            return Err(Error::Kind(job.url.to_string()));
        }
        let (parent, name) = mount.walk_parent(&path).await?;
        Ok(Place { dir: parent.handle, name: name.to_vec(), existing, is_temporary: false })
    }

    /// Makes the file if it is missing, and fills it where it is too short or where its contents will be checked. An
    /// existing file that the job may not change stays as it is. Operations that move no bytes are content with an
    /// empty file.
    async fn prepare(self, mount: &Mount, job: &Job) -> Result<Target, Error> {
        job.stop.check()?;
        let Place { dir, name, existing, is_temporary } = self;
        let made = existing.is_none().then(|| Made::new(job.leftover_file(&name, is_temporary)));
        let found = match existing {
            Some(found) => Ok(found),
            None => make(mount, job, &dir, &name).await,
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                made.into_iter().for_each(Made::release);
                return Err(error);
            }
        };
        let target = Target { handle: found.handle, dir, name, is_temporary };
        let is_kept = existing.is_some() && job.existing != Existing::Overwrite;
        let needs_bytes = !is_kept && !job.workload.operation.needs_no_bytes();
        let filled = if needs_bytes { target.fill(mount, job, found.attributes.size_bytes).await } else { Ok(()) };
        // Nobody else knows of one that was not finished.
        let is_left = filled.is_err() && made.is_some() && mount.remove(&target.dir, &target.name).await.is_err();
        made.into_iter().filter(|_| !is_left).for_each(Made::release);
        filled.map(|()| target)
    }
}

impl Target {
    async fn fill(&self, mount: &Mount, job: &Job, size_bytes: u64) -> Result<(), Error> {
        let pattern = job.pattern();
        let filling = |from| Filling { pattern, from, to: job.file_bytes };
        if job.workload.contents() != Contents::Data {
            if size_bytes > 0 {
                return Err(Error::NotEmpty(job.url.to_string()));
            }
            return lay_out(mount, self.handle, job, pattern).await;
        }
        match (job.verify, size_bytes < job.file_bytes) {
            (true, _) => fill(mount, self.handle, filling(0), &job.stop).await,
            (false, true) => fill(mount, self.handle, filling(size_bytes), &job.stop).await,
            (false, false) => Ok(()),
        }
    }
}

/// What is at a path, if anything.
async fn there(mount: &Mount, path: &[u8]) -> Result<Option<Entry>, Error> {
    match mount.walk(path, Follow::Links).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.status() == Some(Status::NoEntry) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes a file. One that has appeared meanwhile is used only if it may be overwritten.
async fn make(mount: &Mount, job: &Job, dir: &Handle, name: &[u8]) -> Result<Entry, Error> {
    let mode = if job.existing == Existing::Overwrite { CreateMode::Unchecked } else { CreateMode::Guarded };
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    mount.create(dir, name, mode, &set).await.map_err(|error| {
        let is_in_url = job.url.path.ends_with(name);
        let inner = if is_in_url { String::new() } else { format!("/{}", name.escape_ascii()) };
        Error::File { file: format!("{}{inner}", job.url), error }
    })
}

/// What to put into which part of a file, in bytes.
#[derive(Debug, Clone, Copy)]
struct Filling {
    pattern: Pattern,
    from: u64,
    to: u64,
}

async fn fill(mount: &Mount, file: Handle, filling: Filling, stop: &Stop) -> Result<(), Error> {
    let step_bytes = whole_words(mount.sizes().write.min(TRANSFER_BYTES))?;
    let cursor = Arc::new(AtomicU64::new(filling.from / u64::from(step_bytes)));
    let mut transfers = JoinSet::new();
    for _ in 0..TRANSFERS {
        let (mount, cursor, stop) = (mount.clone(), Arc::clone(&cursor), stop.clone());
        transfers.spawn(async move {
            let mut unstable = Unstable::default();
            while let Some((offset, length)) = next_step(&cursor, step_bytes, filling.to) {
                stop.check()?;
                let mut data = filling.pattern.block(offset, length.next_multiple_of(8));
                data.truncate(length as usize);
                unstable.merge(write_all(&mount, file, offset, data, Stability::Unstable).await?.1);
            }
            Ok::<Unstable, Error>(unstable)
        });
    }
    let mut unstable = Unstable::default();
    while let Some(ended) = transfers.join_next().await {
        unstable.merge(ended.map_err(|_| Error::ThreadDied)??);
    }
    commit(mount, file, unstable).await
}

/// Asks for stable storage of what a file was filled with.
async fn commit(mount: &Mount, file: Handle, unstable: Unstable) -> Result<(), Error> {
    match unstable.lost_after(mount.commit(&file, 0, 0).await?) {
        0 => Ok(()),
        writes => Err(OperationError::Lost { writes }.into()),
    }
}

/// Makes an empty file of holes, with pieces of data in between where those are wanted.
async fn lay_out(mount: &Mount, file: Handle, job: &Job, pattern: Pattern) -> Result<(), Error> {
    let set = SetAttributes { size_bytes: Some(job.file_bytes), ..SetAttributes::default() };
    mount.setattr(&file, &set).await?;
    let mut unstable = Unstable::default();
    if job.workload.contents() == Contents::Mixed {
        let step = 2 * u64::from(Contents::PIECE_BYTES);
        for offset in (0..job.file_bytes).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            job.stop.check()?;
            let length = u64::from(Contents::PIECE_BYTES).min(job.file_bytes - offset) as u32;
            let mut data = pattern.block(offset, length.next_multiple_of(8));
            data.truncate(length as usize);
            unstable.merge(write_all(mount, file, offset, data, Stability::Unstable).await?.1);
        }
    }
    commit(mount, file, unstable).await
}

/// The next part of a file that ends at `end`: its offset and its length.
fn next_step(cursor: &AtomicU64, step_bytes: u32, end: u64) -> Option<(u64, u32)> {
    let offset = cursor.fetch_add(1, Ordering::Relaxed) * u64::from(step_bytes);
    let left = end.checked_sub(offset).filter(|left| *left > 0)?;
    Some((offset, u32::try_from(left).map_or(step_bytes, |left| left.min(step_bytes))))
}

/// Patterns come in words of 8 bytes.
fn whole_words(bytes: u32) -> Result<u32, Error> {
    match bytes / 8 * 8 {
        0 => Err(Error::TransferSize { block_bytes: 8, max: bytes }),
        whole => Ok(whole),
    }
}

/// Writes all of `data`, however little the server takes at once. Returns whether it took several turns, and what of it
/// may still be lost.
pub(super) async fn write_all(
    mount: &Mount,
    file: Handle,
    offset: u64,
    mut data: Bytes,
    stability: Stability,
) -> client::Result<(bool, Unstable)> {
    let length = data.len() as u64;
    let (mut is_short, mut unstable) = (false, Unstable::default());
    loop {
        let at = offset + length - data.len() as u64;
        let written = mount.write(&file, at, data.clone(), stability).await?;
        unstable.record(&written);
        data = data.split_off((written.count as usize).min(data.len()));
        if data.is_empty() {
            return Ok((is_short, unstable));
        }
        is_short = true;
    }
}

/// Blocks whose bytes are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mismatches {
    pub(super) count: u64,
    pub(super) first_offset: Option<u64>,
}

impl Mismatches {
    pub(super) fn add(&mut self, offset: u64) {
        self.count += 1;
        self.first_offset = Some(self.first_offset.map_or(offset, |first| first.min(offset)));
    }

    pub(super) fn merge(&mut self, other: Mismatches) {
        self.count += other.count;
        self.first_offset = self.first_offset.into_iter().chain(other.first_offset).min();
    }

    /// Fails when there is one.
    pub(super) fn check(self) -> Result<(), Error> {
        self.first_offset.map_or(Ok(()), |offset_bytes| Err(Error::Mismatch { count: self.count, offset_bytes }))
    }
}

/// Reads the whole file again, unless the job is stopped: blocks that were written have the next pattern, the others
/// the first one.
pub(super) async fn check_all(mount: &Mount, file: Handle, job: &Job, is_written: Vec<bool>) -> Result<(), Error> {
    let is_written: Arc<[bool]> = is_written.into();
    let cursor = Arc::new(AtomicU64::new(0));
    let (granule_bytes, end, pattern) = (job.granule_bytes(), job.file_bytes, job.pattern());
    let mut transfers = JoinSet::new();
    for _ in 0..TRANSFERS {
        let (mount, cursor, is_written) = (mount.clone(), Arc::clone(&cursor), Arc::clone(&is_written));
        let stop = job.stop.clone();
        transfers.spawn(async move {
            let mut wrong = Mismatches::default();
            while let Some((offset, length)) = next_step(&cursor, granule_bytes, end).filter(|_| !stop.is_stopped()) {
                let granule = (offset / u64::from(granule_bytes)) as usize;
                let is_new = is_written.get(granule).copied().unwrap_or(false);
                let expected = if is_new { pattern.next() } else { pattern };
                let data = mount.read(&file, offset, length).await?;
                if data.bytes.len() != length as usize || !expected.is_at(offset, &data.bytes) {
                    wrong.add(offset);
                }
            }
            Ok::<Mismatches, client::Error>(wrong)
        });
    }
    let mut wrong = Mismatches::default();
    while let Some(ended) = transfers.join_next().await {
        wrong.merge(ended.map_err(|_| Error::ThreadDied)??);
    }
    wrong.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cover_a_file_and_end_with_it() {
        let cursor = AtomicU64::new(1);
        let steps: Vec<_> = std::iter::from_fn(|| next_step(&cursor, 100, 250)).collect();
        assert_eq!(steps, [(100, 100), (200, 50)]);
        assert_eq!(next_step(&AtomicU64::new(0), 100, 0), None);
    }

    #[test]
    fn mismatches_together_begin_at_the_least_offset() {
        let mut all = Mismatches::default();
        assert!(all.check().is_ok());
        [300, 100, 200].into_iter().for_each(|offset| all.add(offset));
        let mut other = Mismatches::default();
        other.add(50);
        all.merge(other);
        assert!(matches!(all.check(), Err(Error::Mismatch { count: 4, offset_bytes: 50 })));
    }
}
