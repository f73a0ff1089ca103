//! Finds logged data that storage has lost, though the machine was not started again since.
//!
//! When the kernel fails to write a page, it reports that once, perhaps to another process, and keeps the page as a
//! clean one. So after a kill, a flush may succeed while memory shows data that the disk lacks. Names and
//! attributes are safe: a file system that cannot write its journal refuses all changes, and every flush.
//!
//! Of each byte, the latest record counts. Two passes compare these records with the files:
//!
//! 1. With what memory shows. A difference in a file that still has the time of modification of its last record is a
//!    loss: the data are written again. A file that was changed later stays, and the record's data are set aside: a
//!    program may have written over them, or a request that was not answered. No other bytes than zeros are replaced
//!    without being set aside: a program may have written them before the last record.
//! 2. With what storage has, after the pages were evicted. Pass 1 has just seen the data in memory: a difference is a
//!    loss. What cannot be evicted is written again.
//!
//! A file whose data are written again keeps its time of modification.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use vfs::{Error, FileKind, Handle, OpenFile, OpenMode, SetAttributes, SetTime, Timestamp};

use super::latest::{LatestData, range_of};
use super::set_aside::{Reason, Unmade};
use super::site::Site;
use super::tickets::Tickets;
use super::{CX, Replayed, data, each_record, index, shared};
use crate::error::WriteLogError;
use crate::layer::LoggedExport;
use crate::log::Log;
use crate::record::{Change, FileId, Record, RecordTime, Resize, Write};
use crate::state_file::StateFile;

/// What logged data are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Memory,
    Storage,
}

/// A file with data in the log.
#[derive(Default)]
struct LoggedFile {
    /// What is still to be compared.
    latest: LatestData,
    size_bytes: u64,
    /// The time of modification in the last record.
    recorded: Option<RecordTime>,
    /// The time of modification when it was compared with memory.
    seen: Option<Timestamp>,
    is_evicted: Option<bool>,
}

/// Exports of a log, and the files with data in it.
struct Comparison<'c> {
    sites: Vec<Site<'c>>,
    files: Vec<LoggedFile>,
    /// The numbers of the files. Exports may share one.
    numbers: HashMap<(usize, Handle), usize>,
}

/// Bytes of a record that are compared.
struct Piece<'p> {
    /// The number of the export.
    at: usize,
    handle: Handle,
    range_bytes: Range<u64>,
    data: &'p [u8],
}

/// Brings exports to storage, and writes data again that it has lost.
pub(super) fn repair(
    log: &Log,
    exports: &[&LoggedExport],
    state_file: &StateFile,
) -> Result<Vec<Replayed>, WriteLogError> {
    exports.iter().try_for_each(|export| flush(export).map(drop))?;
    let mut sites = super::sites(log, exports, state_file, &mut Tickets::default())?;
    sites.iter_mut().try_for_each(Site::find_files)?;
    shared::merge(&mut sites)?;
    let mut comparison = Comparison::new(sites)?;
    comparison.each_record(log, |comparison, at, record, end| {
        comparison.note(at, record, end);
        Ok(())
    })?;
    comparison.files.iter_mut().for_each(|file| file.latest.end(file.size_bytes));
    for pass in [Pass::Memory, Pass::Storage] {
        comparison.each_record(log, |comparison, at, record, end| comparison.compare(pass, at, record, end))?;
    }
    comparison.end(state_file)
}

/// Flushes an export. Each loss of data is reported once, which is the inner result. When a second flush fails too,
/// storage may lack names as well, and the next start replays everything.
pub(super) fn flush(export: &LoggedExport) -> Result<vfs::Result<()>, WriteLogError> {
    let flush = || match export.inner.is_read_only(&CX)? {
        // The file system may have failed to write its journal.
        true => Err(Error::ReadOnly),
        false => export.inner.sync_all(&CX),
    };
    let first = flush();
    if let Err(error) = &first {
        if let Err(source) = flush() {
            export.lose();
            return Err(failure(export, source));
        }
        export.note_failure(error);
    }
    Ok(first)
}

