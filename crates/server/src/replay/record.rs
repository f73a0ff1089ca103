//! The records of the reply log.

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use buffer::Buffer;
use state::{SessionId, SlotRequest};
use vfs::{FileKind, Handle, Name, Timestamp};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::key::{MAX_REPLY_BYTES, ReplayKey};
use crate::handle::WireHandle;

/// The longest reply of a session to keep, in bytes. Replies to changes of names or attributes have some hundred.
pub(crate) const MAX_SLOT_REPLY_BYTES: usize = 4096;

/// Room for the keys of as many operations as a COMPOUND may have.
const MAX_OPERATION_KEYS_BYTES: usize = 128 * ReplayKey::OPERATION_BYTES;

/// A record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) enum ReplyLogRecord<'r> {
    /// The call is about to change names.
    #[xdr(case = 1)]
    Begun(ReplayKey, NameChange<'r>),
    /// The call was answered.
    #[xdr(case = 2)]
    Answered(ReplayKey, ReplyBytes<'r>),
    /// The call ended without a reply to keep: its earlier records no longer count.
    #[xdr(case = 3)]
    Dropped(ReplayKey),
    /// A later start found that the call had made this change before the server was killed.
    #[xdr(case = 4)]
    Happened(ReplayKey, DoneStep<'r>),
    /// An operation of a session made the change that was logged last, which gave this file its name, if any. Its
    /// COMPOUND is not answered yet.
    #[xdr(case = 5)]
    Ended(ReplayKey, FileBytes<'r>),
    /// A COMPOUND of a session was answered: the earlier records of its operations no longer count.
    #[xdr(case = 6)]
    SlotAnswered(SlotReply<'r>),
    /// A start after a power failure found in the write log that an operation of this request made a change.
    #[xdr(case = 7)]
    HappenedIn(ReplayKey, LoggedRequest, DoneStep<'r>),
}

/// A request of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct LoggedRequest {
    session: [u8; 16],
    slot: u32,
    sequence: u32,
    /// A hash of the request and its principal.
    digest: u64,
}

/// The write log's data about a change: enough to recognize the request when it is retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Ticket<'r> {
    pub(crate) key: ReplayKey,
    /// The request, if it arrived in a session.
    pub(crate) request: Option<LoggedRequest>,
    pub(crate) step: Step<'r>,
}

/// The reply to a COMPOUND of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SlotReply<'r> {
    pub(crate) request: LoggedRequest,
    /// The keys of the operations that change names, each of [`ReplayKey::OPERATION_BYTES`].
    #[xdr(max = MAX_OPERATION_KEYS_BYTES)]
    pub(crate) operations: &'r [u8],
    /// The reply from its status on; empty if it is too long to keep.
    #[xdr(max = MAX_SLOT_REPLY_BYTES)]
    pub(crate) reply: &'r [u8],
}

/// The bytes of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ReplyBytes<'r> {
    #[xdr(max = MAX_REPLY_BYTES)]
    pub(crate) bytes: &'r [u8],
}

/// A change of names and the state before it: enough to decide later whether it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct NameChange<'r> {
    pub(crate) step: Step<'r>,
    pub(crate) before: Before<'r>,
    /// The time right before the change, in nanoseconds since 1970.
    pub(crate) at_ns: u64,
}

/// The names that a call changes, and how. A retransmitted call has equal steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Step<'r> {
    /// A new file gets a name.
    #[xdr(case = 1)]
    Make(NamedPlace<'r>),
    /// A file gets an additional name.
    #[xdr(case = 2)]
    Link(NamedPlace<'r>),
    /// A name is removed.
    #[xdr(case = 3)]
    Remove(NamedPlace<'r>),
    /// A name is moved, and replaces one that exists.
    #[xdr(case = 4)]
    Move(NamedPlace<'r>, NamedPlace<'r>),
}

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct NamedPlace<'r> {
    /// The directory's handle on the wire.
    #[xdr(max = WireHandle::MAX_BYTES)]
    pub(crate) dir: &'r [u8],
    #[xdr(max = Name::MAX_BYTES)]
    pub(crate) name: &'r [u8],
}

/// The state before a change, and the intended result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Before<'r> {
    /// The name does not exist; it will belong to a new file of this kind and one of these users.
    #[xdr(case = 1)]
    Absent(Maker),
    /// The name does not exist; it will be an additional name of this file.
    #[xdr(case = 2)]
    Unlinked(FileBytes<'r>),
    /// The name belongs to this file.
    #[xdr(case = 3)]
    Named(FileBytes<'r>),
}

/// The new file of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Maker {
    kind: u32,
    /// The user who makes it.
    pub(crate) maker: u32,
    /// The user who will own it.
    pub(crate) owner: u32,
}

/// A file's handle in its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct FileBytes<'r> {
    #[xdr(max = Handle::MAX_BYTES)]
    pub(crate) handle: &'r [u8],
}

