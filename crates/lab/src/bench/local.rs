//! Jobs on files of this machine, such as those of a mounted export, by system calls.
//!
//! A call blocks its thread. A connection with one operation at a time has a thread of its own, and calls there; other
//! operations wait on threads of the runtime, which costs a few microseconds more.

use std::cell::{Cell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{Access, OFlags};

use super::build::TreePlan;
use super::local_path::LocalPath;
use super::local_tree::LocalTree;
use super::payload::Payload;
use super::plan::Step;
use super::tally::Done;
use super::target::{self, usable_bytes};
use super::{BuildStep, Error, Existing, Files, Job, Operation, OperationError};
use crate::leftovers::{self, Leftover, Made};

/// What the memory of transfers is aligned to, which direct I/O may require.
const ALIGNMENT: usize = 4096;
/// How much is written at once while a file is filled, in bytes.
const FILL_BYTES: u32 = 1 << 20;

/// A file of the job.
pub(super) struct LocalTarget {
    path: PathBuf,
    file: File,
    /// Whether it was made for this job only.
    is_temporary: bool,
}

/// The files of a job.
pub(super) struct LocalFiles {
    pub(super) targets: Vec<LocalTarget>,
    /// How much of each is used, in bytes.
    pub(super) file_bytes: u64,
    /// Whether none of them existed before.
    pub(super) are_new: bool,
    /// Those that are to be removed.
    pub(super) made: Made,
}

impl LocalFiles {
    /// Looks at all files, then makes and fills those that need it.
    pub(super) fn new(local: &LocalPath, job: &Job) -> Result<LocalFiles, Error> {
        let find = |suffix: &String| Place::find(local, job, suffix);
        let places = target::suffixes(job).iter().map(find).collect::<Result<Vec<Place>, Error>>()?;
        let file_bytes = usable_bytes(job, places.iter().filter_map(|place| place.size_bytes))?;
        let are_new = places.iter().all(|place| place.size_bytes.is_none());
        let job = &Job { file_bytes, ..job.clone() };
        let made = Made::new(job.leftover(places.iter().any(|place| place.is_temporary)));
        let mut targets = Vec::new();
        for place in places {
            match place.prepare(local, job) {
                Ok(target) => targets.push(target),
                Err(error) => {
                    // The first error counts.
                    let _ = remove_all(&targets, made);
                    return Err(error);
                }
            }
        }
        Ok(LocalFiles { targets, file_bytes, are_new, made })
    }
}

/// Removes the files that were made for this job only. Goes on after a failure, and returns the first one.
pub(super) fn remove_all(targets: &[LocalTarget], made: Made) -> Result<(), Error> {
    let temporary = targets.iter().filter(|target| target.is_temporary);
    let removed = temporary.map(|target| fs::remove_file(&target.path).map_err(failed(&target.path)));
    removed.inspect(|_| leftovers::note_progress()).fold(Ok(()), Result::and)?;
    made.release();
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| OperationError::Local { path, source }.into()
}

/// Where a file of the job is, or will be.
struct Place {
    path: PathBuf,
    /// Its size, if it exists.
    size_bytes: Option<u64>,
    is_temporary: bool,
}

impl Place {
    fn find(local: &LocalPath, job: &Job, suffix: &str) -> Result<Place, Error> {
        job.stop.check()?;
        if local.path.is_dir() {
            let path = local.path.join(format!("{}{suffix}", job.temporary_name()));
            return Ok(Place { path, size_bytes: None, is_temporary: true });
        }
        let mut path = local.path.clone().into_os_string();
        path.push(suffix);
        let path = PathBuf::from(path);
        let size_bytes = match fs::metadata(&path) {
            Ok(found) if !found.is_file() => return Err(Error::Kind(path.display().to_string())),
            Ok(found) => Some(found.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(failed(&path)(source)),
        };
        Ok(Place { path, size_bytes, is_temporary: false })
    }

    fn prepare(self, local: &LocalPath, job: &Job) -> Result<LocalTarget, Error> {
        let Place { path, size_bytes, is_temporary } = self;
        let is_kept = size_bytes.is_some() && job.existing != Existing::Overwrite;
        let made = size_bytes.is_none().then(|| Made::new(Leftover::local(&path)));
        let prepare = || {
            job.stop.check()?;
            if !is_kept {
                fill(&path, size_bytes, job)?;
            }
            open(&path, local.is_direct, job).map_err(failed(&path))
        };
        let prepared = prepare();
        // Nobody else knows of one that was not finished.
        let is_left = prepared.is_err() && made.is_some() && fs::remove_file(&path).is_err() && path.exists();
        made.into_iter().filter(|_| !is_left).for_each(Made::release);
        Ok(LocalTarget { file: prepared?, path, is_temporary })
    }
}

/// Makes the file if it is missing, and fills it where it is too short.
fn fill(path: &Path, size_bytes: Option<u64>, job: &Job) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).create(true).create_new(size_bytes.is_none()).truncate(false).open(path);
    let file = file.map_err(failed(path))?;
    if job.workload.operation.needs_no_bytes() {
        return Ok(());
    }
    let mut at = size_bytes.unwrap_or(0);
    while at < job.file_bytes {
        job.stop.check()?;
        let length = (job.file_bytes - at).min(FILL_BYTES.into()) as u32;
        let block = job.pattern().block(at / 8 * 8, (length + 8).next_multiple_of(8));
        let begin = (at % 8) as usize;
        file.write_all_at(&block[begin..begin + length as usize], at).map_err(failed(path))?;
        at += u64::from(length);
    }
    file.sync_all().map_err(failed(path))
}

