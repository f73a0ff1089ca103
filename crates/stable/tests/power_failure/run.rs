//! One run: changes, a stop, and a look at what is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastrand::Rng;
use stable::{Options, Replayed, StableFs, WriteLog, WriteLogError};
use vfs::{
    Context, CreateMode, Detail, DirEntry, Error, FileKind, FileSystem, Handle, Name, NewNode, OpenMode, Place,
    ReadDir, SetAttributes, Stability,
};

use crate::device::TornDevice;
use crate::disk::{Disk, DiskFs};
use crate::model::{File, Model, Spot};
use crate::power::Power;

const CX: Context<'static> = Context::ROOT;
const LOG_BYTES: usize = 1 << 20;
const MAX_CHANGES: u32 = 60;
const MAX_CALLS: i64 = 260;

/// What all runs together have met.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    pub stops: u64,
    pub replays: u64,
    pub second_stops: u64,
    pub failing_devices: u64,
    pub made: u64,
    pub names: u64,
    pub data_bytes: u64,
}

pub fn run(seed: u64, seen: &mut Seen) {
    let mut rng = Rng::with_seed(seed);
    let state = StateDir::new(seed);
    let mut log = new_log();
    let (mut disk, mut models) = (Disk::new(), Vec::new());
    // The second life of the machine goes on with what the first one has left.
    for life in 0..2 {
        let power = Power::lasting(rng.i64(1..MAX_CALLS));
        let machine = Machine::start(disk, log, (&power, rng.u64(..)));
        if rng.u8(..4) == 0 {
            // The log's device fails first, and the machine goes on without it.
            machine.device.wears_out_after(rng.i64(1..MAX_CALLS / 4));
            seen.failing_devices += 1;
        }
        models = machine.live(&state.0, models, &mut rng);
        seen.stops += u64::from(power.is_off());
        (disk, log) = machine.stop(&mut rng);
        if rng.u8(..3) == 0 {
            let power = Power::lasting(rng.i64(1..60));
            let machine = Machine::start(disk, log, (&power, rng.u64(..)));
            if let Ok((_, _, log)) = machine.attach(&state.0) {
                log.close();
            }
            seen.second_stops += u64::from(power.is_off());
            (disk, log) = machine.stop(&mut rng);
        }
        let machine = Machine::start(disk, log, (&Power::lasting(i64::MAX), 0));
        let (fs, replayed, attached) = machine.attach(&state.0).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        seen.replays += u64::from(replayed.compared);
        seen.made += replayed.made;
        seen.names += replayed.names;
        seen.data_bytes += replayed.data_bytes;
        let wrong: Vec<_> = models.iter().map(|model| check(&fs, model)).collect();
        let found = wrong.iter().position(Option::is_none);
        let found = found.unwrap_or_else(|| panic!("seed {seed}, life {life}: {wrong:?}; {replayed:?}"));
        assert_eq!(replayed.conflicts, 0, "seed {seed}");
        models = vec![settle(&fs, models.swap_remove(found))];
        fs.sync_all(&CX).unwrap();
        attached.close();
        (disk, log) = machine.stop(&mut rng);
    }
}

/// A directory for the log's state, in memory where there is one.
struct StateDir(PathBuf);

