//! Converts POSIX ACLs to an equivalent NFSv4 ACL.
//!
//! NFSv4 evaluates entries in order until all requested bits are allowed or one is denied; POSIX applies the best
//! match. So each entry comes with a denial of what a later entry would grant. Any matching group may grant, so the
//! denials for groups follow all grants for groups.

use proto::nfs4::{ACE_ALLOW, ACE_DENY, ACE_FLAG_IDENTIFIER_GROUP, ACE_FLAG_INHERIT_ONLY, Ace, Acl, Acl41, Principal};
use vfs::{Access, AclTag, Acls, PosixAcl};

use super::super::compound::Compound;
use super::super::failure::OpResult;
use super::super::owner::{self, OwnerName};
use super::{EVERYONE, GROUP, INHERIT, NumericAce, OWNER, Who, permissions};

/// An NFSv4 ACL with resolved names.
pub(in super::super) struct Nfs4Acl {
    entries: Vec<(NumericAce, OwnerName)>,
}

impl Nfs4Acl {
    /// The NFSv4 ACL for a file's POSIX ACLs.
    pub(in super::super) fn new(compound: &Compound<'_>, acls: &Acls, is_directory: bool) -> OpResult<Nfs4Acl> {
        let named = |entry: NumericAce| Ok((entry, name(compound, entry.who)?));
        let entries: OpResult<Vec<_>> = entries(acls, is_directory).into_iter().map(named).collect();
        Ok(Nfs4Acl { entries: entries? })
    }

    /// The attribute `acl`.
    pub(in super::super) fn acl(&self) -> Acl<'_> {
        Acl { aces: self.entries.iter().map(|(entry, who)| ace(entry, who.as_bytes())).collect() }
    }

    /// The attribute `dacl`, without automatic inheritance (RFC 8881 §6.4.3.2).
    pub(in super::super) fn dacl(&self) -> Acl41<'_> {
        Acl41 { flags: 0, acl: self.acl() }
    }
}

fn ace<'a>(entry: &NumericAce, who: &'a [u8]) -> Ace<'a> {
    let ace_type = if entry.allows { ACE_ALLOW } else { ACE_DENY };
    Ace { ace_type, flags: entry.flags, access_mask: entry.mask, who: Principal(who) }
}

fn name(compound: &Compound<'_>, who: Who) -> OpResult<OwnerName> {
    match who {
        Who::Owner => Ok(OwnerName::Special(OWNER)),
        Who::OwningGroup => Ok(OwnerName::Special(GROUP)),
        Who::Everyone => Ok(OwnerName::Special(EVERYONE)),
        Who::User(uid) => owner::user_name(compound, uid),
        Who::Group(gid) => owner::group_name(compound, gid),
    }
}

pub(super) fn entries(acls: &Acls, is_directory: bool) -> Vec<NumericAce> {
    let mut entries = AclWriter::of(&acls.access, 0, is_directory).write();
    if let Some(default) = &acls.default {
        entries.extend(AclWriter::of(default, INHERIT | ACE_FLAG_INHERIT_ONLY, is_directory).write());
    }
    entries
}

/// Converts one POSIX ACL.
struct AclWriter<'a> {
    acl: &'a PosixAcl,
    flags: u32,
    is_directory: bool,
    entries: Vec<NumericAce>,
}

impl<'a> AclWriter<'a> {
    fn of(acl: &'a PosixAcl, flags: u32, is_directory: bool) -> AclWriter<'a> {
        AclWriter { acl, flags, is_directory, entries: Vec::new() }
    }

    fn write(mut self) -> Vec<NumericAce> {
        self.owner();
        self.users();
        self.groups();
        let other = self.given(AclTag::Other);
        self.allow(Who::Everyone, other);
        self.entries
    }

    /// The permissions of the entry `tag` under the mask.
    fn given(&self, tag: AclTag) -> Access {
        let allowed = self.acl.get(tag).unwrap_or(Access::NONE);
        if matches!(tag, AclTag::Owner | AclTag::Other) { allowed } else { allowed & self.acl.mask() }
    }

    /// The permissions that any entry after the users grants.
    fn given_to_groups_and_others(&self) -> Access {
        let behind = self.acl.entries().iter().filter(|entry| entry.tag >= AclTag::OwningGroup);
        let counted = behind.filter(|entry| entry.tag != AclTag::Mask);
        counted.fold(Access::NONE, |sum, entry| sum | self.given(entry.tag))
    }

    fn owner(&mut self) {
        let users = self.acl.entries().iter().filter(|entry| matches!(entry.tag, AclTag::User(_)));
        let later = users.fold(self.given_to_groups_and_others(), |sum, entry| sum | self.given(entry.tag));
        let own = self.given(AclTag::Owner);
        self.deny(Who::Owner, own, later);
        self.allow(Who::Owner, own);
    }

    fn users(&mut self) {
        let later = self.given_to_groups_and_others();
        for entry in self.acl.entries() {
            if let AclTag::User(uid) = entry.tag {
                let own = self.given(entry.tag);
                self.deny(Who::User(uid), own, later);
                self.allow(Who::User(uid), own);
            }
        }
    }

    fn groups(&mut self) {
        let groups: Vec<(AclTag, Who)> = self.acl.entries().iter().filter_map(|entry| group(entry.tag)).collect();
        for &(tag, who) in &groups {
            let own = self.given(tag);
            self.allow(who, own);
        }
        let later = self.given(AclTag::Other);
        for &(tag, who) in &groups {
            let own = self.given(tag);
            self.deny(who, own, later);
        }
    }

    fn allow(&mut self, who: Who, access: Access) {
        let always = permissions::ANYONE | if who == Who::Owner { permissions::OWNER } else { 0 };
        self.push(true, who, always | permissions::of(access, self.is_directory));
    }

    /// Denies what entries that come `later` would grant and this one's `own` does not.
    fn deny(&mut self, who: Who, own: Access, later: Access) {
        let denied = permissions::of(later, self.is_directory) & !permissions::of(own, self.is_directory);
        if denied != 0 {
            self.push(false, who, denied);
        }
    }

    fn push(&mut self, allows: bool, who: Who, mask: u32) {
        let group = if matches!(who, Who::Group(_)) { ACE_FLAG_IDENTIFIER_GROUP } else { 0 };
        self.entries.push(NumericAce { allows, flags: self.flags | group, mask, who });
    }
}

fn group(tag: AclTag) -> Option<(AclTag, Who)> {
    match tag {
        AclTag::OwningGroup => Some((tag, Who::OwningGroup)),
        AclTag::Group(gid) => Some((tag, Who::Group(gid))),
        _ => None,
    }
}