/// Opens a file as the operations of a job use it.
fn open(path: &Path, is_direct: bool, job: &Job) -> io::Result<File> {
    let flags = [(is_direct, OFlags::DIRECT), (job.stable_writes, OFlags::DSYNC)];
    let flags =
        flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag).fold(OFlags::empty(), OFlags::union);
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).write(job.workload.writes()).custom_flags(flags).open(path)
}

/// Memory of a transfer, which begins at a multiple of [`ALIGNMENT`].
struct Aligned(Vec<u8>);

impl Aligned {
    fn new(length: usize) -> Aligned {
        Aligned(vec![0; length + ALIGNMENT])
    }

    fn as_mut(&mut self, length: usize) -> &mut [u8] {
        let begin = self.0.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        &mut self.0[begin..begin + length]
    }
}

/// The operations of one connection.
pub(super) struct Local {
    targets: Arc<[LocalTarget]>,
    first_target: usize,
    /// The directory of its files.
    dir: PathBuf,
    /// What the names begin with that it makes.
    prefix: String,
    count_made: Cell<u64>,
    payload: Payload,
    is_direct: bool,
    is_stable: bool,
    max_block_bytes: usize,
    /// Memory of transfers that is not in use.
    spare: RefCell<Vec<Aligned>>,
    /// Whether it has a thread of its own.
    is_alone: bool,
    is_dirty: Cell<bool>,
    operation: Operation,
    /// One for each worker of a build.
    trees: Vec<Arc<LocalTree>>,
    /// What its operations make.
    made: Made,
}

impl Local {
    /// The connection with this number, from 0.
    pub(super) fn new(
        job: &Job,
        number: u32,
        local: &LocalPath,
        targets: &Arc<[LocalTarget]>,
        is_alone: bool,
    ) -> Local {
        let first_target = if job.files == Files::OnePerConnection { number as usize } else { 0 };
        let made = Made::new(job.leftover(targets[first_target].is_temporary));
        Local {
            dir: targets[first_target].path.parent().unwrap_or(Path::new("/")).to_owned(),
            targets: Arc::clone(targets),
            first_target,
            prefix: format!("{}.{number}", job.temporary_name()),
            count_made: Cell::new(0),
            payload: Payload::new(job, number),
            is_direct: local.is_direct,
            is_stable: job.stable_writes,
            max_block_bytes: job.max_block_bytes() as usize,
            spare: RefCell::default(),
            is_alone,
            is_dirty: Cell::new(false),
            operation: job.workload.operation,
            trees: Vec::new(),
            made,
        }
    }

    /// Makes the trees of a build.
    pub(super) fn make_trees(&mut self, job: &Job, number: u32) -> Result<(), Error> {
        for worker in 0..job.depth {
            let plan = TreePlan::new(job, number, worker);
            self.trees.push(Arc::new(LocalTree::new(&self.dir, plan, &self.payload, &job.stop)?));
        }
        Ok(())
    }

    /// Does an operation.
    pub(super) async fn carry_out(&self, step: Step, worker: usize) -> Result<Done, OperationError> {
        let done = match step.operation {
            Operation::BuildStep(build) => return self.build(build, step, worker).await,
            Operation::Transfer if step.is_write => return self.write(step).await,
            Operation::Transfer => return self.read(step).await,
            Operation::CreateRemove => self.on_path(self.new_path(), create_and_remove).await,
            Operation::NewFile => {
                let data = self.payload.block(0, step.bytes);
                self.on_path(self.new_path(), move |path| make_file(path, &data)).await
            }
            Operation::List => self.on_path(self.dir.clone(), list).await,
            operation => self.on_target(step, move |target| look(operation, target)).await,
        };
        done.map(|()| Done { moved_bytes: 0, is_short: false })
    }

    async fn build(&self, build: BuildStep, step: Step, worker: usize) -> Result<Done, OperationError> {
        let (tree, data) = (Arc::clone(&self.trees[worker]), self.payload.block(0, step.bytes));
        let result = self.wait(move || tree.carry_out(build, step.offset, &data)).await;
        let moved_bytes = result.map_err(|source| OperationError::Local { path: self.dir.clone(), source })?;
        Ok(Done { moved_bytes, is_short: false })
    }

