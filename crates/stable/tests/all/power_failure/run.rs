//! One run: changes, a stop, and a look at what is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastrand::Rng;
use stable::{Options, Replayed, StableFs, WriteLog, WriteLogError, changes_set_aside};
use vfs::{Attributes, Error, FileSystem, Handle, OpenMode};

use crate::power_failure::device::TornDevice;
use crate::power_failure::disk::{Disk, DiskFs};
use crate::power_failure::power::Power;
use testing::model::Model;
use testing::model::change::{CX, Change, Limits};
use testing::model::check::{check, settle};

const LOG_BYTES: usize = 1 << 20;
/// Of the writes some are larger than this.
const LARGE_WRITE_BYTES: usize = 1000;
const MAX_CHANGES: u32 = 60;
const MAX_CALLS: i64 = 300;
const LIMITS: Limits = Limits { max_offset: 2000, max_write_bytes: 1500, large: None, has_xattrs: false };

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

/// What a client has cached of a file.
struct Cached {
    file: Handle,
    attributes: Attributes,
    content: Vec<u8>,
}

impl Cached {
    fn read(fs: &StableFs, file: Handle) -> Result<Cached, Error> {
        let attributes = fs.attributes(&CX, &file)?;
        let mut content = vec![0; attributes.size_bytes as usize];
        let count = fs.open(&CX, &file, OpenMode::Read)?.read_at(&CX, 0, &mut content)?;
        content.truncate(count);
        Ok(Cached { file, attributes, content })
    }

    /// Whether a client takes what it has cached for valid, and it is not.
    fn is_trusted_though_stale(&self, fs: &StableFs) -> bool {
        let Ok(now) = Cached::read(fs, self.file) else { return false };
        let (now_is, was) = (&now.attributes, &self.attributes);
        (now_is.change == was.change || now_is.changed == was.changed) && now.content != self.content
    }
}

pub fn run(seed: u64, seen: &mut Seen) {
    let mut rng = Rng::with_seed(seed);
    let state = StateDir::new("crash", seed);
    let mut log = new_log();
    let (mut disk, mut models, mut cached) = (Disk::new(), Vec::new(), Vec::new());
    // The second life of the machine goes on with what the first one has left.
    for life in 0..2 {
        let power = Power::lasting(rng.i64(1..MAX_CALLS));
        let machine = Machine::start(disk, log, (&power, rng.u64(..)));
        if rng.u8(..4) == 0 {
            // The log's device fails first, and the machine goes on without it.
            machine.device.wears_out_after(rng.i64(1..MAX_CALLS / 4));
            seen.failing_devices += 1;
        }
        models = machine.live(&state.0, models, (&mut cached, &mut rng));
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
        // A client may have written over logged data, and not have committed that.
        let mut aside = changes_set_aside(&state.0).unwrap().into_iter();
        assert_eq!(aside.find(|aside| !aside.change.starts_with("keep ")), None, "seed {seed}");
        if replayed.compared {
            let stale = cached.iter().find(|cached: &&Cached| cached.is_trusted_though_stale(&fs));
            assert!(stale.is_none(), "seed {seed}: a client trusts stale data of {:?}", stale.map(|stale| stale.file));
        }
        models = vec![settle(&fs, models.swap_remove(found))];
        fs.sync_all(&CX).unwrap();
        attached.close();
        (disk, log) = machine.stop(&mut rng);
    }
}

/// A directory for the log's state, in memory where there is one.
pub struct StateDir(pub PathBuf);

impl StateDir {
    pub fn new(kind: &str, seed: u64) -> StateDir {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        StateDir(dir.join(format!("wharf-{kind}-{}-{seed}", std::process::id())))
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn new_log() -> Vec<u8> {
    let device = TornDevice::new(vec![0; LOG_BYTES], 0, Power::lasting(i64::MAX));
    WriteLog::create(device.clone()).unwrap();
    device.image()
}

pub struct Machine {
    fs: Arc<DiskFs>,
    device: Arc<TornDevice>,
}

impl Machine {
    pub fn start(disk: Disk, log: Vec<u8>, (power, seed): (&Power, u64)) -> Machine {
        let fs = Arc::new(DiskFs::new(disk, power.clone()));
        Machine { fs, device: TornDevice::new(log, seed, power.clone()) }
    }

    pub fn attach(&self, state_dir: &Path) -> Result<(StableFs, Replayed, Arc<WriteLog>), WriteLogError> {
        let log = WriteLog::open(
            self.device.clone(),
            Options { large_write_bytes: LARGE_WRITE_BYTES, ..Options::new(state_dir.to_owned()) },
        )?;
        let attached = log.attach(Path::new("/export"), self.fs.clone());
        match attached.and_then(|attached| log.start().map(|()| attached)) {
            Ok((fs, replayed)) => Ok((fs, replayed, log)),
            Err(error) => {
                log.close();
                Err(error)
            }
        }
    }

    /// Makes changes until the machine stops. Returns what may be there afterwards: the last change was perhaps not
    /// made.
    fn live(&self, state_dir: &Path, models: Vec<Model>, (cached, rng): (&mut Vec<Cached>, &mut Rng)) -> Vec<Model> {
        let root = self.fs.root();
        let mut model = models.into_iter().next().unwrap_or_else(|| Model::new(root));
        let Ok((fs, _, log)) = self.attach(state_dir) else { return vec![model] };
        for _ in 0..rng.u32(1..MAX_CHANGES) {
            if rng.u8(..20) == 0 {
                if log.drain().is_err() {
                    break;
                }
                continue;
            }
            let change = Change::random(&model, &LIMITS, rng);
            match change.make(&fs) {
                Ok(done) => {
                    model.note(&change, done);
                    let read = rng.choice(model.regular()).filter(|_| rng.u8(..4) == 0);
                    cached.extend(read.and_then(|file| Cached::read(&fs, file).ok()));
                }
                Err(Error::Io(_)) => {
                    log.close();
                    let mut after = model.clone();
                    after.note_doubtful(&change, None);
                    return vec![model, after];
                }
                Err(_) => {}
            }
        }
        log.close();
        vec![model]
    }

    pub fn stop(&self, rng: &mut Rng) -> (Disk, Vec<u8>) {
        (self.fs.image(rng), self.device.image())
    }
}
