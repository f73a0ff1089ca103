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
//! stored, and the log is trimmed when everything is in storage. Changes by others that the log does not know stay.
//!
//! A change that the file system refuses is set aside, and the others are made (`set_aside.rs`). Only failing storage
//! ends a replay.

mod data;
mod lost;
mod names;
mod plan;
mod set_aside;
mod shared;
mod site;
mod tickets;

use std::thread;
use std::time::Duration;

use vfs::Context;

use crate::error::WriteLogError;
use crate::layer::LoggedExport;
use crate::log::Log;
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
    /// Whether the file system was compared with them. This is skipped if the machine's memory still has the changes.
    pub compared: bool,
    /// Recreated files.
    pub made: u64,
    /// Corrected names.
    pub names: u64,
    /// Rewritten bytes of data.
    pub data_bytes: u64,
    /// Names that were left alone because others have changed them.
    pub conflicts: u64,
    /// Changes that the file system refuses: they are in the file `write-log-set-aside` of the state directory.
    pub set_aside: u64,
}

/// How many records the log has of an export.
pub(crate) fn count(log: &Log, export: u32) -> Result<u64, WriteLogError> {
    let mut count = 0;
    each_record(log, |record, _| {
        count += u64::from(record.export == export);
        Ok(())
    })?;
    Ok(count)
}

/// Pauses before a replay is retried that lacked something temporarily, such as memory of the kernel.
const PAUSES_MS: [u64; 4] = [10, 50, 250, 1000];

/// Replays the changes of exports, in the order of the log.
pub(crate) fn run(
    log: &Log,
    exports: &[&LoggedExport],
    state_file: &StateFile,
    tickets: &mut Tickets,
) -> Result<Vec<Replayed>, WriteLogError> {
    let before = tickets.clone();
    for pause in PAUSES_MS.map(Duration::from_millis) {
        match run_once(log, exports, state_file, tickets) {
            Err(WriteLogError::Replay { source: vfs::Error::TryLater(error), action, .. }) => {
                tracing::warn!(%error, %action, ?pause, "the replay of the write log begins again after a pause");
            }
            ended => return ended,
        }
        tickets.clone_from(&before);
        thread::sleep(pause);
    }
    run_once(log, exports, state_file, tickets)
}

fn run_once(
    log: &Log,
    exports: &[&LoggedExport],
    state_file: &StateFile,
    tickets: &mut Tickets,
) -> Result<Vec<Replayed>, WriteLogError> {
    let index = |record: &Record<'_>| exports.iter().position(|export| export.number == record.export);
    let mut plans: Vec<Plan> = exports.iter().map(|_| Plan::default()).collect();
    each_record(log, |record, _| {
        index(record).into_iter().for_each(|at| plans[at].note_cancelled(record));
        Ok(())
    })?;
    each_record(log, |record, end| {
        if let Some(plan) = index(record).map(|at| &mut plans[at]) {
            if !plan.is_cancelled(end) {
                tickets.add(record);
            }
            plan.add(record, end);
        }
        Ok(())
    })?;
    let site = |(export, plan)| Site::new(export, state_file, plan);
    let mut sites: Vec<Site<'_>> = exports.iter().copied().zip(plans).map(site).collect();
    sites.iter_mut().try_for_each(names::put_right)?;
    shared::merge(&mut sites)?;
    sites.iter_mut().try_for_each(data::give_sizes)?;
    each_record(log, |record, end| index(record).map_or(Ok(()), |at| data::apply(&mut sites[at], record, end)))?;
    sites.iter_mut().try_for_each(data::finish)?;
    for site in &sites {
        site.fs().sync_all(&CX).map_err(|source| site.error("bring everything to storage", source))?;
        // Only now are the removed files gone for good.
        lost::reserve(site)?;
    }
    Ok(sites.into_iter().map(|site| site.replayed).collect())
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
