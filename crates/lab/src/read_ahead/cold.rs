//! A file on disk that is not in memory.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::Advice;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::data_file;

/// At how many places the file is looked at for being in memory.
const PROBES: u64 = 256;

/// How often, and after which time, it is tried to take the file out of memory.
const MAX_TRIES: u32 = 100;
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// Makes a file of `bytes` bytes that are on the disk.
pub(super) fn make(path: &Path, bytes: u64) -> io::Result<()> {
    data_file::make(path, bytes)?.sync_all()
}

/// Takes the file out of memory; says whether that worked. What a server still reads ahead of the last reader stays until it is read.
pub(super) fn drop_from_memory(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    for _ in 0..MAX_TRIES {
        if try_to_drop(&file)? {
            return Ok(true);
        }
        thread::sleep(TRY_AGAIN);
    }
    Ok(false)
}

fn try_to_drop(file: &File) -> io::Result<bool> {
    let forget = || rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    forget()?;
    // A probe that finds nothing brings in one page, and no more than that.
    rustix::fs::fadvise(file, 0, None, Advice::Random)?;
    let step = (file.metadata()?.len() / PROBES).max(1);
    for probe in 0..PROBES {
        if is_resident(file, probe * step)? {
            return Ok(false);
        }
    }
    forget()?;
    Ok(true)
}

fn is_resident(file: &File, offset_bytes: u64) -> io::Result<bool> {
    let mut byte = [0];
    match preadv2(file, &mut [IoSliceMut::new(&mut byte)], offset_bytes, ReadWriteFlags::NOWAIT) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        // A file system that never waits, such as one in memory.
        Err(Errno::OPNOTSUPP) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
