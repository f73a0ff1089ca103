//! Users and groups as NFSv4 names them (RFC 7530 §5.9, RFC 8881 §5.9): by number, as a string of digits.

use proto::nfs4::{Principal, Status};

use super::compound::Compound;
use super::failure::Outcome;

/// How a user is called.
pub(super) fn user_name(_compound: &Compound<'_>, uid: u32) -> Outcome<Vec<u8>> {
    Ok(uid.to_string().into_bytes())
}

/// How a group is called.
pub(super) fn group_name(_compound: &Compound<'_>, gid: u32) -> Outcome<Vec<u8>> {
    Ok(gid.to_string().into_bytes())
}

/// The user of this name.
pub(super) fn user_id(_compound: &Compound<'_>, user: &Principal<'_>) -> Outcome<u32> {
    number(user)
}

/// The group of this name.
pub(super) fn group_id(_compound: &Compound<'_>, group: &Principal<'_>) -> Outcome<u32> {
    number(group)
}

/// A number, with or without a domain behind it.
fn number(principal: &Principal<'_>) -> Outcome<u32> {
    let text = std::str::from_utf8(principal.0).map_err(|_| Status::Inval)?;
    let number = text.split_once('@').map_or(text, |(name, _)| name);
    if number.is_empty() {
        return Err(Status::Inval.into());
    }
    Ok(number.parse().map_err(|_| Status::BadOwner)?)
}
