//! Runs adjacent WRITEs to one file as one (RFC 1813 §3.3.7).
//!
//! They have the same caller, credential and stability, so the checks of the first hold for all. Each gets the reply
//! that it would get if they had run one after the other within one clock tick.

use proto::Operation;
use proto::nfs3::{FileHandle, StableHow, Status, WccAttr, WccData, Write, WriteArgs, WriteOk};
use rpc::{OpaqueAuth, Procedure};
use state::AccessKind;
use vfs::{Attributes, Written};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::wcc::Wcc;
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::stable_how::{stability, stable_how};
use crate::transfer;

/// WRITE.
pub(crate) const PROCEDURE: Procedure =
    Procedure { program: Write::PROGRAM, version: Write::VERSION, number: Write::PROCEDURE };

/// The bytes of every WRITE call between XID and credential: CALL, RPC version 2, program, version 3, procedure 7.
const WRITE: [u8; 20] = [0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 7];

/// The offset of the credential, behind the XID and [`WRITE`].
const CREDENTIAL_AT: usize = 4 + WRITE.len();

/// The common parts of the replies to a run of WRITEs.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The number of WRITEs that were written completely, at least one.
    pub(crate) count: usize,
    first_wcc: WccData,
    /// The attributes before and after all WRITEs but the first: both equal the first one's after.
    further_wcc: WccData,
    committed: StableHow,
    verifier: [u8; 8],
}

/// The parts of a WRITE that decide whether another one continues it.
struct WriteRunKey<'a> {
    /// The bytes of credential, verifier and file.
    whose: &'a [u8],
    offset: u64,
    count: u32,
    stable: StableHow,
}

/// Whether a message is a WRITE that others may continue.
pub(crate) fn is_write(message: &[u8]) -> bool {
    message.get(4..CREDENTIAL_AT) == Some(&WRITE)
}

/// Whether the second WRITE continues the first: adjacent, and otherwise equal in caller, file and stability.
pub(crate) fn continues(previous: &[u8], next: &[u8]) -> bool {
    let (Some(previous), Some(next)) = (WriteRunKey::parse(previous), WriteRunKey::parse(next)) else { return false };
    previous.whose == next.whose
        && previous.stable == next.stable
        && previous.count > 0
        && previous.offset.checked_add(u64::from(previous.count)) == Some(next.offset)
}

/// The offset of a WRITE's data; the message may be incomplete.
pub(crate) fn data_at(message: &[u8]) -> Option<usize> {
    WriteRunKey::parse_start(message).map(|(_, data)| message.len() - data.len())
}

impl<'a> WriteRunKey<'a> {
    /// Parses a WRITE whose count matches its data; `None` for anything else.
    fn parse(message: &'a [u8]) -> Option<WriteRunKey<'a>> {
        let (head, data) = WriteRunKey::parse_start(message)?;
        (data.len() == xdr::padded(head.count as usize)).then_some(head)
    }

    /// Parses a WRITE up to its data, and returns the data that is there.
    fn parse_start(message: &'a [u8]) -> Option<(WriteRunKey<'a>, &'a [u8])> {
        if !is_write(message) {
            return None;
        }
        let mut from = Decoder::new(&message[CREDENTIAL_AT..]);
        let begin = from.rest();
        for _ in ["credential", "verifier"] {
            OpaqueAuth::decode(&mut from).ok()?;
        }
        FileHandle::decode(&mut from).ok()?;
        let whose = &begin[..begin.len() - from.rest().len()];
        let (offset, count) = (from.u64().ok()?, from.u32().ok()?);
        let stable = StableHow::decode(&mut from).ok()?;
        (from.u32() == Ok(count)).then_some((WriteRunKey { whose, offset, count, stable }, from.rest()))
    }
}

/// Writes `parts` at once: the data of adjacent WRITEs that differ from `first` in nothing else.
///
/// # Errors
/// When not even one WRITE was written completely, or one is longer than a write may be: each must then run by itself
/// to get its own result.
pub(crate) fn write(cx: &CallContext<'_>, first: &WriteArgs<'_>, parts: &[&[u8]]) -> Result<Gathered, Fault> {
    if parts.iter().any(|part| part.len() > transfer::max_bytes(cx) as usize) {
        return Err(vfs::Error::Invalid.into());
    }
    let node = cx.node(first.file.as_bytes())?;
    let wcc = Wcc::begin_write(&node, stability(first.stable))?;
    // The verifier is taken first. If it is renewed during the write, the client must not take the data as written
    // under the new one.
    let verifier = node.write_verifier();
    let (written, after) = write_parts(&node, &wcc, first, parts)?;
    let count = whole_parts(parts, written.count);
    if count == 0 {
        return Err(vfs::Error::Invalid.into());
    }
    let first_wcc = wcc.data_with(after);
    let unchanged = first_wcc.after.filter(|_| first_wcc.before.is_some());
    let before = unchanged.map(|after| WccAttr { size: after.size, modified: after.modified, changed: after.changed });
    let further_wcc = WccData { before, after: first_wcc.after };
    Ok(Gathered { count, first_wcc, further_wcc, committed: stable_how(written.stability), verifier })
}

fn write_parts(
    node: &Node<'_>,
    wcc: &Wcc<'_>,
    first: &WriteArgs<'_>,
    parts: &[&[u8]],
) -> Result<(Written, Option<Attributes>), Fault> {
    node.require_unreserved(AccessKind::Write)?;
    let file = transfer::open_for_write(node, &wcc.before()?)?;
    let written = transfer::write_parts_at(node, &*file, first.offset, parts, stability(first.stable))?;
    Ok((written, file.attributes(&node.context).ok()))
}

/// The number of `parts` that are completely within the first `written` bytes.
fn whole_parts(parts: &[&[u8]], written: usize) -> usize {
    let ends = parts.iter().scan(0, |end, part| {
        *end += part.len();
        Some(*end)
    });
    ends.take_while(|end| *end <= written).count()
}

impl Gathered {
    /// Appends the reply to the WRITE at `index` of the run, which wrote `count` bytes.
    pub(crate) fn encode(&self, index: usize, count: u32, to: &mut Encoder<'_>) {
        let file_wcc = if index == 0 { self.first_wcc } else { self.further_wcc };
        let ok = WriteOk { file_wcc, count, committed: self.committed, verifier: self.verifier };
        Status::Ok.encode(to);
        ok.encode(to);
    }
}

#[cfg(test)]
mod tests {
    use buffer::Buffer;
    use rpc::{AuthSys, Credential, Procedure, Xid};

