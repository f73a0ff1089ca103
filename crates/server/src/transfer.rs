//! The common part of READ and WRITE in all versions: open files, permissions and sizes.

use std::io;
use std::sync::Arc;

use buffer::Output;
use peer::Transport;
use vfs::{Access, Attributes, Context, Error, FileKind, HostFile, OpenFile, OpenMode, Stability, Written, permission};

use xdr::Encoder;

use crate::fault::Fault;
use crate::node::{CallContext, Node};

/// The most data of one READ or WRITE over UDP, in bytes: with headers it fits into a datagram of 64 KiB.
const MAX_UDP_BYTES: u32 = 32 << 10;

/// The most data of one reply to a client that has used up its share of memory, in bytes: the most of NFSv2.
const SCARCE_REPLY_BYTES: u32 = 8 << 10;

/// The most bytes in an output before the data of its first reply: the record mark and the headers.
const HEADS_BYTES: usize = 256;

/// The divisor of `sendfile_bytes` for the first reply of an output.
const FIRST_PIECE_SHARE: u32 = 3;

/// The most data of one READ or WRITE of this call, in bytes.
pub(crate) fn max_bytes(cx: &CallContext<'_>) -> u32 {
    match cx.request.peer.transport {
        Transport::Tcp => cx.server.settings.max_transfer_bytes,
        Transport::Udp => cx.server.settings.max_transfer_bytes.min(MAX_UDP_BYTES),
    }
}

/// The part of the data that one WRITE of this call writes. A client that sends more than it was told learns that the
/// write was short (RFC 1813 §3.3.7, RFC 8881 §18.32.3).
pub(crate) fn writable<'d>(cx: &CallContext<'_>, data: &'d [u8]) -> &'d [u8] {
    &data[..data.len().min(max_bytes(cx) as usize)]
}

/// The most data or entries of one reply, in bytes: little when the client has used up its share of memory. Every
/// version allows a server to return less than requested (RFC 1813 §3.3.6, §3.3.16; RFC 8881 §18.22.3, §18.23.3).
pub(crate) fn max_reply_bytes(cx: &CallContext<'_>) -> u32 {
    let max_bytes = max_bytes(cx);
    if cx.request.is_scarce { max_bytes.min(SCARCE_REPLY_BYTES) } else { max_bytes }
}

/// A file that the caller may read, and its attributes at that check.
pub(crate) struct Readable {
    pub(crate) file: Arc<dyn OpenFile>,
    pub(crate) attributes: Attributes,
}

/// Opens a file for reading. The caller's permission is checked again, even if the file is already open.
pub(crate) fn open_for_read(node: &Node<'_>) -> Result<Readable, Fault> {
    let (file, attributes) = node.open_to_read()?;
    do_not_keep_nameless(node, &attributes);
    require_readable(node, &attributes)?;
    Ok(Readable { file, attributes })
}

/// Evicts a file without a name: it is used as long as a client has state in it, and the cache must not keep its space
/// longer. One that only the cache keeps stays, since its users are those of NFSv2 and NFSv3.
fn do_not_keep_nameless(node: &Node<'_>, attributes: &Attributes) {
    if attributes.links == 0 && node.is_held() {
        node.evict_open_files();
    }
}

/// Execute permission is enough to read a file, since running a program reads it and the server cannot distinguish the
/// two (RFC 1813 §4.4).
fn require_readable(node: &Node<'_>, attributes: &Attributes) -> vfs::Result<()> {
    if permission::is_owner(attributes, &node.context.caller) {
        return Ok(());
    }
    let granted = node.fs().access(&node.context, &node.handle, attributes, Access::READ | Access::EXECUTE)?;
    if granted == Access::NONE { Err(Error::AccessDenied) } else { Ok(()) }
}

/// The result of a read to the place behind the reply's header.
pub(crate) struct ReadResult {
    /// The number of bytes read.
    pub(crate) count: usize,
    /// The file's attributes, consistent with the count.
    pub(crate) attributes: Attributes,
    /// Whether the read reached the end of the file.
    pub(crate) is_last: bool,
}

/// The part of a file that a READ asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadPart {
    pub(crate) offset_bytes: u64,
    /// The number of bytes.
    pub(crate) wanted: usize,
}

