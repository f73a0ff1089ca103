//! Attributes that a client sets, decoded from `fattr4`.

use proto::nfs4::{Attribute, AttributeValue, Bitmap, Fattr, FattrError, ModeUmask, SetTime, Status};
use vfs::{Acls, Attributes, Entry, FileKind, SetAttributes, Timestamp};

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use super::{acl, attributes, owner};
use crate::node::Node;
use crate::set_attributes;

/// The attributes that set the permission bits.
const MODES: Bitmap = Attribute::set(&[Attribute::Mode, Attribute::ModeUmask]);

/// The attributes to set, and their mask.
pub(super) struct NewAttributes {
    pub(super) set: SetAttributes,
    pub(super) mask: Bitmap,
    /// The ACLs, which are set after the mode (RFC 8881 §6.4.1.3).
    acls: Option<Acls>,
}

/// The target of the attributes.
#[derive(Clone, Copy)]
pub(super) struct For<'n> {
    /// The file, or the directory in which it will be created.
    pub(super) node: &'n Node<'n>,
    /// The kind of the file.
    pub(super) kind: FileKind,
}

impl NewAttributes {
    /// Decodes the attributes.
    ///
    /// An unsupported attribute gets ATTRNOTSUPP, a read-only one INVAL (RFC 8881 §18.30.3).
    pub(super) fn parse(compound: &Compound<'_>, fattr: &Fattr<'_>, of: For<'_>) -> OpResult<NewAttributes> {
        let supported = attributes::supported_for_all(compound.progress.minor, &of.node.properties());
        if !fattr.mask.difference(supported).is_empty() {
            return Err(Status::AttrNotSupp.into());
        }
        let mut new = NewAttributes { set: SetAttributes::default(), mask: fattr.mask, acls: None };
        for value in fattr.values() {
            let value = value.map_err(|error| match error {
                FattrError::NotSupported { .. } => Status::AttrNotSupp,
                FattrError::Value(_) | FattrError::Trailing { .. } => Status::BadXdr,
            })?;
            new.take(compound, &value, of)?;
        }
        Ok(new)
    }

    fn take(&mut self, compound: &Compound<'_>, value: &AttributeValue<'_>, of: For<'_>) -> OpResult<()> {
        let set = &mut self.set;
        let is_directory = of.kind == FileKind::Directory;
        match value {
            AttributeValue::Size(size_bytes) => set.size_bytes = Some(*size_bytes),
            AttributeValue::Mode(mode) if *mode > 0o7777 => return Err(Status::Inval.into()),
            AttributeValue::Mode(mode) => set.mode = Some(*mode),
            AttributeValue::ModeUmask(both) => set.mode = Some(masked(*both, of)?),
            AttributeValue::Owner(owner) => set.uid = Some(owner::user_id(compound, owner)?),
            AttributeValue::OwnerGroup(group) => set.gid = Some(owner::group_id(compound, group)?),
            // Both are the same ACL (RFC 8881 §6.2.2).
            AttributeValue::Acl(_) | AttributeValue::Dacl(_) if self.acls.is_some() => return Err(Status::Inval.into()),
            AttributeValue::Acl(acl) => self.acls = Some(acl::to_posix(compound, acl, is_directory)?),
            AttributeValue::Dacl(dacl) => self.acls = Some(acl::to_posix41(compound, dacl, is_directory)?),
            AttributeValue::TimeAccessSet(time) => set.accessed = Some(time_of(time)?),
            AttributeValue::TimeModifySet(time) => set.modified = Some(time_of(time)?),
            _ => return Err(Status::Inval.into()),
        }
        Ok(())
    }

    /// Sets all attributes of an existing file, or none. Returns those afterwards, where they are known.
    pub(super) fn apply(&self, node: &Node<'_>, before: &Attributes) -> OpResult<Option<Attributes>> {
        if self.acls.is_some() {
            set_attributes::check_acls(node, before)?;
        }
        set_attributes::check(node, before, &self.set)?;
        match &self.acls {
            Some(acls) => self.apply_with(node, before, acls).map(|()| None),
            None => Ok(Some(set_attributes::change(node, before, &self.set)?)),
        }
    }

    /// Those that are set of a file of this kind.
    pub(super) fn applied_to(&self, kind: FileKind) -> Bitmap {
        let ignored = if set_attributes::has_mode(kind) { Bitmap::EMPTY } else { MODES };
        self.mask.difference(ignored)
    }

    /// The ACLs are set first, since they can be restored and a truncated size cannot. They override the mode except
    /// for its three high bits (RFC 8881 §6.4.1.3).
    fn apply_with(&self, node: &Node<'_>, before: &Attributes, acls: &Acls) -> OpResult<()> {
        let earlier = node.fs().acls(&node.context, &node.handle)?;
        set_acls(node, acls)?;
        let mode = self.set.mode.map(|mode| (mode & !0o777) | acls.access.mode());
        set_attributes::change(node, before, &SetAttributes { mode, ..self.set }).map(drop).map_err(|fault| {
            // The first error is the more useful one.
            let _ = set_acls(node, &earlier);
            fault.into()
        })
    }

    /// The attributes to create a new file with. One that will get an ACL is private to its owner until then.
    pub(super) fn at_birth(&self) -> SetAttributes {
        let Some(acls) = &self.acls else { return self.set };
        let mode = (self.set.mode.unwrap_or(0) & !0o777) | (acls.access.mode() & 0o700);
        SetAttributes { mode: Some(mode), ..self.set }
    }

    /// Sets the ACLs of a new file, and returns the attributes that were set. If the file cannot have them, it stays
    /// private to its owner, and the client sees that they were not set (RFC 8881 §18.16.3).
    pub(super) fn finish(&self, dir: &Node<'_>, made: Entry) -> OpResult<(Entry, Bitmap)> {
        let Some(acls) = &self.acls else { return Ok((made, self.mask)) };
        let node = dir.sibling(made.handle);
        let mask = match set_acls(&node, acls) {
            Ok(()) => self.mask,
            Err(_) => self.mask.difference(MODES).difference(Attribute::set(&[Attribute::Acl, Attribute::Dacl])),
        };
        Ok((Entry { attributes: node.attributes()?, ..made }, mask))
    }
}

fn set_acls(node: &Node<'_>, acls: &Acls) -> OpResult<()> {
    node.fs().set_acls(&node.context, &node.handle, acls).map_err(|error| match error {
        // This file cannot have an ACL, though others of its file system can.
        vfs::Error::NotSupported => Failure::Status(Status::AttrNotSupp),
        error => error.into(),
    })
}

/// The mode of a new file: a default ACL of its directory replaces the umask (RFC 8275 §3.1).
fn masked(both: ModeUmask, of: For<'_>) -> OpResult<u32> {
    let node = of.node;
    let inherits = node.fs().properties().acls && node.fs().acls(&node.context, &node.handle)?.default.is_some();
    Ok(both.mode & 0o7777 & if inherits { 0o7777 } else { !both.umask })
}

fn time_of(time: &SetTime) -> OpResult<vfs::SetTime> {
    match time {
        SetTime::ServerTime => Ok(vfs::SetTime::Now),
        SetTime::ClientTime(time) if time.nanoseconds < 1_000_000_000 => {
            Ok(vfs::SetTime::To(Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds }))
        }
        SetTime::ClientTime(_) => Err(Status::Inval.into()),
    }
}

/// The attributes that may hold the verifier of an exclusive create: the client sets them afterwards (§18.16.3).
pub(super) const fn taken_by_the_verifier() -> Bitmap {
    Attribute::set(&[Attribute::TimeAccess, Attribute::TimeModify])
}