fn failure(export: &LoggedExport, source: Error) -> WriteLogError {
    WriteLogError::Storage { export: export.name.clone(), source }
}

impl<'c> Comparison<'c> {
    fn new(sites: Vec<Site<'c>>) -> Result<Comparison<'c>, WriteLogError> {
        let (mut files, mut numbers, mut by_inode) = (Vec::new(), HashMap::new(), HashMap::new());
        for (at, site) in sites.iter().enumerate() {
            for (handle, planned) in &site.plan.files {
                let Some(inner) = site.found(handle) else { continue };
                let attributes = site.tried("look at a file", site.fs().attributes(&CX, &inner))?;
                let Some(now) = attributes.ok().filter(|now| now.kind == FileKind::Regular) else { continue };
                let number = *by_inode.entry((now.fsid, now.fileid)).or_insert_with(|| {
                    files.push(LoggedFile { size_bytes: now.size_bytes, ..LoggedFile::default() });
                    files.len() - 1
                });
                let file: &mut LoggedFile = &mut files[number];
                file.recorded = planned.modified().or(file.recorded);
                numbers.insert((at, *handle), number);
            }
        }
        Ok(Comparison { sites, files, numbers })
    }

    /// Calls `each` with the records that storage may lack, the number of their export, and the position behind them.
    fn each_record(
        &mut self,
        log: &Log,
        mut each: impl FnMut(&mut Self, usize, &Record<'_>, u64) -> Result<(), WriteLogError>,
    ) -> Result<(), WriteLogError> {
        each_record(log, |record, end| {
            let Some(at) = index(self.sites.iter().map(|site| site.export), record) else { return Ok(()) };
            if self.sites[at].plan.is_cancelled(end) { Ok(()) } else { each(self, at, record, end) }
        })
    }

    /// Notes which bytes a record has.
    fn note(&mut self, at: usize, record: &Record<'_>, end: u64) {
        let handle = match &record.change {
            Change::Write(Write { file, .. }) | Change::Resize(Resize { file, .. }) => file.0,
            Change::Set(set) => set.file.0,
            _ => return,
        };
        let Some(number) = self.numbers.get(&(at, handle)) else { return };
        let file = &mut self.files[*number];
        match &record.change {
            Change::Write(write) if data::is_needed(&self.sites[at], &handle, end) => {
                file.latest.add(range_of(write, record.payload), end);
            }
            Change::Resize(resize) => file.latest.announce_size(resize.size_bytes),
            Change::Set(_) => file.latest.set_size(),
            _ => {}
        }
    }

    fn compare(&mut self, pass: Pass, at: usize, record: &Record<'_>, end: u64) -> Result<(), WriteLogError> {
        let Change::Write(write) = &record.change else { return Ok(()) };
        let handle = write.file.0;
        if pass == Pass::Memory && self.sites[at].unmade.contains(&handle) {
            // It may be there, and cannot be looked at.
            return data::write(&mut self.sites[at], write, record.payload);
        }
        let Some(number) = self.numbers.get(&(at, handle)).copied() else { return Ok(()) };
        for range_bytes in self.files[number].latest.of(range_of(write, record.payload), end) {
            let [from, to] = [range_bytes.start, range_bytes.end].map(|byte| (byte - write.offset_bytes) as usize);
            let piece = Piece { at, handle, range_bytes, data: &record.payload[from..to] };
            let opened = self.open(&piece)?;
            match (opened, pass) {
                (None, _) => self.files[number].latest.remove(&piece.range_bytes),
                (Some(open), Pass::Memory) => self.compare_with_memory(number, &piece, &*open)?,
                (Some(open), Pass::Storage) => self.compare_with_storage(number, &piece, &*open)?,
            }
        }
        Ok(())
    }

    /// Opens the file of a piece. A piece whose file cannot be opened is set aside.
    fn open(&mut self, piece: &Piece<'_>) -> Result<Option<Arc<dyn OpenFile>>, WriteLogError> {
        let site = &mut self.sites[piece.at];
        let Some(inner) = site.found(&piece.handle) else { return Ok(None) };
        let opened = site.open(&piece.handle, &inner, OpenMode::Read);
        site.unless_refused(piece.unmade(), opened)
    }

    fn compare_with_memory(
        &mut self,
        number: usize,
        piece: &Piece<'_>,
        open: &dyn OpenFile,
    ) -> Result<(), WriteLogError> {
        let (site, file) = (&mut self.sites[piece.at], &mut self.files[number]);
        site.replayed.checked_bytes += piece.data.len() as u64;
        if file.seen.is_none() {
            file.seen = Some(modified(site, open)?);
        }
        let shown = read(site, open, piece)?;
        if shown == piece.data {
            return Ok(());
        }
        file.latest.remove(&piece.range_bytes);
        if file.recorded != Some(modified(site, open)?.into()) {
            return site.set_aside(piece.unmade(), &Reason::LaterChange);
        }
        // A program may have written them before the last record.
        if shown.iter().any(|byte| *byte != 0) {
            site.set_aside(Unmade::replaced(piece.handle, piece.range_bytes.start, &shown), &Reason::Replaced)?;
        }
        write_again(site, piece, open)
    }

    fn compare_with_storage(
        &mut self,
        number: usize,
        piece: &Piece<'_>,
        open: &dyn OpenFile,
    ) -> Result<(), WriteLogError> {
        let (site, file) = (&mut self.sites[piece.at], &mut self.files[number]);
        let evict = || file.latest.ranges().into_iter().all(|range_bytes| open.evict(range_bytes));
        let is_evicted = *file.is_evicted.get_or_insert_with(evict);
        let has_data = read(site, open, piece)? == piece.data;
        if has_data && is_evicted {
            return Ok(());
        }
        if has_data || file.seen == Some(modified(site, open)?) {
            return write_again(site, piece, open);
        }
        site.set_aside(piece.unmade(), &Reason::LaterChange)
    }

    /// Flushes what was written again.
    fn end(self, state_file: &StateFile) -> Result<Vec<Replayed>, WriteLogError> {
        for site in &self.sites {
            if site.replayed.data_bytes > 0 {
                flush(site.export)?.map_err(|source| failure(site.export, source))?;
            }
        }
        super::end(self.sites, state_file)
    }
}

impl Piece<'_> {
    fn unmade(&self) -> Unmade<'_> {
        Unmade::write(self.handle, self.range_bytes.start, self.data)
    }
}

