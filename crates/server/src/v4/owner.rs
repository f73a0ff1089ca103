//! The names of users and groups (RFC 7530 §5.9, RFC 8881 §5.9): `name@domain` if the server has a domain and knows the
//! name, else a number in digits. A name without a domain is never translated, as §5.9 requires.

use names::IdKind;
use proto::nfs4::{self, Status};

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use crate::fault::Fault;
use crate::id_map::Asking;

/// The name of a user.
pub(super) fn user_name(compound: &Compound<'_>, uid: u32) -> OpResult<Vec<u8>> {
    name(compound, IdKind::User, uid)
}

/// The name of a group.
pub(super) fn group_name(compound: &Compound<'_>, gid: u32) -> OpResult<Vec<u8>> {
    name(compound, IdKind::Group, gid)
}

/// The number of a user.
pub(super) fn user_id(compound: &Compound<'_>, user: &nfs4::Principal<'_>) -> OpResult<u32> {
    id(compound, IdKind::User, user)
}

/// The number of a group.
pub(super) fn group_id(compound: &Compound<'_>, group: &nfs4::Principal<'_>) -> OpResult<u32> {
    id(compound, IdKind::Group, group)
}

fn asking(compound: &Compound<'_>) -> Asking {
    Asking { now: compound.cx.request.now, may_block: compound.cx.request.may_block }
}

fn name(compound: &Compound<'_>, kind: IdKind, id: u32) -> OpResult<Vec<u8>> {
    let known = match &compound.cx.server.id_map {
        Some(owners) => match owners.name(kind, id, asking(compound)) {
            Err(Fault::Defer) => return Err(Failure::Defer),
            // A number is better than no attributes.
            known => known.ok().flatten(),
        },
        None => None,
    };
    Ok(known.unwrap_or_else(|| id.to_string()).into_bytes())
}

fn id(compound: &Compound<'_>, kind: IdKind, wanted: &nfs4::Principal<'_>) -> OpResult<u32> {
    let text = std::str::from_utf8(wanted.0).map_err(|_| Status::Inval)?;
    if text.is_empty() || text.starts_with('@') {
        return Err(Status::Inval.into());
    }
    match &compound.cx.server.id_map {
        Some(owners) if text.contains('@') => Ok(owners.id(kind, text, asking(compound))?.ok_or(Status::BadOwner)?),
        _ => number(text),
    }
}

/// Parses a number without leading zeros. A server without a domain accepts any domain after it.
fn number(text: &str) -> OpResult<u32> {
    let digits = text.split_once('@').map_or(text, |(digits, _)| digits);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if is_number { Ok(digits.parse().map_err(|_| Status::BadOwner)?) } else { Err(Status::BadOwner.into()) }
}
