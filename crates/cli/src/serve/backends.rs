//! The file systems behind the exports.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{ExportSpec, Source};
use fs_fault::{FaultFs, FaultPlan, Rules};
use fs_host::{FlushCounters, HostFs, HostOptions, MetadataMemory, ReadAheadMode};
use fs_mem::{MemFs, MemOptions};
use server::Export;
use vfs::FileSystem;

use super::remotes::Remotes;
use super::write_log::ServedLog;
use crate::failure::{ExportError, Failure};

/// Opens the file systems of exports. A reload keeps those of unchanged exports, so that their clients are not affected
/// and files in memory stay.
#[derive(Default)]
pub struct Backends {
    options: BackendOptions,
    remotes: Remotes,
    open: HashMap<Key, Backend>,
    log: Option<ServedLog>,
}

/// An open file system.
#[derive(Clone)]
struct Backend {
    file_system: Arc<dyn FileSystem>,
    /// The directory behind it, if it is on this machine.
    host: Option<Arc<HostFs>>,
}

/// Options of all file systems.
#[derive(Debug, Clone, Default)]
pub struct BackendOptions {
    /// The directory for the stores of handles.
    pub state_dir: Option<PathBuf>,
    /// How many threads call.
    pub workers: usize,
    /// Who reads ahead for sequential readers of files on disk.
    pub read_ahead: ReadAheadMode,
    /// Whether requests that wait for stable storage share flushes.
    pub group_commit: bool,
    /// The memory for names and handles of all directories of this machine.
    pub metadata_memory: Arc<MetadataMemory>,
    /// Counts the flushes of all directories of this machine.
    pub flush_counters: Arc<FlushCounters>,
    /// The owner of the root of a file system in memory.
    pub owner: (u32, u32),
    /// Whether there is a write log in front of all directories.
    pub has_write_log: bool,
    /// The maximum number of files kept at hand per directory, if limited.
    pub files_at_hand: Option<usize>,
}

/// Exports with the same key share a file system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    source: Source,
    /// Exports of one directory share it; exports in memory are separate.
    memory_name: Option<String>,
    sync_metadata: bool,
    fault: Option<String>,
}

/// Everybody may create files in memory, and remove only their own, as in /tmp.
const MEMORY_ROOT_MODE: u32 = 0o1777;

impl Backends {
    /// Starts without file systems.
    pub fn new(options: BackendOptions) -> Backends {
        Backends { options, ..Backends::default() }
    }

    /// Puts a write log in front of all directories.
    pub fn with_log(self, log: Option<ServedLog>) -> Backends {
        let options = BackendOptions { has_write_log: log.is_some(), ..self.options };
        Backends { log, options, ..self }
    }

    /// The name changes that requests made before a power failure, from the write log.
    pub fn take_made_changes(&self) -> Vec<daemon::MadeBefore> {
        self.log.as_ref().map_or_else(Vec::new, ServedLog::take_made_changes)
    }

    /// Starts the write log, if there is one.
    pub fn log_starter(&mut self) -> Option<daemon::BeforeRequests> {
        self.log.as_mut().map(ServedLog::starter)
    }

    /// Flushes all changes in the write log to storage.
    ///
    /// # Errors
    /// When the next start needs the log.
    pub fn drain_log(&self) -> Result<(), Failure> {
        self.log.as_ref().map_or(Ok(()), ServedLog::drain)
    }

    /// Closes the write log after the server has ended.
    pub fn close_log(&self) {
        self.log.iter().for_each(ServedLog::close);
    }

    /// The state of the write log, if there is one.
    pub fn log_status(&self) -> Option<stable::Status> {
        self.log.as_ref().map(ServedLog::status)
    }