/// A change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct DoneStep<'r> {
    pub(crate) step: Step<'r>,
    /// The file that has the name since then; empty if there is none.
    pub(crate) made: FileBytes<'r>,
}

impl ReplyLogRecord<'_> {
    pub(crate) fn read(record: &[u8]) -> xdr::Result<ReplyLogRecord<'_>> {
        ReplyLogRecord::decode(&mut Decoder::new(record))
    }

    pub(crate) fn bytes(&self) -> Buffer {
        bytes_of(self)
    }
}

impl Ticket<'_> {
    pub(crate) fn read(ticket: &[u8]) -> xdr::Result<Ticket<'_>> {
        Ticket::decode(&mut Decoder::new(ticket))
    }
}

impl From<SlotRequest> for LoggedRequest {
    fn from(request: SlotRequest) -> LoggedRequest {
        let SlotRequest { session, slot, sequence, digest } = request;
        LoggedRequest { session: session.0, slot, sequence, digest }
    }
}

impl From<LoggedRequest> for SlotRequest {
    fn from(placed: LoggedRequest) -> SlotRequest {
        let LoggedRequest { session, slot, sequence, digest } = placed;
        SlotRequest { session: SessionId(session), slot, sequence, digest }
    }
}

/// Encodes a part of a record.
pub(super) fn bytes_of(part: &impl Encode) -> Buffer {
    let mut bytes = Buffer::new();
    part.encode(&mut Encoder::new(&mut bytes));
    bytes
}

impl Encode for ReplayKey {
    fn encode(&self, to: &mut Encoder<'_>) {
        let sender = match self.sender {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        to.fixed(&sender.octets());
        to.u32(self.port.into());
        to.u32(self.xid);
        self.message.iter().for_each(|hash| to.u64(*hash));
    }
}

impl<'r> Decode<'r> for ReplayKey {
    fn decode(from: &mut Decoder<'r>) -> xdr::Result<ReplayKey> {
        let sender = IpAddr::V6(Ipv6Addr::from(from.fixed::<16>()?)).to_canonical();
        let port = from.u32()?;
        let port = u16::try_from(port).map_err(|_| from.bad_value("port", port))?;
        Ok(ReplayKey { sender, port, xid: from.u32()?, message: [from.u64()?, from.u64()?] })
    }
}

impl Maker {
    pub(crate) fn new(kind: FileKind, maker: u32, owner: u32) -> Maker {
        Maker { kind: number(kind), maker, owner }
    }

    pub(crate) fn makes(&self, kind: FileKind) -> bool {
        self.kind == number(kind)
    }
}

fn number(kind: FileKind) -> u32 {
    match kind {
        FileKind::Regular => 1,
        FileKind::Directory => 2,
        FileKind::BlockDevice => 3,
        FileKind::CharDevice => 4,
        FileKind::Symlink => 5,
        FileKind::Socket => 6,
        FileKind::Fifo => 7,
    }
}

impl<'r> NameChange<'r> {
    /// The file that the change gives a name, as far as it is known before.
    pub(super) fn named(&self) -> Option<FileBytes<'r>> {
        match (&self.before, &self.step) {
            (Before::Unlinked(file), _) | (Before::Named(file), Step::Move(..)) => Some(*file),
            (Before::Absent(_) | Before::Named(_), _) => None,
        }
    }

    /// The time of day in the form of records.
    pub(crate) fn time_ns(now: SystemTime) -> u64 {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether `time` is between `tick` before the record and `longest` after it.
    pub(crate) fn is_of_its_time(&self, time: Timestamp, tick: Duration, longest: Duration) -> bool {
        let at = Duration::from_nanos(self.at_ns);
        let Ok(seconds) = u64::try_from(time.seconds) else { return false };
        let time = Duration::new(seconds, time.nanoseconds);
        time + tick >= at && time <= at + longest
    }
}
