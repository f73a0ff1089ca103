//! The names of users and groups (RFC 7530 §5.9, RFC 8881 §5.9): `name@domain` if the server has a domain and knows the
//! name, else a number in digits. A name without a domain is never translated, as §5.9 requires.

use std::sync::Arc;

use names::IdKind;
use proto::nfs4::{self, Status};
use xdr::Encoder;

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use crate::fault::Fault;
use crate::id_map::Asking;

/// The name of a user or a group on the wire. Making one allocates nothing.
pub(super) enum OwnerName {
    /// `name@domain`.
    Name(Arc<str>),
    /// A number.
    Number(Digits),
    /// A name that stands for no fixed user or group, such as `OWNER@` (RFC 8881 §6.2.1.5).
    Special(&'static [u8]),
}

impl OwnerName {
    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            OwnerName::Name(name) => name.as_bytes(),
            OwnerName::Number(digits) => &digits.bytes[..digits.length],
            OwnerName::Special(name) => name,
        }
    }
}

/// The decimal digits of a number, with zeros behind them.
pub(super) struct Digits {
    bytes: [u8; Digits::BYTES],
    length: usize,
}

impl Digits {
    /// The digits of the largest number.
    const MOST: usize = 10;
    /// Those with their padding.
    const BYTES: usize = 12;

    #[inline]
    fn of(number: u32) -> Digits {
        let (mut bytes, mut start, mut left) = ([0; Digits::MOST + Digits::BYTES], Digits::MOST, number);
        loop {
            start -= 1;
            bytes[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        let digits = bytes[start..].first_chunk().expect("there are as many zeros behind the digits");
        Digits { bytes: *digits, length: Digits::MOST - start }
    }
}

/// The name of a user.
pub(super) fn user_name(compound: &Compound<'_>, uid: u32) -> OpResult<OwnerName> {
    name(compound, IdKind::User, uid)
}

/// Appends the name of a user.
pub(super) fn put_user(compound: &Compound<'_>, uid: u32, to: &mut Encoder<'_>) -> OpResult<()> {
    put(compound, IdKind::User, uid, to)
}

/// Appends the name of a group.
pub(super) fn put_group(compound: &Compound<'_>, gid: u32, to: &mut Encoder<'_>) -> OpResult<()> {
    put(compound, IdKind::Group, gid, to)
}

#[inline]
fn put(compound: &Compound<'_>, kind: IdKind, id: u32, to: &mut Encoder<'_>) -> OpResult<()> {
    if compound.cx.server.id_map.is_some() {
        to.opaque(name(compound, kind, id)?.as_bytes());
    } else {
        let digits = Digits::of(id);
        to.short_opaque(&digits.bytes, digits.length);
    }
    Ok(())
}

/// The name of a group.
pub(super) fn group_name(compound: &Compound<'_>, gid: u32) -> OpResult<OwnerName> {
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

fn name(compound: &Compound<'_>, kind: IdKind, id: u32) -> OpResult<OwnerName> {
    let known = name_in_domain(compound, kind, id)?;
    Ok(known.map_or_else(|| OwnerName::Number(Digits::of(id)), OwnerName::Name))
}

/// `name@domain`, if the server has a domain and knows the name.
#[inline]
fn name_in_domain(compound: &Compound<'_>, kind: IdKind, id: u32) -> OpResult<Option<Arc<str>>> {
    let Some(owners) = &compound.cx.server.id_map else { return Ok(None) };
    match owners.name(kind, id, asking(compound)) {
        Err(Fault::Defer) => Err(Failure::Defer),
        // A number is better than no attributes.
        known => Ok(known.ok().flatten()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 7, 10, 65_534, u32::MAX] {
            let name = OwnerName::Number(Digits::of(number));
            assert_eq!(name.as_bytes(), number.to_string().as_bytes());
        }
    }
}