    /// Opens the file systems of `specs`, closes others, and returns the exports. Reopens a directory that was replaced
    /// at its path.
    ///
    /// # Errors
    /// All that cannot be opened; then nothing changes.
    pub fn exports(&mut self, specs: &[ExportSpec]) -> Result<Vec<Export>, Failure> {
        let (mut open, mut new, mut failures) = (HashMap::new(), Vec::new(), Vec::new());
        for spec in specs {
            if let Err(source) = self.backend(spec, &mut open, &mut new) {
                failures.push(Failure::Export { origin: spec.origin.clone(), source });
            }
        }
        Failure::if_any(failures)?;
        if let Some(log) = &self.log {
            attach(log, &mut open, &new)?;
        }
        let export = |spec: &ExportSpec| {
            let Backend { file_system, .. } = open[&Key::of(spec)].clone();
            Export { name: spec.name.clone(), file_system, rules: spec.rules.clone(), fsid: spec.fsid }
        };
        let exports = specs.iter().map(export).collect();
        if let Some(log) = &self.log {
            let dirs: Vec<PathBuf> = open.keys().filter_map(|key| key.dir().cloned()).collect();
            log.keep(&dirs)?;
        }
        for Key { memory_name, .. } in self.open.keys().filter(|key| !open.contains_key(key)) {
            if let Some(export) = memory_name {
                tracing::warn!(
                    export,
                    "the files in memory are lost: the export is gone, or its memory, sync_metadata or fault changed"
                );
            }
        }
        self.open = open;
        Ok(exports)
    }

    /// Adds the file system of an export to `open`, and its key to `new` if it was not open yet.
    fn backend(
        &self,
        spec: &ExportSpec,
        open: &mut HashMap<Key, Backend>,
        new: &mut Vec<Key>,
    ) -> Result<(), ExportError> {
        let key = Key::of(spec);
        if open.contains_key(&key) {
            return Ok(());
        }
        let backend = match self.current(&key, spec) {
            Some(known) => known.clone(),
            None => {
                new.push(key.clone());
                self.open(spec)?
            }
        };
        open.insert(key, backend);
        Ok(())
    }

    /// Returns the open file system of an export, if it is still the one at the path.
    fn current(&self, key: &Key, spec: &ExportSpec) -> Option<&Backend> {
        let known = self.open.get(key)?;
        if known.is_current(spec) {
            return Some(known);
        }
        tracing::info!(export = spec.name, "another directory is now at the path: clients must mount the export again");
        None
    }

    fn open(&self, spec: &ExportSpec) -> Result<Backend, ExportError> {
        let backend = match &spec.source {
            Source::Dir(dir) => {
                // The log makes changes durable, so the file system need not sync them.
                let syncs = spec.sync_metadata && self.log.is_none();
                let host = Arc::new(HostFs::open(dir, self.options.host_options(syncs))?);
                Backend { file_system: Arc::clone(&host) as _, host: Some(host) }
            }
            Source::Memory { capacity_bytes } => Backend::other(MemFs::new(self.memory_options(*capacity_bytes))),
            Source::Remote { url } => Backend::other(self.remotes.open(url)?),
        };
        let mut file_system = backend.file_system;
        if let Some(plan) = &spec.fault {
            let plan = FaultPlan::new(plan.parse::<Rules>()?);
            file_system = Arc::new(FaultFs::new(file_system, plan));
        }
        if let (Source::Dir(dir), None) = (&spec.source, &self.log) {
            file_system = self.unlogged(dir, file_system)?;
        }
        Ok(Backend { file_system, ..backend })
    }

    /// Refuses a directory with acknowledged changes that may be in a write log alone.
    fn unlogged(&self, dir: &Path, inner: Arc<dyn FileSystem>) -> Result<Arc<dyn FileSystem>, ExportError> {
        stable::check_unlogged(dir, &*inner, self.options.state_dir.as_deref())?;
        Ok(inner)
    }

    fn memory_options(&self, capacity_bytes: u64) -> MemOptions {
        MemOptions {
            capacity_bytes,
            root_mode: MEMORY_ROOT_MODE,
            root_uid: self.options.owner.0,
            root_gid: self.options.owner.1,
            ..MemOptions::default()
        }
    }
}

