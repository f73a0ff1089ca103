use bytes::Bytes;
use proto::nfs4::{
    ArgOp, CompoundHead, CompoundOperation, MinorVersion, OpNumber, SequenceArgs, StableHow, Stateid, Write,
};
use xdr::{Encode, Encoder};

/// The operations of a COMPOUND, without the SEQUENCE that goes before them.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    /// The operation that it is about, as errors call it.
    pub(crate) name: &'static str,
    pub(crate) operations: &'a [ArgOp<'a>],
    /// A WRITE behind the operations, whose data is sent from where it lies.
    pub(crate) write: Option<WriteTail>,
    /// Whether the server must keep the reply: what is carried out twice would do another thing, or tell another one.
    pub(crate) is_kept: bool,
}

/// A WRITE at the end of a COMPOUND.
#[derive(Debug, Clone)]
pub(crate) struct WriteTail {
    pub(crate) stateid: Stateid,
    pub(crate) offset: u64,
    pub(crate) stable: StableHow,
    pub(crate) data: Bytes,
}

impl<'a> Request<'a> {
    /// A request that may be carried out twice.
    pub(crate) fn reading(name: &'static str, operations: &'a [ArgOp<'a>]) -> Request<'a> {
        Request { name, operations, write: None, is_kept: false }
    }

    /// A request that must be carried out once.
    pub(crate) fn changing(name: &'static str, operations: &'a [ArgOp<'a>]) -> Request<'a> {
        Request { name, operations, write: None, is_kept: true }
    }
}

/// A request as it is sent: in a minor version, and from 4.1 on at a place in a session.
pub(super) struct Sent<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) minor: MinorVersion,
    pub(super) sequence: Option<SequenceArgs>,
}

impl Encode for Sent<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let Request { operations, write, .. } = self.request;
        let count = operations.len() + usize::from(write.is_some()) + usize::from(self.sequence.is_some());
        let operations_count = u32::try_from(count).unwrap_or(u32::MAX);
        let head = CompoundHead { tag: b"", minor_version: self.minor.number(), operations: operations_count };
        head.encode(to);
        if let Some(sequence) = &self.sequence {
            to.u32(OpNumber::Sequence as u32);
            sequence.encode(to);
        }
        operations.iter().for_each(|operation| operation.encode(to));
        if let Some(write) = write {
            // The length and the data come behind, from the connection.
            to.u32(Write::NUMBER as u32);
            write.stateid.encode(to);
            to.u64(write.offset);
            write.stable.encode(to);
        }
    }
}
