//! The stage that every call passes before and after its procedure: where its security flavour (RFC 5531 §8.2) lets it
//! in, unwraps its arguments, and wraps its results.
//!
//! AUTH_NONE and AUTH_SYS are built in and wrap nothing, so their calls are answered as they arrived. Any other flavour
//! ([`SecurityFlavor`]) turns a message into a plain one, and the plain reply into one of its own. All else sees only
//! plain messages, so the replay caches recognize a call that was wrapped again for its retransmission (RFC 2203
//! §5.3.3.1), and keep replies that can be wrapped again.

use std::fmt::Debug;

use buffer::{Buffer, Output};
use rpc::{AuthStat, Call, CallResult, Credential, Flavor, OpaqueAuth, Rejection, Reply};
use xdr::{Encode, Encoder};

use crate::request::Answer;

/// A security flavour that wraps arguments and results, such as RPCSEC_GSS (RFC 2203).
pub trait SecurityFlavor: Send + Sync {
    /// The flavour of the credentials that it checks.
    fn flavor(&self) -> Flavor;

    /// Checks the credential and the verifier of a call, and unwraps its arguments. `message` is the whole call. A call
    /// may enter on any thread; this must not block.
    ///
    /// # Errors
    /// When the call is refused or dropped.
    fn enter(&self, message: &[u8], call: &Call<'_>) -> Result<Unwrapped, EntryRefusal>;
}

/// A call that a flavour let in.
#[derive(Debug)]
pub struct Unwrapped {
    /// The caller.
    pub credential: Credential<'static>,
    /// The arguments of the procedure.
    pub arguments: Vec<u8>,
    /// Secures the reply.
    pub reply: Box<dyn SecuredReply>,
}

/// The flavour's part of the reply to one call.
pub trait SecuredReply: Debug + Send {
    /// The verifier of the reply, at most [`OpaqueAuth::MAX_BYTES`].
    fn verifier(&self) -> OpaqueAuth<'_>;

    /// Wraps the results of a procedure that ran.
    fn wrap(&self, results: &[u8]) -> Vec<u8>;

    /// The call was deferred: nothing has happened, and it enters again with the same bytes.
    fn deferred(&self);
}

/// The reason why a flavour does not let a call in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRefusal {
    /// The reply is this error.
    Refused(AuthStat),
    /// There is no reply, as for a sequence number that was used before (RFC 2203 §5.3.3.1).
    Dropped,
}

/// The offset of the verifier in an accepted reply, and that of the status behind an empty verifier (RFC 5531 §9).
const VERIFIER_AT: usize = 12;
const STATUS_AT: usize = 20;

/// A call that was unwrapped.
#[derive(Debug)]
pub(crate) struct SecuredCall {
    /// The same call with plain arguments and an AUTH_SYS or AUTH_NONE credential.
    message: Buffer,
    reply: Box<dyn SecuredReply>,
}

/// Whether a call arrived plain: it has no flavour that wraps arguments.
#[inline]
pub(crate) fn is_plain(flavors: &[Box<dyn SecurityFlavor>], call: &Call<'_>) -> bool {
    flavors.is_empty() || flavor_of(flavors, call).is_none()
}

fn flavor_of<'f>(flavors: &'f [Box<dyn SecurityFlavor>], call: &Call<'_>) -> Option<&'f dyn SecurityFlavor> {
    flavors.iter().map(|security| &**security).find(|security| security.flavor() == call.credential.flavor)
}

/// Lets in a call that did not arrive plain.
pub(crate) fn enter(
    flavors: &[Box<dyn SecurityFlavor>],
    message: &[u8],
    call: &Call<'_>,
) -> Result<SecuredCall, EntryRefusal> {
    let security = flavor_of(flavors, call).ok_or(EntryRefusal::Refused(AuthStat::TooWeak))?;
    Ok(SecuredCall::new(call, security.enter(message, call)?))
}

impl SecuredCall {
    fn new(call: &Call<'_>, unwrapped: Unwrapped) -> SecuredCall {
        let mut message = Buffer::new();
        call.procedure.encode_call(call.xid, &unwrapped.credential, &mut Encoder::new(&mut message));
        message.put(&unwrapped.arguments);
        SecuredCall { message, reply: unwrapped.reply }
    }

    /// The plain message.
    pub(crate) fn message(&self) -> &[u8] {
        self.message.as_slice()
    }

    /// The call in the plain message.
    pub(crate) fn call(&self) -> Call<'_> {
        Call::parse(self.message.as_slice()).expect("the stage encoded this call")
    }

    /// Lets the answer out: secures the reply, which begins at `start` of the output.
    pub(crate) fn leave(&self, answer: &Answer, start: usize, output: &mut Output) {
        match answer {
            Answer::Reply => self.secure(start, output),
            Answer::WouldBlock(_) => self.reply.deferred(),
            Answer::Silent | Answer::NotACall(_) => {}
        }
    }

    /// The call was deferred, and enters again.
    pub(crate) fn deferred(&self) {
        self.reply.deferred();
    }

    /// Gives an accepted reply the flavour's verifier, and wraps its results; a denied one has neither (RFC 5531 §9).
    fn secure(&self, start: usize, output: &mut Output) {
        let plain = output.bytes.as_slice()[start..].to_vec();
        let reply = Reply::parse(&plain).expect("the server encoded this reply");
        if matches!(reply.outcome, CallResult::Rejected(Rejection::AuthError(_) | Rejection::RpcMismatch { .. })) {
            return;
        }
        output.bytes.truncate(start + VERIFIER_AT);
        self.reply.verifier().encode(&mut Encoder::new(&mut output.bytes));
        match reply.outcome {
            CallResult::Success(results) => {
                output.bytes.put(&plain[STATUS_AT..plain.len() - results.rest().len()]);
                output.bytes.put(&self.reply.wrap(results.rest()));
            }
            CallResult::Rejected(_) => output.bytes.put(&plain[STATUS_AT..]),
        }
    }
}
