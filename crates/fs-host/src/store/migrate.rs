//! Beginning a store: empty, or with the numbers of the log that earlier servers kept.

use std::hash::{BuildHasher, RandomState};
use std::io;

use own_files::OwnDir;

use crate::store::error::StoreError;
use crate::store::old_log::{OldLog, OldLogLine, Summary};
use crate::store::record::{ROOT_ID, StoredFile};
use crate::store::slots::{SlotTable, SlotTableHeader, Span, numbers_name};

/// What the log of earlier servers was called, beside the table.
const OLD_EXTENSION: &str = "handles";

/// The upper bits of numbers that a new table does not begin with, so that numbers never run out.
const UNUSED_BITS: u32 = 2;

/// How many slots are put into the table at once.
const BATCH_SLOTS: usize = 8192;

/// Makes the table. It gets its name when it is whole, and only then the log is removed.
pub(crate) fn begin(dir: &OwnDir, stem: &str, export: &[u8]) -> Result<SlotTable, StoreError> {
    let (name, draft, old) = (numbers_name(stem), format!("{stem}.new"), format!("{stem}.{OLD_EXTENSION}"));
    let Some(log) = OldLog::open(dir, &old)? else {
        let first_number = random_number(export);
        let mut slots = SlotTable::create(dir, &draft, header(export, vec![Span { first_number, first_slot: 0 }]))?;
        slots.sync(first_number)?;
        dir.rename(&draft, &name)?;
        return Ok(slots);
    };
    let summary = log.summary()?;
    if let Some(owner) = summary.export.as_deref().filter(|owner| *owner != export) {
        return Err(StoreError::Foreign(owner.escape_ascii().to_string()));
    }
    let mut slots = SlotTable::create(dir, &draft, header(export, summary.spans()))?;
    let records = take_over(&log, &summary, &mut slots)?;
    dir.rename(&draft, &name)?;
    dir.remove(&old)?;
    let (damaged_bytes, path) = (summary.damaged_bytes(), dir.path().join(name));
    tracing::info!(path = %path.display(), records, damaged_bytes, "took the file handles of an earlier version over");
    Ok(slots)
}

fn header(export: &[u8], spans: Vec<Span>) -> SlotTableHeader {
    SlotTableHeader { serial: RandomState::new().hash_one(export), export: export.to_vec(), spans }
}

/// Where the numbers of a new table begin. Another table may have been lost, and clients still have its numbers: they
/// must not lead to other files.
fn random_number(export: &[u8]) -> u64 {
    let number = RandomState::new().hash_one(export) >> UNUSED_BITS;
    number.max(ROOT_ID + 1)
}

/// Later lines replace earlier ones.
fn take_over(log: &OldLog, summary: &Summary, slots: &mut SlotTable) -> io::Result<u64> {
    let (mut next, mut records) = (summary.next(), 0);
    log.read(|line| {
        match line {
            OldLogLine::Node(record) => {
                put(slots, &record, &mut next);
                records += 1;
            }
            OldLogLine::Gone(id) => slots.clear(id, 1),
            OldLogLine::Export(_) | OldLogLine::Reserved(_) => {}
        }
        if slots.pending() >= BATCH_SLOTS { slots.flush(next) } else { Ok(()) }
    })?;
    slots.close(next)?;
    Ok(records)
}

fn put(slots: &mut SlotTable, record: &StoredFile, next: &mut u64) {
    let made = record.slots(*next);
    slots.write(*next, &made[1..]);
    slots.write(record.id, &made[..1]);
    *next += made.len() as u64 - 1;
}