    use super::*;

    fn call(uid: u32, file: &[u8], (offset, count): (u64, u32), stable: StableHow, data: &[u8]) -> Vec<u8> {
        let mut buffer = Buffer::new();
        let mut to = Encoder::new(&mut buffer);
        let procedure = Procedure { program: proto::nfs3::PROGRAM, version: 3, number: 7 };
        procedure.encode_call(Xid(offset as u32), &Credential::Sys(AuthSys::new(b"box", uid, 0, &[])), &mut to);
        WriteArgs { file: FileHandle::new(file).unwrap(), offset, count, stable, data }.encode(&mut to);
        buffer.as_slice().to_vec()
    }

    fn plain(offset: u64, data: &[u8]) -> Vec<u8> {
        call(0, b"file", (offset, data.len() as u32), StableHow::Unstable, data)
    }

    #[test]
    fn write_right_behind_another_one_continues_it() {
        assert!(continues(&plain(0, b"four"), &plain(4, b"five5")));
        assert!(continues(&plain(4, b"five5"), &plain(9, b"")));
    }

    #[test]
    fn gap_or_overlap_does_not_continue() {
        assert!(!continues(&plain(0, b"four"), &plain(5, b"gap")));
        assert!(!continues(&plain(0, b"four"), &plain(3, b"overlap")));
        assert!(!continues(&plain(u64::MAX - 1, b"four"), &plain(2, b"wrapped around")));
    }

    #[test]
    fn other_caller_file_or_stability_does_not_continue() {
        let first = plain(0, b"four");
        assert!(!continues(&first, &call(1, b"file", (4, 1), StableHow::Unstable, b"x")));
        assert!(!continues(&first, &call(0, b"else", (4, 1), StableHow::Unstable, b"x")));
        assert!(!continues(&first, &call(0, b"file", (4, 1), StableHow::FileSync, b"x")));
    }

    #[test]
    fn count_that_is_not_that_of_the_bytes_is_left_to_the_procedure() {
        let first = plain(0, b"four");
        assert!(!continues(&first, &call(0, b"file", (4, 2), StableHow::Unstable, b"x")));
        assert!(!continues(&call(0, b"file", (0, 5), StableHow::Unstable, b"four"), &plain(5, b"x")));
        assert!(!continues(&plain(0, b""), &plain(0, b"x")), "a WRITE of nothing");
    }

    #[test]
    fn bytes_cut_off_anywhere_are_no_write() {
        let (first, next) = (plain(0, b"four"), plain(4, b"more"));
        for length in 0..next.len() {
            assert!(!continues(&first, &next[..length]), "{length} bytes");
        }
    }

    #[test]
    fn parts_that_were_cut_do_not_count_as_written() {
        let parts: [&[u8]; 3] = [b"one", b"three", b"x"];
        let counts: Vec<usize> = [0, 2, 3, 7, 8, 9].map(|written| whole_parts(&parts, written)).to_vec();
        assert_eq!(counts, [0, 0, 1, 1, 2, 3]);
    }
}