    async fn read(&self, step: Step) -> Result<Done, OperationError> {
        let spare = self.spare.borrow_mut().pop();
        let mut memory = spare.unwrap_or_else(|| Aligned::new(self.max_block_bytes));
        let length = step.bytes as usize;
        let read = move |target: &LocalTarget| {
            let count = target.file.read_at(memory.as_mut(length), step.offset)?;
            Ok((count, memory))
        };
        let (count, memory) = self.on_target(step, read).await?;
        self.spare.borrow_mut().push(memory);
        Ok(Done { moved_bytes: count as u64, is_short: count < length })
    }

    async fn write(&self, step: Step) -> Result<Done, OperationError> {
        let data = self.payload.block(step.offset, step.bytes);
        let is_direct = self.is_direct;
        self.on_target(step, move |target| write(&target.file, &data, step.offset, is_direct)).await?;
        self.is_dirty.set(!self.is_stable);
        Ok(Done { moved_bytes: step.bytes.into(), is_short: false })
    }

    fn new_path(&self) -> PathBuf {
        self.path_of(self.count_made.replace(self.count_made.get() + 1))
    }

    fn path_of(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{}.{number}", self.prefix))
    }

    /// Does something with the file of a step.
    async fn on_target<T: Send + 'static>(
        &self,
        step: Step,
        act: impl FnOnce(&LocalTarget) -> io::Result<T> + Send + 'static,
    ) -> Result<T, OperationError> {
        let (targets, number) = (Arc::clone(&self.targets), self.first_target + step.file);
        let result = self.wait(move || act(&targets[number])).await;
        result.map_err(|source| OperationError::Local { path: self.targets[number].path.clone(), source })
    }

    async fn on_path(
        &self,
        path: PathBuf,
        act: impl FnOnce(&Path) -> io::Result<()> + Send + 'static,
    ) -> Result<(), OperationError> {
        let here = path.clone();
        self.wait(move || act(&here)).await.map_err(|source| OperationError::Local { path, source })
    }

    async fn wait<T: Send + 'static>(&self, act: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        match self.is_alone {
            true => act(),
            false => tokio::task::spawn_blocking(act).await.unwrap_or_else(|error| Err(io::Error::other(error))),
        }
    }

    /// Whether something that was written is not on stable storage.
    pub(super) fn has_unstable(&self) -> bool {
        self.is_dirty.get()
    }

    /// Asks for stable storage of what was written.
    pub(super) async fn commit(&self) -> Result<(), OperationError> {
        self.is_dirty.set(false);
        let (targets, number) = (Arc::clone(&self.targets), self.first_target);
        let result = self.wait(move || targets[number].file.sync_data()).await;
        result.map_err(|source| OperationError::Local { path: self.targets[number].path.clone(), source })
    }

    /// Removes what its operations made and left.
    pub(super) async fn end(self) {
        let new_files = if self.operation == Operation::NewFile { self.count_made.get() } else { 0 };
        let removed = (0..new_files).map(|number| remove_if_there(&self.path_of(number)));
        let removed = removed.chain(self.trees.iter().map(|tree| tree.remove()));
        if removed.inspect(|_| leftovers::note_progress()).fold(Ok(()), Result::and).is_ok() {
            self.made.release();
        }
    }
}

/// Removes a file; one that is not there was not made.
fn remove_if_there(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn write(file: &File, data: &Bytes, offset: u64, is_direct: bool) -> io::Result<()> {
    if !is_direct || (data.as_ptr() as usize).is_multiple_of(ALIGNMENT) {
        return file.write_all_at(data, offset);
    }
    let mut memory = Aligned::new(data.len());
    let aligned = memory.as_mut(data.len());
    aligned.copy_from_slice(data);
    file.write_all_at(aligned, offset)
}

/// An operation on names or attributes that changes nothing.
fn look(operation: Operation, target: &LocalTarget) -> io::Result<()> {
    match operation {
        Operation::GetAttr => target.file.metadata().map(drop),
        Operation::Access => Ok(rustix::fs::access(&target.path, Access::READ_OK)?),
        Operation::OpenClose => File::open(&target.path).map(drop),
        _ => fs::symlink_metadata(&target.path).map(drop),
    }
}

fn create_and_remove(path: &Path) -> io::Result<()> {
    File::create_new(path)?;
    fs::remove_file(path)
}

fn make_file(path: &Path, data: &[u8]) -> io::Result<()> {
    let file = File::create_new(path)?;
    file.write_all_at(data, 0)?;
    file.sync_data()
}

/// Lists a directory with the attributes of its entries; one that is removed meanwhile has none.
fn list(path: &Path) -> io::Result<()> {
    fs::read_dir(path)?.try_for_each(|entry| match entry?.metadata() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}