/// Reads a part of a file to its final place in a reply, behind a header of `head_bytes` that ends with their length.
#[inline(always)]
pub(crate) fn read_in_place(
    node: &Node<'_>,
    open: &Readable,
    part: ReadPart,
    head_bytes: usize,
    output: &mut Output,
) -> vfs::Result<ReadResult> {
    let ReadPart { offset_bytes, wanted } = part;
    let space = output.bytes.space(head_bytes + xdr::padded(wanted));
    let into = &mut space[head_bytes..head_bytes + wanted];
    let count = read_at(node, &*open.file, offset_bytes, into)?;
    let attributes = attributes_after_read(node, open, part, count)?;
    let is_last = count < wanted || offset_bytes.saturating_add(count as u64) >= attributes.size_bytes;
    Ok(ReadResult { count, attributes, is_last })
}

/// Completes a reply whose header was just written, with `count` bytes that were already read behind it.
#[inline(always)]
pub(crate) fn put_in_place(count: usize, output: &mut Output) {
    let mut to = Encoder::new(&mut output.bytes);
    to.count(count);
    to.buffer().advance(count);
    to.pad(count);
}

/// Completes a reply with bytes that are sent directly from the file.
pub(crate) fn put_file_part(file_part: FilePart, output: &mut Output) {
    Encoder::new(&mut output.bytes).count(file_part.count);
    output.put_file(file_part.file, file_part.offset_bytes, file_part.count);
    Encoder::new(&mut output.bytes).pad(file_part.count);
}

/// The largest size of a file; there is no data from this offset on.
const MAX_FILE_BYTES: u64 = i64::MAX.cast_unsigned();

/// Reads from an open file, up to the largest offset: a client that reads whole pages may request bytes beyond the end
/// of the largest file.
pub(crate) fn read_at(node: &Node<'_>, file: &dyn OpenFile, offset_bytes: u64, into: &mut [u8]) -> vfs::Result<usize> {
    let room = MAX_FILE_BYTES.saturating_sub(offset_bytes);
    match usize::try_from(room) {
        Ok(0) => Ok(0),
        Ok(room) if room < into.len() => file.read_at(&node.context, offset_bytes, &mut into[..room]),
        _ => file.read_at(&node.context, offset_bytes, into),
    }
}

/// A part of a file that is sent without copying it.
pub(crate) struct FilePart {
    pub(crate) file: HostFile,
    pub(crate) offset_bytes: u64,
    /// The number of bytes, at least 1.
    pub(crate) count: usize,
    /// Whether the part reaches the end of the file.
    pub(crate) is_last: bool,
}

/// The part of a file to send directly for a READ, if the reply may have one, it is long enough, and sending it never
/// waits for storage. If the file is truncated before the reply is sent, zeros replace the missing bytes.
pub(crate) fn file_part(node: &Node<'_>, open: &Readable, part: ReadPart, output: &Output) -> Option<FilePart> {
    let ReadPart { offset_bytes, wanted } = part;
    let min_bytes = min_piece_bytes(node.server.settings.sendfile_bytes?, output);
    let left = open.attributes.size_bytes.checked_sub(offset_bytes)?;
    let count = left.min(wanted as u64) as usize;
    if !node.may_send_files || count < min_bytes || !open.file.is_resident(offset_bytes, count) {
        return None;
    }
    let file = open.file.host_file()?;
    Some(FilePart { file, offset_bytes, count, is_last: count as u64 == left })
}

/// The smallest part to send directly. Among other replies, it costs an extra system call; as the first one it costs
/// none, and is worthwhile for shorter reads.
fn min_piece_bytes(setting: u32, output: &Output) -> usize {
    let is_first = output.len() <= HEADS_BYTES;
    let share = if is_first { FIRST_PIECE_SHARE } else { 1 };
    (setting / share).max(1) as usize
}

/// The attributes for the reply: those before the read, unless a concurrent change of the size makes them inconsistent
/// with the count.
fn attributes_after_read(node: &Node<'_>, open: &Readable, part: ReadPart, count: usize) -> vfs::Result<Attributes> {
    let ReadPart { offset_bytes, wanted } = part;
    let end = offset_bytes.saturating_add(count as u64);
    let size_bytes = open.attributes.size_bytes;
    let fits = if count < wanted { end == size_bytes || size_bytes <= offset_bytes } else { end <= size_bytes };
    if fits { Ok(open.attributes) } else { open.file.attributes(&node.context) }
}