fn modified(site: &Site<'_>, open: &dyn OpenFile) -> Result<Timestamp, WriteLogError> {
    let attributes = open.attributes(&CX).map_err(|source| site.error("look at a file", source))?;
    Ok(attributes.modified)
}

/// The bytes that a file has in the place of a piece.
fn read(site: &Site<'_>, open: &dyn OpenFile, piece: &Piece<'_>) -> Result<Vec<u8>, WriteLogError> {
    let mut bytes = vec![0; piece.data.len()];
    let read = open.read_at(&CX, piece.range_bytes.start, &mut bytes);
    let count = read.map_err(|source| {
        let replay = site.export.log_site().replay();
        site.error(&format!("read a file ({replay} writes without reading)"), source)
    })?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Writes bytes again, and keeps the file's time of modification.
fn write_again(site: &mut Site<'_>, piece: &Piece<'_>, open: &dyn OpenFile) -> Result<(), WriteLogError> {
    let (modified, written) = (modified(site, open)?, site.replayed.data_bytes);
    // As root, so that the file keeps its set-id bits: they are in memory.
    let write = Write { file: FileId(piece.handle), offset_bytes: piece.range_bytes.start, by_root: true };
    data::write(site, &write, piece.data)?;
    let Some(inner) = site.found(&piece.handle).filter(|_| site.replayed.data_bytes > written) else { return Ok(()) };
    let set = SetAttributes { modified: Some(SetTime::To(modified)), ..SetAttributes::default() };
    let done = site.fs().set_attributes(&CX, &inner, &set);
    let change = format!("set the time of modification to {}", RecordTime::from(modified));
    site.unless_refused(Unmade { change, file: Some(piece.handle), ..Unmade::default() }, done).map(drop)
}