impl StateDir {
    fn new(seed: u64) -> StateDir {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        StateDir(dir.join(format!("wharf-crash-{}-{seed}", std::process::id())))
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn new_log() -> Vec<u8> {
    let device = TornDevice::new(vec![0; LOG_BYTES], 0, Power::lasting(i64::MAX));
    WriteLog::create(device.clone()).unwrap();
    device.image()
}

struct Machine {
    fs: Arc<DiskFs>,
    device: Arc<TornDevice>,
}

impl Machine {
    fn start(disk: Disk, log: Vec<u8>, (power, seed): (&Power, u64)) -> Machine {
        let fs = Arc::new(DiskFs::new(disk, power.clone()));
        Machine { fs, device: TornDevice::new(log, seed, power.clone()) }
    }

    fn attach(&self, state_dir: &Path) -> Result<(StableFs, Replayed, Arc<WriteLog>), WriteLogError> {
        let log = WriteLog::open(self.device.clone(), Options::new(state_dir.to_owned()))?;
        let attached = log.attach("/export", self.fs.clone());
        match attached.and_then(|attached| log.start().map(|()| attached)) {
            Ok((fs, replayed)) => Ok((fs, replayed, log)),
            Err(error) => {
                log.close();
                Err(error)
            }
        }
    }

    /// Makes changes until the machine stops. Returns what may be there afterwards: the last change was perhaps not made.
    fn live(&self, state_dir: &Path, models: Vec<Model>, rng: &mut Rng) -> Vec<Model> {
        let root = self.fs.root();
        let mut model = models.into_iter().next().unwrap_or_else(|| Model::new(root));
        let Ok((fs, _, log)) = self.attach(state_dir) else { return vec![model] };
        for _ in 0..rng.u32(1..MAX_CHANGES) {
            let mut after = model.clone();
            let done = if rng.u8(..20) == 0 {
                log.drain().map_err(|_| Error::Io(std::io::ErrorKind::Other.into()))
            } else {
                change(&fs, &mut after, rng)
            };
            match done {
                Ok(()) => model = after,
                Err(Error::Io(_)) => {
                    log.close();
                    return vec![model, after];
                }
                Err(_) => {}
            }
        }
        log.close();
        vec![model]
    }

    fn stop(&self, rng: &mut Rng) -> (Disk, Vec<u8>) {
        (self.fs.image(rng), self.device.image())
    }
}

/// Makes a random change, and makes it in the model too. The model has it even when the machine stops on the way.
fn change(fs: &StableFs, model: &mut Model, rng: &mut Rng) -> vfs::Result<()> {
    let spot = random_spot(model, rng);
    let file = pick(&model.regular(), rng);
    match rng.u8(..16) {
        0..4 => {
            let made = fs.create(&CX, place(&spot), CreateMode::Guarded, &SetAttributes::default());
            make(model, spot, made, File::new(FileKind::Regular, 0o644))
        }
        4 => {
            let set = SetAttributes { mode: Some(0o700), ..SetAttributes::default() };
            let made = fs.make_node(&CX, place(&spot), NewNode::Directory, &set);
            make(model, spot, made, File::new(FileKind::Directory, 0o700))
        }
        5 => {
            let made = fs.make_node(&CX, place(&spot), NewNode::Symlink(b"target"), &SetAttributes::default());
            make(model, spot, made, File { target: b"target".to_vec(), ..File::new(FileKind::Symlink, 0o644) })
        }
        6 | 7 => {
            let result = fs.remove(&CX, place(&spot));
            attempt(result, || model.remove(&spot))
        }
        8 => {
            let result = fs.remove_dir(&CX, place(&spot));
            attempt(result, || model.remove(&spot))
        }
        9 | 10 => {
            let to = random_spot(model, rng);
            let result = fs.rename(&CX, place(&spot), place(&to));
            attempt(result, || {
                if model.names.contains_key(&spot) {
                    model.rename(&spot, &to);
                }
            })
        }
        kind => file.map_or(Ok(()), |file| change_file(fs, model, (kind, file, spot), rng)),
    }
}

fn change_file(
    fs: &StableFs,
    model: &mut Model,
    (kind, handle, spot): (u8, Handle, Spot),
    rng: &mut Rng,
) -> vfs::Result<()> {
    if kind == 11 {
        let result = fs.link(&CX, &handle, place(&spot)).map(drop);
        return attempt(result, || {
            model.names.insert(spot, handle);
        });
    }
    let file = model.files.get_mut(&handle).unwrap();
    let open = fs.open(&CX, &handle, OpenMode::Write)?;
    match kind {
        12 => {
            // One of both: of a change that is not answered, one half may be there.
            let (size, mode) = (rng.usize(..3000), rng.bool().then(|| rng.u32(..0o1000)));
            let size_bytes = Some(size as u64).filter(|_| mode.is_none());
            let set = SetAttributes { size_bytes, mode, ..SetAttributes::default() };
            let result = fs.set_attributes(&CX, &handle, &set).map(drop);
            attempt(result, || match mode {
                Some(mode) => file.mode = mode,
                None => file.resize(size),
            })
        }
        13 => attempt(open.sync(&CX), || file.commit()),
        _ => {
            let is_sure = rng.bool();
            let (offset, data) = (rng.usize(..2000), vec![rng.u8(1..); rng.usize(1..1500)]);
            let stability = if is_sure { Stability::File } else { Stability::Unstable };
            let result = open.write_at(&CX, offset as u64, &data, stability).map(drop);
            // Of a write that was not answered any part may be there.
            let is_sure = is_sure && result.is_ok();
            attempt(result, || file.write(offset, &data, is_sure))
        }
    }
}

/// Makes the change in the model if it was made, or may have been.
fn attempt(result: vfs::Result<()>, make: impl FnOnce()) -> vfs::Result<()> {
    if matches!(result, Ok(()) | Err(Error::Io(_))) {
        make();
    }
    result
}

fn make(model: &mut Model, spot: Spot, made: vfs::Result<vfs::Entry>, file: File) -> vfs::Result<()> {
    match made {
        Ok(entry) => {
            model.make(spot, entry.handle, file);
            Ok(())
        }
        Err(Error::Io(source)) => {
            // It may be there under a handle that nobody knows.
            model.files.insert(unknown(), file);
            model.names.insert(spot, unknown());
            Err(Error::Io(source))
        }
        Err(error) => Err(error),
    }
}

fn unknown() -> Handle {
    Handle::new(b"unknown").unwrap()
}

fn place(spot: &Spot) -> Place<'_> {
    Place { dir: spot.0, name: Name::new(&spot.1).unwrap() }
}

fn pick(files: &[Handle], rng: &mut Rng) -> Option<Handle> {
    if files.is_empty() { None } else { Some(files[rng.usize(..files.len())]) }
}

fn random_spot(model: &Model, rng: &mut Rng) -> Spot {
    let dir = pick(&model.dirs(), rng).unwrap();
    (dir, vec![b'a' + rng.u8(..6)])
}

/// Why the file system is not as the model says, if it is not.
fn check(fs: &StableFs, model: &Model) -> Option<String> {
    if let Some(handle) = model.gone.iter().find(|gone| fs.attributes(&CX, gone).is_ok()) {
        return Some(format!("{handle:?} is gone, and reaches a file"));
    }
    for (handle, file) in &model.files {
        let handle = if *handle == unknown() { find_unknown(fs, model)? } else { *handle };
        if let Some(wrong) = check_file(fs, model, &handle, file) {
            return Some(format!("{handle:?}: {wrong}"));
        }
    }
    for (spot, handle) in model.names.iter().filter(|(_, handle)| **handle != unknown()) {
        match fs.lookup(&CX, place(spot)) {
            Ok(entry) if entry.handle == *handle => {}
            other => return Some(format!("{spot:?} is {other:?}, not {handle:?}")),
        }
    }
    None
}

fn find_unknown(fs: &StableFs, model: &Model) -> Option<Handle> {
    let (spot, _) = model.names.iter().find(|(_, handle)| **handle == unknown())?;
    fs.lookup(&CX, place(spot)).ok().map(|entry| entry.handle).or_else(|| Handle::new(b"missing"))
}

fn check_file(fs: &StableFs, model: &Model, handle: &Handle, file: &File) -> Option<String> {
    let attributes = match fs.attributes(&CX, handle) {
        Ok(attributes) => attributes,
        Err(error) => return Some(error.to_string()),
    };
    if (attributes.kind, attributes.mode) != (file.kind, file.mode) {
        return Some(format!("{:?} {:o}, not {:?} {:o}", attributes.kind, attributes.mode, file.kind, file.mode));
    }
    match file.kind {
        FileKind::Regular => file.differs_from(&content(fs, handle)),
        FileKind::Symlink => (fs.read_link(&CX, handle).unwrap() != file.target).then(|| "another target".to_owned()),
        _ => {
            let expected: Vec<_> =
                model.names.keys().filter(|(dir, _)| dir == handle).map(|(_, name)| name.clone()).collect();
            let found = names(fs, handle);
            (found != expected).then(|| format!("names {found:?}, not {expected:?}"))
        }
    }
}

fn content(fs: &StableFs, handle: &Handle) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 13];
    let count = fs.open(&CX, handle, OpenMode::Read).unwrap().read_at(&CX, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

fn names(fs: &StableFs, dir: &Handle) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let mut each = |entry: DirEntry<'_>| {
        names.push(entry.name.to_vec());
        std::ops::ControlFlow::Continue(())
    };
    fs.read_dir(&CX, ReadDir { dir, after: 0, detail: Detail::Names }, &mut each).unwrap();
    names
}

/// The model of what is there now: what was not sure has been decided.
fn settle(fs: &StableFs, mut model: Model) -> Model {
    if let Some(handle) = find_unknown(fs, &model) {
        let spot = model.names.iter().find(|(_, handle)| **handle == unknown()).map(|(spot, _)| spot.clone()).unwrap();
        let file = model.files.remove(&unknown()).unwrap();
        model.files.insert(handle, file);
        model.names.insert(spot, handle);
    }
    for (handle, file) in model.files.iter_mut().filter(|(_, file)| file.kind == FileKind::Regular) {
        file.data = content(fs, handle).into_iter().map(|byte| (byte, true)).collect();
        file.sure_bytes = file.data.len();
    }
    model
}
