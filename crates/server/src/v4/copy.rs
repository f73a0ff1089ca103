//! COPY within this server (RFC 7862 §15.2): from the saved file to the current one, which may be of another export.
//!
//! A copy is always made at once and from the first byte to the last, whatever the client asked for: it may be told of
//! less than it asked for, and then asks for the rest.

use proto::nfs4::{CopyArgs, CopyOk, CopyRequirements, StableHow, Status, WriteResponse};
use vfs::{CopyRange, Error, Stability};

use super::compound::Compound;
use super::failure::Outcome;
use super::source::Pair;
use crate::transfer;

/// The most bytes of one COPY on a thread that may wait: a client sees progress, and a slot is not taken for long.
const MAX_BYTES: u64 = 64 << 20;

/// The most bytes of one COPY on an event loop, where others wait for it.
const MAX_LOOP_BYTES: u64 = 1 << 20;

/// How many bytes at a time go through memory where the file system does not copy by itself.
const STEP_BYTES: usize = 256 << 10;

/// The most calls of the file system for one COPY, since each of them may copy as little as it likes.
const MAX_STEPS: usize = 4096;

pub(super) fn copy(compound: &mut Compound<'_>, args: &CopyArgs<'_>) -> Outcome<CopyOk> {
    if !args.source_servers.is_empty() {
        return Err(Status::NotSupp.into());
    }
    let verifier = compound.cx.server.write_verifier();
    let pair = Pair::open(compound, &args.source_stateid, &args.destination_stateid)?;
    let range = pair.range(args.source_offset, args.destination_offset, args.count)?;
    let max_bytes = if pair.destination.context.may_block { MAX_BYTES } else { MAX_LOOP_BYTES };
    let length_bytes = range.length_bytes.min(max_bytes);
    let count = copy_all(&pair, CopyRange { length_bytes, ..range })?;
    Ok(CopyOk {
        response: WriteResponse { callback_id: None, count, committed: StableHow::Unstable, verifier },
        requirements: CopyRequirements { consecutive: true, synchronous: true },
    })
}

/// Copies until all is done or the source ends. What was copied before a failure counts: the next COPY meets it again.
fn copy_all(pair: &Pair<'_>, range: CopyRange) -> vfs::Result<u64> {
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
            true => pair.to.copy_range(&pair.destination.context, &*pair.from, rest),
            false => through_memory(pair, rest),
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

fn through_memory(pair: &Pair<'_>, range: CopyRange) -> vfs::Result<u64> {
    let mut bytes = vec![0; STEP_BYTES.min(usize::try_from(range.length_bytes).unwrap_or(STEP_BYTES))];
    let count = transfer::read_at(&pair.source, &*pair.from, range.from_bytes, &mut bytes)?;
    if count == 0 {
        return Ok(0);
    }
    let data = (&bytes[..count], Stability::Unstable);
    Ok(transfer::write_at(&pair.destination, &*pair.to, range.to_bytes, data)?.count as u64)
}
