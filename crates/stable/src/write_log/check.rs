//! Whether a log and exports fit together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use own_files::Flaw;
use vfs::{Context, FileSystem, quoted};

use super::{Options, SMALL_LOG_BYTES, WriteLog, hold};
use crate::dependence::Known;
use crate::device::{Device, MemoryDevice};
use crate::error::WriteLogError;
use crate::mark::{Mark, absolute};
use crate::owner::{OwnedExport, new_id};
use crate::replay::Counts;
use crate::state_file::KeptGeneration;
use crate::state_line::StateLine;

impl WriteLog {
    /// Refuses exports that [`WriteLog::attach_all`] and [`WriteLog::start`] would refuse if there are no others, and
    /// changes nothing. Without a device, the log will be a new one.
    ///
    /// # Errors
    /// When the log or the state directory cannot be read, and when exports and log do not fit.
    pub fn check(
        device: Option<Arc<dyn Device>>,
        options: Options,
        exports: &[(PathBuf, Arc<dyn FileSystem>)],
    ) -> Result<(), WriteLogError> {
        let device = device.unwrap_or_else(|| Arc::new(MemoryDevice::new(SMALL_LOG_BYTES)));
        let log = WriteLog::open_or_begin(device, options)?;
        log.check_exports(exports)?;
        let (counts, owner) = (Counts::read(&log.log)?, hold(&log.owner).exports.clone());
        let records =
            |name: &Path| owner.iter().find(|known| known.name == name).map_or(0, |known| counts.of(known.number));
        exports.iter().try_for_each(|(name, fs)| log.check_writable(name, &**fs, records(name)))
    }

    /// Refuses an export whose records cannot be brought to storage.
    pub(super) fn check_writable(&self, name: &Path, fs: &dyn FileSystem, records: u64) -> Result<(), WriteLogError> {
        if records > 0 && !self.is_retired() && fs.is_read_only(&Context::ROOT).unwrap_or(false) {
            return Err(WriteLogError::ReadOnly { export: name.to_owned(), records, site: self.site() });
        }
        Ok(())
    }

    /// Refuses exports as [`WriteLog::check`] does, before the first of them is attached.
    ///
    /// # Errors
    /// As of [`WriteLog::check`].
    pub fn check_exports(&self, exports: &[(PathBuf, Arc<dyn FileSystem>)]) -> Result<(), WriteLogError> {
        let counts = if self.is_retired() { Counts::default() } else { Counts::read(&self.log)? };
        let known = hold(&self.owner).exports.clone();
        self.check_unnamed(counts.of_others(&known))?;
        self.check_server(&counts, exports)?;
        let now: Vec<_> = exports.iter().map(|(name, fs)| OwnedExport::of(name, &**fs)).collect();
        for (now, (name, fs)) in now.iter().zip(exports) {
            let known = known.iter().find(|known| known.name == *name);
            let records = known.map_or(0, |known| counts.of(known.number));
            self.check_export(now, &**fs, (known, records))?;
        }
        self.check_all_are_there(&counts, &known, &now)
    }

    /// Refuses a log that another server has used since this one, or that only another one has used, before anything is
    /// made of its changes: it may be an old copy, and that server may have served newer data.
    pub(super) fn check_server(
        &self,
        counts: &Counts,
        exports: &[(PathBuf, Arc<dyn FileSystem>)],
    ) -> Result<(), WriteLogError> {
        if self.options.is_expendable || self.is_known()? {
            return Ok(());
        }
        let mut dirs = Vec::new();
        for (name, fs) in exports {
            if self.mark_of(name, &**fs)?.is_some() {
                dirs.push(name.clone());
            }
        }
        let server = exports.iter().find_map(|(name, fs)| self.server_of(name, &**fs));
        let has_records = |known: &&OwnedExport| counts.of(known.number) > 0 && !dirs.contains(&known.name);
        let others: Vec<PathBuf> =
            hold(&self.owner).exports.iter().filter(has_records).map(|known| known.name.clone()).collect();
        dirs.extend(others);
        let is_other = server.is_some() || self.is_of_another_server();
        if dirs.is_empty() || !is_other {
            return Ok(());
        }
        Err(WriteLogError::OtherServers { exports: dirs, server, site: self.site() })
    }

    /// The state directory of the server that used the log last, if an export that depends on it names another one than
    /// this server's.
    pub fn server_of(&self, export: &Path, fs: &dyn FileSystem) -> Option<PathBuf> {
        let server = self.mark_of(export, fs).ok()??.server?;
        (server != absolute(&self.options.state_dir)).then_some(server)
    }

    /// The mark of an export that depends on this log.
    fn mark_of(&self, export: &Path, fs: &dyn FileSystem) -> Result<Option<Known>, WriteLogError> {
        let is_of_log = |known: &Known| known.mark.is_needed && known.mark.log == self.log.id();
        Ok(Known::of(export, fs, &self.lines)?.into_iter().find(is_of_log))
    }

    /// The id of the state directory, which gets one when it first has a log.
    pub(super) fn server_id(&self) -> Result<String, WriteLogError> {
        if let Some(id) = self.server_id.get() {
            return Ok(id.clone());
        }
        let id = new_id();
        self.state_file.keep(&[StateLine::Server { id: id.clone() }])?;
        Ok(self.server_id.get_or_init(|| id).clone())
    }

