//! Recognizes operations that a client resends in a new session after the server was killed.
//!
//! A session ends with the process. A client whose request was answered gets the reply replayed in the old session
//! ([`crate::replay`]). Any other client creates a new session and resends unanswered operations in a new COMPOUND with
//! a new sequence number. CREATE would then return EXIST for the client's own file. Such an operation can only be
//! identified by the client's owner and verifier, the user, the operation, its files and its arguments. So a change of
//! names is logged under these until its COMPOUND is answered: a record that the next start finds belongs to an
//! unanswered operation.
//!
//! The first equal operation then succeeds, if the names are still as the change left them; a second one does not.
//! Another process of the same client and user may send an equal operation before the resent one. It then gets the
//! success, and the resent one gets EXIST or NOENT: exactly one of them has made the change, never both.

use proto::nfs4::OpNumber;
use state::SlotTurn;
use xdr::{Encode, Encoder};

use buffer::Buffer;

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use crate::node::Node;
use crate::replay::Begun;

/// Runs an operation that changes names. [`Noted::on`] passes its log entry along with the directory.
pub(super) fn noted<A: Encode, T>(
    compound: &mut Compound<'_>,
    number: OpNumber,
    args: &A,
    operation: impl FnOnce(&mut Compound<'_>, &Noted<'_>) -> OpResult<T>,
) -> OpResult<T> {
    let (replay, now) = (&compound.cx.server.replay, compound.cx.request.now);
    let is_kept = replay.names().is_some();
    let asked = if is_kept { identity(compound, number, args) } else { None };
    let request = compound.progress.turn.as_ref().map(SlotTurn::request);
    let begun = asked.zip(request).and_then(|(asked, request)| replay.begin_operation(asked.as_slice(), request, now));
    let outcome = operation(compound, &Noted(begun.as_ref()));
    if let Some(begun) = begun
        && !matches!(outcome, Err(Failure::Defer))
    {
        begun.end(outcome.is_ok(), &mut compound.progress.changes);
    }
    outcome
}

/// The log entry of an operation; none in NFSv4.0, whose calls are logged as a whole.
pub(super) struct Noted<'b>(Option<&'b Begun<'b>>);

impl<'b> Noted<'b> {
    pub(super) const NOTHING: Noted<'static> = Noted(None);

    /// The directory, with this operation's changes logged.
    pub(super) fn on<'c>(&self, dir: Node<'c>) -> Node<'c>
    where
        'b: 'c,
    {
        Node { begun: self.0.or(dir.begun), ..dir }
    }
}

/// Identifies an operation independently of its session; `None` outside of sessions.
fn identity(compound: &Compound<'_>, number: OpNumber, args: &impl Encode) -> Option<Buffer> {
    let (name, verifier) = compound.progress.turn.as_ref()?.session().owner();
    let mut bytes = Buffer::new();
    let mut to = Encoder::new(&mut bytes);
    to.opaque(name);
    to.fixed(&verifier);
    to.opaque(&compound.principal().0);
    to.u32(number.number());
    for file in [compound.current(), compound.saved()] {
        to.opaque(file.map(|node| node.wire_handle()).as_ref().map_or(&[], |handle| handle.as_bytes()));
    }
    args.encode(&mut to);
    Some(bytes)
}
