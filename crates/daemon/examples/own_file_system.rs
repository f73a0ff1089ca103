//! Serves a file system of one's own: a directory with one file that tells the time. Run it, then
//! `nfs-cat 'nfs://127.0.0.1/clock/now?nfsport=20049&mountport=20049'`.
use std::{ops::ControlFlow, sync::Arc, time::SystemTime};
use vfs::*;

struct Clock;
const ROOT: u64 = 1;
const FILE: u64 = 2;

fn text() -> String {
    format!("{:>12} seconds since 1970\n", Timestamp::from(SystemTime::now()).seconds)
}

fn describe(id: u64) -> Result<Entry> {
    let now = SystemTime::now().into();
    let attributes = match id {
        ROOT => Attributes::new(FileKind::Directory, ROOT),
        FILE => Attributes { size_bytes: text().len() as u64, ..Attributes::new(FileKind::Regular, FILE) },
        _ => return Err(Error::Stale),
    };
    Ok(Entry { handle: Handle::from_u64(id), attributes: Attributes { modified: now, changed: now, ..attributes } })
}

impl FileSystem for Clock {
    fn root(&self) -> Handle {
        Handle::from_u64(ROOT)
    }
    fn attributes(&self, _: &Context<'_>, node: &Handle) -> Result<Attributes> {
        Ok(describe(node.to_u64().ok_or(Error::BadHandle)?)?.attributes)
    }
    fn lookup(&self, _: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        if place.name.as_bytes() == b"now" { describe(FILE) } else { Err(Error::NoEntry) }
    }
    fn parent(&self, _: &Context<'_>, _: &Handle) -> Result<Entry> {
        describe(ROOT)
    }
    fn open(&self, _: &Context<'_>, _: &Handle, _: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(Clock))
    }
    fn read_dir(&self, _: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        let now = DirEntry {
            name: b"now",
            fileid: FILE,
            cookie: 1,
            kind: Some(FileKind::Regular),
            entry: Some(describe(FILE)?),
        };
        let is_full = list.after == 0 && each(now) == ControlFlow::Break(());
        Ok(if is_full { Listing::Stopped } else { Listing::Complete })
    }
}

impl OpenFile for Clock {
    fn read_at(&self, _: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let text = text();
        let rest = text.as_bytes().get(offset_bytes as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
    fn attributes(&self, _: &Context<'_>) -> Result<Attributes> {
        Ok(describe(FILE)?.attributes)
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let options = daemon::Options { listen: vec!["127.0.0.1:20049".parse()?], ..Default::default() };
    daemon::Daemon::start(options, vec![daemon::export_to_this_machine("/clock", Arc::new(Clock))])?.wait();
    Ok(())
}
