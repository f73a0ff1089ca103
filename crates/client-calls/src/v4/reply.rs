use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{Compound, CompoundOperation, CompoundReplyHead, Res, ResOp, Sequence, SequenceOk, Status};
use xdr::{Decode, Decoder};

use crate::Response;
use crate::{Error, Lie, Reason, Result};

/// The reply to a COMPOUND, in the memory that it was received into.
#[derive(Debug)]
pub struct Reply {
    response: Response<Compound>,
    /// The main operation of the request.
    name: &'static str,
    server: Arc<str>,
    /// The status of the last operation that was carried out.
    status: Status,
    /// The number of results not read yet, and the offset of the first.
    left: u32,
    at: usize,
    /// Whether the request was also sent in an earlier session, which was lost.
    may_be_second: bool,
}

impl Reply {
    /// Reads the head of the reply; `asked` operations were sent.
    pub(super) fn parse(
        response: Response<Compound>,
        name: &'static str,
        asked: u32,
        server: &Arc<str>,
    ) -> Result<Reply> {
        let mut from = Decoder::new(response.results());
        let failed = |reason| Error::new(server, name, reason);
        let head = CompoundReplyHead::decode(&mut from).map_err(|source| failed(Reason::BadReply(source)))?;
        if head.results > asked {
            return Err(failed(Reason::Lie(Lie::ManyResults { asked, said: head.results })));
        }
        let (status, left, at) = (head.status, head.results, from.offset());
        Ok(Reply { status, left, at, name, server: Arc::clone(server), response, may_be_second: false })
    }

    /// Reads the result of the leading SEQUENCE, or the status that refused the whole request.
    pub fn take_sequence(&mut self) -> Result<std::result::Result<SequenceOk, Status>> {
        let mut results = self.results();
        let sequence = match results.next::<Sequence>() {
            Ok(Res::Ok(ok)) => Ok(ok),
            Ok(Res::Fail(status)) => Err(status),
            Err(error) if self.left == 0 && self.status != Status::Ok => {
                drop(error);
                Err(self.status)
            }
            Err(error) => return Err(error),
        };
        let (left, at) = (results.left, self.at + results.from.offset());
        (self.left, self.at) = (left, at);
        Ok(sequence)
    }

    /// Sets whether the request was also sent in an earlier session, which was lost.
    pub fn after_loss(self, may_be_second: bool) -> Reply {
        Reply { may_be_second, ..self }
    }

    /// Whether the request may have been executed in an earlier session, without a reply.
    pub(super) fn may_be_second(&self) -> bool {
        self.may_be_second
    }

    /// The status of the last operation that was carried out.
    pub fn status(&self) -> Status {
        self.status
    }

    /// How many operations were carried out: with the failed one, without SEQUENCE.
    pub fn carried_out(&self) -> usize {
        self.left as usize
    }

    /// The results of the operations, to be read one by one.
    pub fn results(&self) -> Results<'_> {
        Results { reply: self, left: self.left, from: Decoder::new(self.unread()) }
    }

    /// The results that are not read yet, not decoded.
    pub(super) fn unread(&self) -> &[u8] {
        &self.response.results()[self.at..]
    }

    /// The results that are not read yet, whatever their operations, up to the first that cannot be decoded.
    pub fn all_results(&self) -> impl Iterator<Item = ResOp<'_>> {
        let mut from = Decoder::new(self.unread());
        (0..self.left).map_while(move |_| ResOp::decode(&mut from).ok())
    }

    /// A part of the results, kept alive without a copy.
    pub(crate) fn share(&self, part: &[u8]) -> Bytes {
        self.response.share(part)
    }

    /// An error of the main operation.
    pub fn error(&self, reason: Reason) -> Error {
        Error::new(&self.server, self.name, reason)
    }

    /// The server's refusal.
    pub fn refusal(&self, status: Status) -> Error {
        self.error(Reason::Status(status.into()))
    }
}

/// The results of a COMPOUND's operations, in their order.
#[derive(Debug)]
pub struct Results<'r> {
    reply: &'r Reply,
    left: u32,
    from: Decoder<'r>,
}

impl<'r> Results<'r> {
    /// The next result, which must be one of `O`. If an earlier operation failed, fails with its status.
    #[expect(clippy::should_implement_trait, reason = "each call names the operation whose result it expects")]
    pub fn next<O: CompoundOperation>(&mut self) -> Result<O::Reply<'r>> {
        let status = self.reply.status;
        if self.left == 0 {
            let lie = Reason::Lie(Lie::FewResults);
            return Err(if status == Status::Ok { self.reply.error(lie) } else { self.reply.refusal(status) });
        }
        let number = self.read(Decoder::u32)?;
        if number != O::NUMBER as u32 {
            // The server answers an operation that it does not know under another number (RFC 8881 §18.52).
            let unknown = status != Status::Ok && self.left == 1;
            let bad = Reason::BadReply(self.from.bad_value("operation", number));
            return Err(if unknown { self.reply.refusal(status) } else { self.reply.error(bad) });
        }
        self.left -= 1;
        self.read(Decode::decode)
    }

    /// The next result, which must be a success.
    pub fn ok<O, T>(&mut self) -> Result<T>
    where
        O: CompoundOperation<Reply<'r> = Res<T>>,
    {
        match self.next::<O>()? {
            Res::Ok(ok) => Ok(ok),
            Res::Fail(status) => Err(self.reply.refusal(status)),
        }
    }

    /// Decodes a part of a result whose head was read as the result, so that long results are checked while decoding.
    pub(super) fn part<T: Decode<'r>>(&mut self) -> Result<T> {
        self.read(Decode::decode)
    }

    fn read<T>(&mut self, decode: impl FnOnce(&mut Decoder<'r>) -> xdr::Result<T>) -> Result<T> {
        decode(&mut self.from).map_err(|source| self.reply.error(Reason::BadReply(source)))
    }
}
