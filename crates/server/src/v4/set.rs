//! Attributes that a client wants set, as `fattr4` holds them.

use proto::nfs4::{Attribute, AttributeValue, Bitmap, Fattr, FattrError, MinorVersion, Principal, SetTime, Status};
use vfs::{SetAttributes, Timestamp};

use super::attributes;
use super::failure::Outcome;

/// Attributes to set, and which they are.
pub(super) struct NewAttributes {
    pub(super) set: SetAttributes,
    pub(super) mask: Bitmap,
}

impl NewAttributes {
    /// Reads the attributes.
    ///
    /// An attribute that is not supported is ATTRNOTSUPP, one that can only be read is INVAL (RFC 8881 §18.30.3).
    pub(super) fn parse(fattr: &Fattr<'_>, minor: MinorVersion) -> Outcome<NewAttributes> {
        if !fattr.mask.difference(attributes::supported(minor)).is_empty() {
            return Err(Status::AttrNotSupp.into());
        }
        let mut new = NewAttributes { set: SetAttributes::default(), mask: fattr.mask };
        for value in fattr.values() {
            let value = value.map_err(|error| match error {
                FattrError::NotSupported { .. } => Status::AttrNotSupp,
                FattrError::Value(_) | FattrError::Trailing { .. } => Status::BadXdr,
            })?;
            new.take(&value)?;
        }
        Ok(new)
    }

    fn take(&mut self, value: &AttributeValue<'_>) -> Outcome<()> {
        let set = &mut self.set;
        match value {
            AttributeValue::Size(size_bytes) => set.size_bytes = Some(*size_bytes),
            AttributeValue::Mode(mode) if *mode > 0o7777 => return Err(Status::Inval.into()),
            AttributeValue::Mode(mode) => set.mode = Some(*mode),
            AttributeValue::ModeUmask(both) => set.mode = Some(both.mode & !both.umask & 0o7777),
            AttributeValue::Owner(owner) => set.uid = Some(id_of(owner)?),
            AttributeValue::OwnerGroup(group) => set.gid = Some(id_of(group)?),
            AttributeValue::TimeAccessSet(time) => set.accessed = Some(time_of(time)?),
            AttributeValue::TimeModifySet(time) => set.modified = Some(time_of(time)?),
            _ => return Err(Status::Inval.into()),
        }
        Ok(())
    }
}

/// A user or a group by number, with or without a domain behind it (RFC 8881 §5.9).
fn id_of(principal: &Principal<'_>) -> Outcome<u32> {
    let text = std::str::from_utf8(principal.0).map_err(|_| Status::Inval)?;
    let number = text.split_once('@').map_or(text, |(name, _)| name);
    if number.is_empty() {
        return Err(Status::Inval.into());
    }
    Ok(number.parse().map_err(|_| Status::BadOwner)?)
}

fn time_of(time: &SetTime) -> Outcome<vfs::SetTime> {
    match time {
        SetTime::ServerTime => Ok(vfs::SetTime::Now),
        SetTime::ClientTime(time) if time.nanoseconds < 1_000_000_000 => {
            Ok(vfs::SetTime::To(Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds }))
        }
        SetTime::ClientTime(_) => Err(Status::Inval.into()),
    }
}

/// The attributes that can be set while a file is made exclusively: not the times, where a file system may keep the verifier
/// (RFC 8881 §5.8.1.14).
pub(super) const fn settable_on_exclusive_create() -> Bitmap {
    Attribute::set(&[Attribute::Size, Attribute::Mode, Attribute::Owner, Attribute::OwnerGroup])
}

/// The attributes in which the verifier of an exclusive create may be kept: the client sets them afterwards (§18.16.3).
pub(super) const fn taken_by_the_verifier() -> Bitmap {
    Attribute::set(&[Attribute::TimeAccess, Attribute::TimeModify])
}
