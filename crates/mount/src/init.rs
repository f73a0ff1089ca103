//! INIT, the first request: negotiates capabilities.

use std::path::Path;

use rustix::io::Errno;

use crate::abi::{self, init, opcode};
use crate::arguments::Request;
use crate::device::Received;
use crate::error::MountError;
use crate::output::Output;
use crate::session::Session;

/// How many background requests, such as read-ahead, the kernel sends at once.
const MAX_BACKGROUND: u16 = 64;
/// The number from which on the kernel treats the mount as congested.
const CONGESTED: u16 = 48;
const PAGE_BYTES: usize = 4096;
const MAX_PAGES: usize = abi::MAX_DATA_BYTES / PAGE_BYTES;
/// Not among them: `ATOMIC_O_TRUNC`, with which the kernel has a file cut by OPEN before it finds out that the file is
/// being executed.
const WANTED: u64 = init::ASYNC_READ
    | init::POSIX_LOCKS
    | init::FLOCK_LOCKS
    | init::BIG_WRITES
    | init::ASYNC_DIO
    | init::PARALLEL_DIROPS
    | init::HANDLE_KILLPRIV
    | init::HANDLE_KILLPRIV_V2
    | init::MAX_PAGES
    | init::CACHE_SYMLINKS
    | init::INIT_EXT
    | init::DIRECT_IO_ALLOW_MMAP;

/// What the kernel supports.
pub(crate) struct Offer {
    minor: u32,
    max_readahead: u32,
    flags: u64,
}

/// Receives the first request and answers it.
///
/// # Errors
/// The kernel is too old, or the mount has ended already.
pub(crate) fn negotiate(session: &Session, dir: &Path) -> Result<(), MountError> {
    let mut input = vec![0; abi::MAX_DATA_BYTES + abi::REQUEST_HEAD_BYTES];
    let ended = || MountError::Ended(dir.to_owned());
    loop {
        let Received::Request(count) = session.device.receive(&mut input) else { return Err(ended()) };
        let Some(request) = Request::parse(&input[..count]) else { continue };
        if request.opcode == opcode::INIT {
            let offer = accept(&request).inspect_err(|_| {
                session.send_error(request.unique, Errno::PROTO);
            })?;
            let mut output = Output::new();
            reply(session, &offer, &mut output);
            return session.device.send(&output.message(request.unique)).map_err(|_| ended());
        }
        session.send_error(request.unique, Errno::AGAIN);
    }
}

pub(crate) fn accept(request: &Request<'_>) -> Result<Offer, MountError> {
    let mut arguments = request.arguments;
    let mut word = || arguments.u32().unwrap_or(0);
    let (major, minor, max_readahead, low) = (word(), word(), word(), word());
    if major != abi::MAJOR || minor < abi::OLDEST_MINOR {
        return Err(MountError::OldKernel { major, minor });
    }
    let low = u64::from(low);
    let high = if low & init::INIT_EXT == 0 { 0 } else { u64::from(word()) };
    Ok(Offer { minor, max_readahead, flags: high << 32 | low })
}

/// The capabilities for this mount.
fn wanted(session: &Session) -> u64 {
    // With write-back, the kernel knows a file's times better than the file system.
    let cache = if session.options.is_writeback { init::WRITEBACK_CACHE } else { init::AUTO_INVAL_DATA };
    let listings = if session.options.lists_files { init::DO_READDIRPLUS | init::READDIRPLUS_AUTO } else { 0 };
    WANTED | cache | listings
}

fn reply(session: &Session, offer: &Offer, output: &mut Output) {
    let flags = offer.flags & wanted(session);
    output.u32(abi::MAJOR);
    output.u32(offer.minor.min(abi::MINOR));
    output.u32(offer.max_readahead);
    output.u32(flags as u32);
    output.u16(MAX_BACKGROUND);
    output.u16(CONGESTED);
    output.u32(abi::MAX_DATA_BYTES as u32);
    output.u32(session.properties.time_step_ns.clamp(1, 1_000_000_000));
    output.u16(MAX_PAGES as u16);
    output.u16(0);
    output.u32((flags >> 32) as u32);
    output.zeros(28);
}
