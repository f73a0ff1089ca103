//! COPY within this server (RFC 7862 §15.2): from the saved file to the current one, possibly between exports.
//!
//! A long copy is asynchronous if the client allows it and can be called back. Any other is synchronous and may be
//! short, so that the client requests the rest. In both cases bytes are copied in order.

use proto::nfs4::{CopyArgs, CopyOk, CopyRequirements, StableHow, Stateid, Verifier, WriteResponse};
use vfs::{CopyRange, Error, Stability};

use super::compound::Compound;
use super::copies::CopyOrigin;
use super::copy_from_server;
use super::copy_job::{begun, can_go_on, new_job};
use super::failure::OpResult;
use super::source::{CopyPair, Side, copy_file, source_stateid};
use crate::transfer;

/// The most bytes of one COPY on a thread that may block: the client sees progress, and its slot is soon free.
const MAX_BYTES: u64 = 64 << 20;

/// The most bytes of one COPY on an event loop, which others wait for.
const MAX_LOOP_BYTES: u64 = 1 << 20;

/// The smallest asynchronous copy, in bytes: for less, a callback costs more than the copy.
const MIN_BACKGROUND_BYTES: u64 = 16 << 20;

/// The bytes to copy at a time through memory, where the file system cannot copy by itself.
const STEP_BYTES: usize = 256 << 10;

/// The most file system calls of one COPY, since each may copy any number of bytes.
const MAX_STEPS: usize = 4096;

pub(super) fn copy(compound: &mut Compound<'_>, args: &CopyArgs<'_>) -> OpResult<CopyOk> {
    if !args.source_servers.is_empty() {
        return copy_from_server::copy(compound, args);
    }
    let pair = CopyPair::open(compound, &args.source_stateid, &args.destination_stateid)?;
    let verifier = pair.destination.write_verifier();
    let range = pair.range(args.source_offset, args.destination_offset, args.count)?;
    if !args.requirements.synchronous
        && range.length_bytes >= MIN_BACKGROUND_BYTES
        && let Some(stateid) = begin(compound, args, &pair, range, verifier)?
    {
        return Ok(begun(stateid, verifier));
    }
    let max_bytes = if pair.destination.context.may_block { MAX_BYTES } else { MAX_LOOP_BYTES };
    let length_bytes = range.length_bytes.min(max_bytes);
    let count = pair.copy(CopyRange { length_bytes, ..range })?;
    Ok(CopyOk {
        response: WriteResponse { callback_id: None, count, committed: StableHow::Unstable, verifier },
        requirements: CopyRequirements { consecutive: true, synchronous: true },
    })
}

/// Begins an asynchronous copy, if there is room for it and the client can be called back.
fn begin(
    compound: &Compound<'_>,
    args: &CopyArgs<'_>,
    pair: &CopyPair<'_>,
    range: CopyRange,
    verifier: Verifier,
) -> OpResult<Option<Stateid>> {
    if !can_go_on(compound)? {
        return Ok(None);
    }
    let source = copy_file(&pair.source, source_stateid(compound, &args.source_stateid)?);
    let destination = Side { node: pair.destination, stateid: compound.stateid(&args.destination_stateid)? };
    let new = new_job(compound, CopyOrigin::Here(source), &destination, range, verifier)?;
    Ok(compound.cx.server.copies.add(new).ok())
}

impl CopyPair<'_> {
    /// Copies until everything is done or the source ends. Bytes copied before an error count as success; the next
    /// attempt gets the error again.
    pub(super) fn copy(&self, range: CopyRange) -> vfs::Result<u64> {
        let (mut done, mut by_itself) = (0, true);
        for _ in 0..MAX_STEPS {
            let rest = CopyRange {
                from_bytes: range.from_bytes + done,
                to_bytes: range.to_bytes + done,
                length_bytes: range.length_bytes - done,
            };
            if rest.length_bytes == 0 {
                break;
            }
            let copied = match by_itself {
                true => self.to.copy_range(&self.destination.context, &*self.from, rest),
                false => self.through_memory(rest),
            };
            match copied {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Error::NotSupported | Error::CrossDevice | Error::Invalid) if by_itself => by_itself = false,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    fn through_memory(&self, range: CopyRange) -> vfs::Result<u64> {
        let mut bytes = vec![0; STEP_BYTES.min(usize::try_from(range.length_bytes).unwrap_or(STEP_BYTES))];
        let count = transfer::read_at(&self.source, &*self.from, range.from_bytes, &mut bytes)?;
        if count == 0 {
            return Ok(0);
        }
        let data = &bytes[..count];
        let written = transfer::write_at(&self.destination, &*self.to, range.to_bytes, data, Stability::Unstable)?;
        Ok(written.count as u64)
    }
}
