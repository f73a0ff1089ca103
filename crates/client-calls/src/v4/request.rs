use buffer::Buffer;
use bytes::Bytes;
use proto::nfs4::{
    ArgOp, CompoundHead, CompoundOperation, MinorVersion, OpNumber, SequenceArgs, StableHow, Stateid, Write,
};
use xdr::{Encode, Encoder};

use super::attributes;
use crate::statistics::{CompoundLabel, Label};

/// The operations of this client's longest requests that cannot be split: RENAME with both directories' attributes, and
/// REMOVE with its check of the type.
pub const NEEDED_OPERATIONS: u32 = 8;

/// The operations of a COMPOUND, without its leading SEQUENCE.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The main operation's name in errors.
    pub name: &'static str,
    /// The operations, without SEQUENCE and the WRITE behind them.
    pub operations: &'a [ArgOp<'a>],
    /// A WRITE behind the operations, whose data is sent without a copy.
    pub write: Option<WriteTail>,
    /// Whether the server must cache the reply, because a second execution would do or return something else.
    pub is_kept: bool,
}

/// A WRITE behind the other operations of a COMPOUND.
#[derive(Debug, Clone)]
pub struct WriteTail {
    /// The open or lock that it writes under.
    pub stateid: Stateid,
    /// Where the data goes, in bytes.
    pub offset: u64,
    /// How stable the data must be when the reply comes.
    pub stable: StableHow,
    /// The bytes to write.
    pub data: Bytes,
    /// The attributes to return.
    pub told: Told,
}

/// The attributes that the reply to a WRITE returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// None.
    Nothing,
    /// The attributes afterwards.
    After,
    /// The version before and the attributes afterwards.
    Both,
}

impl WriteTail {
    /// The number of operations it adds behind the others.
    fn operations(&self) -> usize {
        if self.told == Told::Nothing { 1 } else { 2 }
    }

    /// The bytes behind the data.
    pub(super) fn behind(&self) -> &'static [u8] {
        if self.told == Told::Nothing { &[] } else { BEHIND_WRITE }
    }
}

/// The bytes behind the data of a WRITE: a GETATTR of [`attributes::ALL`].
const BEHIND_WRITE: &[u8] = &{
    let words = [OpNumber::Getattr as u32, 2, attributes::ALL.word(0), attributes::ALL.word(1)];
    let (mut bytes, mut at) = ([0; 16], 0);
    while at < bytes.len() {
        bytes[at] = words[at / 4].to_be_bytes()[at % 4];
        at += 1;
    }
    bytes
};

impl<'a> Request<'a> {
    /// A request that may be executed twice.
    pub fn reading(name: &'static str, operations: &'a [ArgOp<'a>]) -> Request<'a> {
        debug_assert!(fits(operations), "{name}: sessions may have room for less operations");
        Request { name, operations, write: None, is_kept: false }
    }

    /// A request that must be executed once.
    pub fn changing(name: &'static str, operations: &'a [ArgOp<'a>]) -> Request<'a> {
        debug_assert!(fits(operations), "{name}: sessions may have room for less operations");
        Request { name, operations, write: None, is_kept: true }
    }
}

/// Whether every session has room for these operations behind SEQUENCE.
fn fits(operations: &[ArgOp<'_>]) -> bool {
    operations.len() < NEEDED_OPERATIONS as usize
}

/// A request as sent: in a minor version, and from 4.1 on in a slot of a session.
pub(super) struct Sent<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) minor: MinorVersion,
    pub(super) sequence: Option<SequenceArgs>,
}

impl Sent<'_> {
    /// How many operations the COMPOUND has.
    pub(super) fn count(&self) -> u32 {
        let Request { operations, write, .. } = self.request;
        let behind = write.as_ref().map_or(0, WriteTail::operations);
        let count = operations.len() + behind + usize::from(self.sequence.is_some());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Appends the arguments of the COMPOUND, and returns its label in the statistics.
    pub(super) fn write(&self, head: &mut Buffer) -> Label {
        let Request { name, operations, write, .. } = self.request;
        let mut label = CompoundLabel::new();
        let compound = CompoundHead { tag: b"", minor_version: self.minor.number(), operations: self.count() };
        compound.encode(&mut Encoder::new(head));
        if let Some(sequence) = &self.sequence {
            let mut to = Encoder::new(head);
            to.u32(OpNumber::Sequence as u32);
            sequence.encode(&mut to);
            label.push(OpNumber::Sequence as u32);
        }
        for operation in *operations {
            let at = head.len();
            operation.encode(&mut Encoder::new(head));
            // An operation begins with its number.
            let number = head.as_slice()[at..].first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
            label.push(number);
        }
        if let Some(write) = write {
            // The connection appends the length and the data, and then `WriteTail::behind`.
            let mut to = Encoder::new(head);
            to.u32(Write::NUMBER as u32);
            write.stateid.encode(&mut to);
            to.u64(write.offset);
            write.stable.encode(&mut to);
            label.push(Write::NUMBER as u32);
            if write.told != Told::Nothing {
                label.push(OpNumber::Getattr as u32);
            }
        }
        label.finish(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::nfs4::GetattrArgs;

    #[test]
    fn behind_a_write_stands_a_getattr_as_it_is_encoded() {
        let mut buffer = Buffer::new();
        ArgOp::Getattr(GetattrArgs { request: attributes::ALL }).encode(&mut Encoder::new(&mut buffer));
        assert_eq!(buffer.as_slice(), BEHIND_WRITE);
    }
}
