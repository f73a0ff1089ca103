//! Replays the log after a power failure.
//!
//! The file system may have kept any of the changes: names up to some moment, and any of the data. So nothing is simply
//! repeated. Instead, the log tells the final state (`plan.rs`): the names of each file, its data and attributes.
//!
//! - Files that are known by their handles are moved to their names (`names.rs`).
//! - Lost files are recreated (`lost.rs`).
//! - Data and attributes are set in the order of the log (`data.rs`), over all exports: a file may have names in
//!   several (`shared.rs`).
//!
//! A replay may be interrupted anywhere and repeated: recreated files have temporary names until their handles are
//! stored, and the log is trimmed when everything is in storage. Changes by others that the log does not know stay:
//! attributes and sizes that storage has with a later ctime are not set again (`sizes.rs`).
//!
//! A change that the file system refuses is set aside, and the others are made (`set_aside.rs`). Only failing storage
//! ends a replay.
//!
//! While the machine's memory has the changes, only data can be lost, which are compared with the log (`losses.rs`).

mod data;
mod latest;
mod losses;
mod lost;
mod names;
mod paths;
mod plan;
mod replaced;
mod set_aside;
mod set_id;
mod shared;
mod site;
mod sizes;
mod tickets;

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use vfs::Context;

use crate::error::WriteLogError;
use crate::layer::LoggedExport;
use crate::log::Log;
use crate::owner::OwnedExport;
use crate::record::Record;
use crate::state_file::StateFile;
use plan::Plan;
use site::Site;
pub use tickets::MadeChange;
pub(crate) use tickets::Tickets;

/// Replay acts as root.
const CX: Context<'static> = Context::ROOT;

/// What was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replayed {
    /// How many records the log had of the export.
    pub records: u64,
    /// Whether names, data and attributes were compared with them. If the machine's memory still has the changes, only
    /// data are.
    pub compared: bool,
    /// Bytes of logged data that were compared with storage, if only data were.
    pub checked_bytes: u64,
    /// Recreated files.
    pub made: u64,
    /// Corrected names.
    pub names: u64,
    /// Rewritten bytes of data.
    pub data_bytes: u64,
    /// Changes that the file system refuses, or whose name or file another program has changed since: they are in the
    /// file `write-log-set-aside` of the state directory.
    pub set_aside: u64,
}

/// How many records a log has, by the numbers of their exports.
#[derive(Default)]
pub(crate) struct Counts(HashMap<u32, u64>);

impl Counts {
    /// Reads the log once.
    pub(crate) fn read(log: &Log) -> Result<Counts, WriteLogError> {
        let mut counts = HashMap::new();
        each_record(log, |record, _| {
            *counts.entry(record.export).or_default() += 1;
            Ok(())
        })?;
        Ok(Counts(counts))
    }

    /// The records of an export.
    pub(crate) fn of(&self, export: u32) -> u64 {
        self.0.get(&export).copied().unwrap_or_default()
    }

    /// The records of all exports but these.
    pub(crate) fn of_others(&self, exports: &[OwnedExport]) -> u64 {
        let is_other = |number: &u32| exports.iter().all(|owned| owned.number != *number);
        self.0.iter().filter(|(number, _)| is_other(number)).map(|(_, records)| records).sum()
    }
}

/// Pauses before a replay is retried that lacked something temporarily, such as memory of the kernel.
const PAUSES_MS: [u64; 4] = [10, 50, 250, 1000];

/// Whether an earlier replay of the same records was interrupted. It has changed ctimes, which then do not tell what
/// storage had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// None has begun.
    Absent,
    Interrupted,
}

/// Replays the changes of exports, in the order of the log.
pub(crate) fn run(
    log: &Log,
    exports: &[&LoggedExport],
    state_file: &StateFile,
    (tickets, earlier): (&mut Tickets, Earlier),
) -> Result<Vec<Replayed>, WriteLogError> {
    // Storage may still have to report a failure from before its repair. What it lost then is replayed now.
    exports.iter().try_for_each(|export| losses::flush(export).map(drop))?;
    let before = tickets.clone();
    with_pauses(|| {
        tickets.clone_from(&before);
        run_once(log, exports, state_file, (tickets, earlier))
    })
}