    /// Whether the log and the state directory say that they are of two servers.
    fn is_of_another_server(&self) -> bool {
        self.server_id.get().zip(hold(&self.owner).server.as_ref()).is_some_and(|(own, last)| own != last)
    }

    /// Refuses an export that is another directory than the one that the log has `records` of, needs another log or
    /// does not need these records.
    pub(super) fn check_export(
        &self,
        now: &OwnedExport,
        fs: &dyn FileSystem,
        (known, records): (Option<&OwnedExport>, u64),
    ) -> Result<(), WriteLogError> {
        if records > 0 && known.is_none_or(|known| !known.is_same_tree(now)) {
            return Err(WriteLogError::OtherTree { export: now.name.clone(), records, site: self.site() });
        }
        self.check_mark(&now.name, fs, records)
    }

    /// Refuses a log with records of exports that it does not know, before an export gets one of their numbers.
    ///
    /// # Errors
    /// When there are such records, or the log cannot be read.
    pub fn check_named(&self) -> Result<(), WriteLogError> {
        self.check_unnamed(self.unnamed()?)
    }

    pub(super) fn check_unnamed(&self, records: u64) -> Result<(), WriteLogError> {
        match records {
            0 => Ok(()),
            records => Err(WriteLogError::Unnamed { records, site: self.site() }),
        }
    }

    /// Refuses an export that needs another log or a newer copy of this one, and records that it does not need.
    pub(super) fn check_mark(&self, name: &Path, fs: &dyn FileSystem, records: u64) -> Result<(), WriteLogError> {
        let known = Known::of(name, fs, &self.lines)?;
        known.iter().try_for_each(|known| self.check_known(known).and_then(|()| self.check_age(known)))?;
        let mut own = known.iter().filter(|known| known.is_own).peekable();
        let depends = own.peek().is_some() && own.all(|known| known.mark.is_needed && known.is_safe);
        if depends || records == 0 || self.options.is_expendable {
            return Ok(());
        }
        Err(WriteLogError::NotOfExport { export: name.to_owned(), records, site: self.site() })
    }

    /// Refuses a directory that needs another log or a newer copy of this one.
    pub(super) fn check_known(&self, known: &Known) -> Result<(), WriteLogError> {
        if !known.mark.is_needed || self.is_marked(&known.mark)? {
            return Ok(());
        }
        let (export, told_by) = (known.export.clone(), known.told_by());
        let site = known.site(Some(&self.options.state_dir));
        let is_new = self.end().bytes() == 0;
        if is_new && site.path == self.site().path {
            return Err(WriteLogError::BlankLog { export, site, told_by });
        }
        let adopt = || format!("; to use what this log has, run {}", self.site().adopt());
        let remedy = if is_new { String::new() } else { adopt() };
        Err(WriteLogError::NeedsOtherLog { export, site, told_by, remedy })
    }

    /// Refuses a directory that needs this log, if nothing says whether there was a newer copy of the log: the mark of
    /// the directory is not changed by trims.
    fn check_age(&self, known: &Known) -> Result<(), WriteLogError> {
        let log = quoted(&self.site().path);
        let wrong = match self.kept_generation()? {
            KeptGeneration::Known(_) => return Ok(()),
            _ if !known.mark.is_needed => return Ok(()),
            KeptGeneration::FileMissing => "is missing".to_owned(),
            KeptGeneration::Unknown => format!("has no valid line of the write log {log}"),
        };
        let export = quoted(&known.export);
        Err(WriteLogError::StateFile(Flaw {
            path: self.state_file.generation_path(),
            wrong,
            means: format!(
                "{log} may be an old copy, and acknowledged changes of {export} may be in a newer one alone"
            ),
            remedy: format!("bring the file back, or use this log all the same with {}", self.site().adopt()),
        }))
    }

    /// Whether a mark is of this log, and not of a newer copy.
    fn is_marked(&self, mark: &Mark) -> Result<bool, WriteLogError> {
        let own = (self.log.generation(), self.log.end().bytes());
        let is_newest = match self.kept_generation()? {
            KeptGeneration::Known(kept) => own >= (kept.generation, kept.end) && own.0 >= mark.generation,
            KeptGeneration::Unknown | KeptGeneration::FileMissing => own.0 >= mark.generation,
        };
        Ok(mark.log == self.log.id() && is_newest)
    }

    /// The newest generation of this log that the state directory has.
    pub(super) fn kept_generation(&self) -> Result<KeptGeneration, WriteLogError> {
        let unreadable = |source| WriteLogError::State { path: self.options.state_dir.clone(), source };
        self.state_file.generation(&self.log.id()).map_err(unreadable)
    }

    /// Refuses a log with records of an export that is not attached.
    pub(super) fn check_all_are_there(
        &self,
        counts: &Counts,
        known: &[OwnedExport],
        attached: &[OwnedExport],
    ) -> Result<(), WriteLogError> {
        let is_missing = |other: &&OwnedExport| attached.iter().all(|export| export.name != other.name);
        for other in known.iter().filter(is_missing) {
            let (export, records) = (other.name.clone(), counts.of(other.number));
            if records > 0 {
                let exported_as = attached.iter().find(|export| export.is_same_dir(other));
                let exported_as = exported_as.map(|export| export.name.clone());
                return Err(WriteLogError::Missing { export, exported_as, records, site: self.site() });
            }
        }
        Ok(())
    }
}
