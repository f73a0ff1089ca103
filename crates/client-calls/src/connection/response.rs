use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use proto::Operation;
use rpc::{CallResult, Rejection, Reply};
use xdr::{Decode, Decoder};

use crate::{Error, Reason, Result};

/// The reply to a call that was carried out, in the memory that it was received into.
pub struct Response<O> {
    message: Bytes,
    results_at: usize,
    server: Arc<str>,
    operation: PhantomData<fn() -> O>,
}

impl<O: Operation> Response<O> {
    pub(super) fn parse(message: Bytes, server: &Arc<str>) -> Result<Response<O>> {
        let failed = |reason| Error::new(server, O::NAME, reason);
        let results_at = match Reply::parse(&message) {
            Ok(Reply { outcome: CallResult::Success(from), .. }) => from.offset(),
            Ok(Reply { outcome: CallResult::Rejected(rejection), .. }) => {
                return Err(failed(Reason::Rejected(rejection)));
            }
            Err(source) => return Err(failed(Reason::NotAReply(source))),
        };
        Ok(Response { message, results_at, server: Arc::clone(server), operation: PhantomData })
    }

    /// Whether a message is a complete reply to such a call. GARBAGE_ARGS (RFC 5531 §9) counts as damage: the arguments
    /// may not have arrived whole.
    pub(super) fn is_whole(message: &[u8]) -> bool {
        match Reply::parse(message) {
            Ok(Reply { outcome: CallResult::Success(mut from), .. }) => O::Reply::decode(&mut from).is_ok(),
            Ok(Reply { outcome: CallResult::Rejected(rejection), .. }) => rejection != Rejection::GarbageArguments,
            Err(_) => false,
        }
    }

    /// Decodes the results, which borrow from this reply.
    ///
    /// # Errors
    /// [`Reason::BadReply`].
    pub fn decode(&self) -> Result<O::Reply<'_>> {
        let mut from = Decoder::new(&self.message[self.results_at..]);
        O::Reply::decode(&mut from).map_err(|source| self.error(Reason::BadReply(source)))
    }

    /// The results, not decoded.
    pub(crate) fn results(&self) -> &[u8] {
        &self.message[self.results_at..]
    }

    /// A part of the results of [`Response::decode`], kept alive without a copy.
    ///
    /// # Panics
    /// When `part` is not a part of this reply.
    pub fn share(&self, part: &[u8]) -> Bytes {
        self.message.slice_ref(part)
    }

    /// An error of this operation.
    #[doc(hidden)]
    pub fn error(&self, reason: Reason) -> Error {
        Error::new(&self.server, O::NAME, reason)
    }
}

impl<O: Operation> fmt::Debug for Response<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reply of {} bytes", O::NAME, self.message.len())
    }
}