/// Puts the log in front of new directories, all at once: a file may have names in several.
fn attach(log: &ServedLog, open: &mut HashMap<Key, Backend>, new: &[Key]) -> Result<(), Failure> {
    let in_front = |key: &Key| Some((key.dir()?.clone(), Arc::clone(&open.get(key)?.file_system)));
    let (keys, dirs) = new.iter().filter_map(|key| Some((key, in_front(key)?))).unzip::<_, _, Vec<_>, Vec<_>>();
    for (key, file_system) in keys.into_iter().zip(log.attach(dirs)?) {
        open.entry(key.clone()).and_modify(|backend| backend.file_system = file_system);
    }
    Ok(())
}

impl BackendOptions {
    /// The options for directories of this machine.
    pub fn host_options(&self, sync_metadata: bool) -> HostOptions {
        HostOptions {
            state_dir: self.state_dir.clone(),
            workers: self.workers,
            sync_metadata,
            is_behind_log: self.has_write_log,
            read_ahead: self.read_ahead.clone(),
            group_commit: self.group_commit,
            metadata_memory: Arc::clone(&self.metadata_memory),
            flush_counters: Arc::clone(&self.flush_counters),
            max_nodes: self.files_at_hand,
            ..HostOptions::default()
        }
    }
}

impl Backend {
    fn other(file_system: impl FileSystem + 'static) -> Backend {
        Backend { file_system: Arc::new(file_system), host: None }
    }

    /// Whether it still serves what `spec` names: a directory may have been replaced, or mounted over.
    fn is_current(&self, spec: &ExportSpec) -> bool {
        match (&spec.source, &self.host) {
            (Source::Dir(dir), Some(host)) => host.is_still_at(dir),
            _ => true,
        }
    }
}

impl Key {
    /// The directory, if it is on this machine.
    fn dir(&self) -> Option<&PathBuf> {
        if let Source::Dir(dir) = &self.source { Some(dir) } else { None }
    }

    fn of(spec: &ExportSpec) -> Key {
        let is_memory = matches!(spec.source, Source::Memory { .. });
        Key {
            source: spec.source.clone(),
            memory_name: is_memory.then(|| spec.name.clone()),
            sync_metadata: spec.sync_metadata,
            fault: spec.fault.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Defaults, ExportFlags};

    fn specs(exports: &[&str]) -> Vec<ExportSpec> {
        let flags = ExportFlags { exports: exports.iter().map(Into::into).collect(), ..ExportFlags::default() };
        flags.parse(Path::new("/"), &Defaults::privileged()).unwrap()
    }

    fn backends() -> Backends {
        Backends::new(BackendOptions { workers: 1, ..BackendOptions::default() })
    }

    #[test]
    fn memory_outlives_a_reload_that_keeps_its_export() {
        let mut backends = backends();
        let before = backends.exports(&specs(&["mem:1M=/a", "mem:1M=/b"])).unwrap();
        let after = backends.exports(&specs(&["mem:1M=/b"])).unwrap();
        assert!(Arc::ptr_eq(&before[1].file_system, &after[0].file_system));
        assert!(!Arc::ptr_eq(&before[0].file_system, &before[1].file_system));
    }

    #[test]
    fn export_that_cannot_be_opened_leaves_everything_as_it_was() {
        let mut backends = backends();
        let before = backends.exports(&specs(&["mem:1M"])).unwrap();
        let failure = backends.exports(&specs(&["mem:1M", "/there/is/nothing/here"])).err().unwrap();
        assert!(failure.to_string().starts_with("cannot open /there/is/nothing/here for serving: "), "{failure}");
        let after = backends.exports(&specs(&["mem:1M"])).unwrap();
        assert!(Arc::ptr_eq(&before[0].file_system, &after[0].file_system));
    }
}
