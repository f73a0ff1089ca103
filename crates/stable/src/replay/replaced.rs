//! Bytes that local programs have written over those of the log. The log's data take their place, because clients were
//! told that these are stable. The others are set aside.

use std::collections::HashMap;

use vfs::{FileKind, Handle, OpenMode};

use super::data::{is_needed, within_size};
use super::latest::{LatestData, range_of};
use super::set_aside::{Reason, Unmade};
use super::site::Site;
use super::{CX, each_record, index};
use crate::error::WriteLogError;
use crate::log::Log;
use crate::record::{Change, Record, RecordTime, Write};

/// Files that local programs have written after the log's last record of their content, with the log's latest data.
pub(super) type Written = HashMap<(usize, Handle), LatestData>;

/// Finds these files, before the plans get what storage has.
pub(super) fn find(sites: &[Site<'_>]) -> Written {
    let files = |(at, site)| {
        let site: &Site<'_> = site;
        let written = site.plan.files.keys().filter(|file| is_written_later(site, file));
        written.map(move |file| ((at, *file), LatestData::default()))
    };
    sites.iter().enumerate().flat_map(files).collect()
}

/// Sets aside what local programs have written where the log has data, before these are written.
pub(super) fn set_aside(log: &Log, sites: &mut [Site<'_>], mut written: Written) -> Result<(), WriteLogError> {
    if written.is_empty() {
        return Ok(());
    }
    each_write(log, sites, |_, key, (write, data), end| {
        if let Some(latest) = written.get_mut(&key) {
            latest.add(range_of(write, data), end);
        }
        Ok(())
    })?;
    each_write(log, sites, |site, key, (write, data), end| {
        let Some(latest) = written.get(&key) else { return Ok(()) };
        for range_bytes in latest.of(range_of(write, data), end) {
            let [from, to] = [range_bytes.start, range_bytes.end].map(|byte| (byte - write.offset_bytes) as usize);
            compare(site, &key.1, range_bytes.start, &data[from..to])?;
        }
        Ok(())
    })
}

fn is_written_later(site: &Site<'_>, file: &Handle) -> bool {
    let (Some(before), Some(planned)) = (site.before(file), site.plan.files.get(file)) else { return false };
    let is_later = |recorded| recorded < RecordTime::from(before.modified);
    before.kind == FileKind::Regular && !site.made.contains(file) && planned.content_changed().is_some_and(is_later)
}

/// Calls `each` with the writes that are made again, and what of them is.
fn each_write(
    log: &Log,
    sites: &mut [Site<'_>],
    mut each: impl FnMut(&mut Site<'_>, (usize, Handle), (&Write, &[u8]), u64) -> Result<(), WriteLogError>,
) -> Result<(), WriteLogError> {
    each_record(log, |record: &Record<'_>, end| {
        let Change::Write(write) = &record.change else { return Ok(()) };
        let Some(at) = index(sites.iter().map(|site| site.export), record) else { return Ok(()) };
        let site = &mut sites[at];
        if site.plan.is_cancelled(end) || !is_needed(site, &write.file.0, end) {
            return Ok(());
        }
        let data = within_size(site, write, record.payload, end);
        each(site, (at, write.file.0), (write, data), end)
    })
}

/// Sets a file's bytes aside if they are others than these, and no zeros.
fn compare(site: &mut Site<'_>, file: &Handle, offset_bytes: u64, data: &[u8]) -> Result<(), WriteLogError> {
    let Some(inner) = site.found(file) else { return Ok(()) };
    let mut shown = vec![0; data.len()];
    let read = site.open(file, &inner, OpenMode::Read).and_then(|open| open.read_at(&CX, offset_bytes, &mut shown));
    // What cannot be read cannot be kept.
    shown.truncate(read.unwrap_or(0));
    if data.starts_with(&shown) || shown.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    site.set_aside(Unmade::replaced(*file, offset_bytes, &shown), &Reason::Replaced)
}
