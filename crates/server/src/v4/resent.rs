//! Operations of sessions that a client sends again after the server was killed.
//!
//! A session ends with the process. A client whose request was answered gets the reply again in the session that ended
//! ([`crate::replay`]). Any other one makes a new session and sends what was not answered once more, in another
//! COMPOUND and with another number, so that CREATE says EXIST for what it made itself. What is left to know it by is
//! the client's owner with its verifier, the user, the operation, its files and its arguments. So a change of names is
//! noted under these while it is made, and the note ends with the reply to the COMPOUND: what the next start finds
//! noted was answered to nobody.
//!
//! The first operation that looks like that one then succeeds, if the names are still as it left them, and no second
//! one does. Should another process of the same client and user make the same change before the client sends the first
//! one again, it gets the success, and the first one is told EXIST or NOENT: one of them has made the change, never
//! both.

use proto::nfs4::OpNumber;
use state::SlotTurn;
use xdr::{Encode, Encoder};

use buffer::Buffer;

use super::compound::{Compound, File};
use super::failure::{Failure, Outcome};
use crate::exports::ExportTable;
use crate::node::Node;
use crate::replay::Begun;

/// Carries out an operation that changes names. What is to be noted of it goes with the directory by [`Noted::on`].
pub(super) fn noted<A: Encode, T>(
    compound: &mut Compound<'_>,
    (number, args): (OpNumber, &A),
    operation: impl FnOnce(&mut Compound<'_>, &Noted<'_>) -> Outcome<T>,
) -> Outcome<T> {
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

/// What is kept of an operation; nothing in NFSv4.0, whose calls are kept whole.
pub(super) struct Noted<'b>(Option<&'b Begun<'b>>);

impl<'b> Noted<'b> {
    pub(super) const NOTHING: Noted<'static> = Noted(None);

    /// The directory, with this operation's changes noted.
    pub(super) fn on<'c>(&self, dir: Node<'c>) -> Node<'c>
    where
        'b: 'c,
    {
        Node { begun: self.0.or(dir.begun), ..dir }
    }
}

/// What tells an operation from others, whatever session it comes in; nothing outside of sessions.
fn identity(compound: &Compound<'_>, number: OpNumber, args: &impl Encode) -> Option<Buffer> {
    let (name, verifier) = compound.progress.turn.as_ref()?.session().owner();
    let mut bytes = Buffer::new();
    let mut to = Encoder::new(&mut bytes);
    to.opaque(name);
    to.fixed(&verifier);
    to.opaque(&compound.principal().0);
    to.u32(number.number());
    for file in [&compound.progress.current, &compound.progress.saved] {
        to.opaque(file.as_ref().map(wire).as_ref().map_or(&[], |handle| handle.as_bytes()));
    }
    args.encode(&mut to);
    Some(bytes)
}

fn wire(file: &File) -> crate::handle::WireHandle {
    ExportTable::wire_handle(&file.exported, &file.handle)
}