/// Flushes exports whose changes the machine's memory still has, and writes data again that storage has lost.
pub(crate) fn repair(
    log: &Log,
    exports: &[&LoggedExport],
    state_file: &StateFile,
) -> Result<Vec<Replayed>, WriteLogError> {
    with_pauses(|| losses::repair(log, exports, state_file))
}

fn with_pauses<T>(mut replay: impl FnMut() -> Result<T, WriteLogError>) -> Result<T, WriteLogError> {
    for pause in PAUSES_MS.map(Duration::from_millis) {
        match replay() {
            Err(WriteLogError::Replay { source: vfs::Error::TryLater(error), action, .. }) => {
                tracing::warn!(%error, %action, ?pause, "the replay of the write log begins again after a pause");
            }
            ended => return ended,
        }
        thread::sleep(pause);
    }
    replay()
}

fn run_once(
    log: &Log,
    exports: &[&LoggedExport],
    state_file: &StateFile,
    (tickets, earlier): (&mut Tickets, Earlier),
) -> Result<Vec<Replayed>, WriteLogError> {
    let mut sites = sites(log, exports, state_file, tickets)?;
    sites.iter_mut().for_each(|site| site.replayed.compared = true);
    sites.iter_mut().try_for_each(names::put_right)?;
    shared::merge(&mut sites)?;
    if earlier == Earlier::Absent {
        let written = replaced::find(&sites);
        sites.iter_mut().for_each(Site::note_stored);
        replaced::set_aside(log, &mut sites, written)?;
    }
    sites.iter_mut().try_for_each(data::give_sizes)?;
    each_record(log, |record, end| {
        index(exports.iter().copied(), record).map_or(Ok(()), |at| data::apply(&mut sites[at], record, end))
    })?;
    sites.iter_mut().try_for_each(data::finish)?;
    for site in &sites {
        site.fs().sync_all(&CX).map_err(|source| site.error("bring everything to storage", source))?;
        // Only now are the removed files gone for good.
        lost::reserve(site)?;
    }
    end(sites, state_file)
}

/// Which of the exports a record is of.
fn index<'e>(exports: impl IntoIterator<Item = &'e LoggedExport>, record: &Record<'_>) -> Option<usize> {
    exports.into_iter().position(|export| export.number == record.export)
}

/// Reads the log, and plans the final state of each export.
fn sites<'s>(
    log: &Log,
    exports: &[&'s LoggedExport],
    state_file: &'s StateFile,
    tickets: &mut Tickets,
) -> Result<Vec<Site<'s>>, WriteLogError> {
    let mut plans: Vec<Plan> = exports.iter().map(|_| Plan::default()).collect();
    each_record(log, |record, _| {
        index(exports.iter().copied(), record).into_iter().for_each(|at| plans[at].note_cancelled(record));
        Ok(())
    })?;
    each_record(log, |record, end| {
        if let Some(plan) = index(exports.iter().copied(), record).map(|at| &mut plans[at]) {
            if !plan.is_cancelled(end) {
                tickets.add(record);
            }
            plan.add(record, end);
        }
        Ok(())
    })?;
    Ok(exports.iter().copied().zip(plans).map(|(export, plan)| Site::new(export, state_file, plan)).collect())
}

/// Flushes what was set aside, before the log's records are dropped.
fn end(sites: Vec<Site<'_>>, state_file: &StateFile) -> Result<Vec<Replayed>, WriteLogError> {
    let replayed: Vec<Replayed> = sites.into_iter().map(|site| site.replayed).collect();
    if replayed.iter().any(|replayed| replayed.set_aside > 0) {
        state_file.sync_set_aside()?;
    }
    Ok(replayed)
}

/// Calls `each` with every record, and the position behind it.
fn each_record(
    log: &Log,
    mut each: impl FnMut(&Record<'_>, u64) -> Result<(), WriteLogError>,
) -> Result<(), WriteLogError> {
    for kept in log.records() {
        let (end, bytes) = kept?;
        let record = Record::read(&bytes).map_err(|source| WriteLogError::Record { source })?;
        each(&record, end.bytes())?;
    }
    Ok(())
}