/// Defers a stable write to a thread that may block, before this thread opens the file in vain.
pub(crate) fn defer_if_blocking(node: &Node<'_>, stability: Stability) -> vfs::Result<()> {
    if stability != Stability::Unstable && node.must_defer_changes() { Err(Error::WouldBlock) } else { Ok(()) }
}

/// Opens a file for writing. The caller's permission is checked again, even if the file is already open.
pub(crate) fn open_for_write(node: &Node<'_>, attributes: &Attributes) -> Result<Arc<dyn OpenFile>, Fault> {
    node.require_writable()?;
    match attributes.kind {
        FileKind::Regular => {}
        FileKind::Directory => return Err(Error::IsDirectory.into()),
        _ => return Err(Error::WrongKind.into()),
    }
    node.require_or_own(attributes, Access::WRITE)?;
    let file = node.open(OpenMode::Write)?;
    do_not_keep_nameless(node, attributes);
    Ok(file)
}

/// Writes `data`, or a prefix of it, with at least this `stability`. A failure that may have lost earlier unstable
/// writes renews the write verifier.
pub(crate) fn write_at(
    node: &Node<'_>,
    file: &dyn OpenFile,
    offset_bytes: u64,
    data: &[u8],
    stability: Stability,
) -> vfs::Result<Written> {
    check_end(offset_bytes, data.len())?;
    let result = file.write_at(&node.context, offset_bytes, data, stability);
    renew_verifier_on_loss(node, stability, result)
}

/// Fails if a write would exceed the largest file size.
fn check_end(offset_bytes: u64, length: usize) -> vfs::Result<()> {
    let end = offset_bytes.checked_add(length as u64);
    if end.is_none_or(|end| end > MAX_FILE_BYTES) { Err(Error::FileTooBig) } else { Ok(()) }
}

fn renew_verifier_on_loss(node: &Node<'_>, stability: Stability, result: vfs::Result<Written>) -> vfs::Result<Written> {
    if let Err(error) = &result
        && stability != Stability::Unstable
        && is_lost(error)
    {
        node.server.renew_write_verifier();
    }
    result
}

/// Writes adjacent parts as one [`write_at`].
pub(crate) fn write_parts_at(
    node: &Node<'_>,
    file: &dyn OpenFile,
    offset_bytes: u64,
    parts: &[&[u8]],
    stability: Stability,
) -> vfs::Result<Written> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    check_end(offset_bytes, length)?;
    let result = file.write_parts_at(&node.context, offset_bytes, parts, stability);
    renew_verifier_on_loss(node, stability, result)
}

/// Writes all of `data` to stable storage, repeats short writes, and returns the attributes afterwards. A deferred call
/// starts again at its first byte.
pub(crate) fn write_stable(
    node: &Node<'_>,
    file: &dyn OpenFile,
    offset_bytes: u64,
    data: &[u8],
) -> vfs::Result<Attributes> {
    let mut done = 0;
    loop {
        let rest = &data[done..];
        let written = write_at(node, file, offset_bytes + done as u64, rest, Stability::File)?;
        done += written.count;
        if done == data.len() {
            // The call must not run again, since it has had its effect: another client may have written since.
            return file.attributes(&Context { may_block: true, ..node.context });
        }
        if written.count == 0 {
            return Err(Error::Io(io::ErrorKind::WriteZero.into()));
        }
    }
}

/// Flushes a file to stable storage. A failure may have lost unstable writes, so it renews the write verifier.
pub(crate) fn sync(node: &Node<'_>, file: &dyn OpenFile) -> vfs::Result<()> {
    let result = file.sync(&node.context);
    if let Err(error) = &result
        && is_lost(error)
    {
        tracing::error!(export = node.exported.export.name, file = ?node.handle, %error, "flush failed: clients are told to write again");
        node.server.renew_write_verifier();
    }
    result
}

/// Whether a failed flush may have lost data, which a deferred one has not.
fn is_lost(error: &Error) -> bool {
    !matches!(error, Error::WouldBlock | Error::TryLater(_))
}
