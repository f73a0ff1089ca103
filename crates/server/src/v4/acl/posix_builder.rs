//! A POSIX ACL under construction, from NFSv4 entries in their order.
//!
//! POSIX applies only one entry to a caller who matches several. So a denial for a user also applies to the owner, who
//! may be that user, and a denial for a group to everybody who may be a member.

use std::collections::BTreeMap;

use proto::nfs4::{ACE_DELETE, ACE_READ_ACL, ACE_READ_ATTRIBUTES};
use vfs::{Access, AclEntry, AclTag, PosixAcl};

use super::{NumericAce, Who, permissions};

/// POSIX grants these to everybody or decides them elsewhere, so they cannot be denied here.
const CANNOT_BE_DENIED: u32 = ACE_READ_ATTRIBUTES | ACE_READ_ACL | ACE_DELETE;

/// The permissions of one entry; for each bit the first NFSv4 entry counts.
#[derive(Debug, Clone, Copy, Default)]
struct Bits {
    allowed: u32,
    denied: u32,
}

impl Bits {
    fn apply(&mut self, allows: bool, mask: u32) {
        if allows {
            self.allowed |= mask & !self.denied;
        } else {
            self.denied |= mask & !self.allowed;
        }
    }

    fn are_unknown(self) -> bool {
        self.allowed == 0 && self.denied == 0
    }
}

/// A POSIX ACL under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct PosixAclBuilder {
    owner: Bits,
    owning_group: Bits,
    other: Bits,
    /// The initial permissions of a user or group that was not named yet.
    unnamed: Bits,
    users: BTreeMap<u32, Bits>,
    groups: BTreeMap<u32, Bits>,
    has_entries: bool,
}

impl PosixAclBuilder {
    /// Applies the next entry.
    pub(super) fn apply(&mut self, entry: &NumericAce) {
        let NumericAce { allows, mask, .. } = *entry;
        self.has_entries = true;
        match entry.who {
            Who::Owner => self.owner.apply(allows, mask),
            Who::User(uid) => {
                self.users.entry(uid).or_insert(self.unnamed).apply(allows, mask);
                if !allows {
                    self.owner.apply(false, mask);
                }
            }
            Who::OwningGroup if allows => self.owning_group.apply(true, mask),
            Who::Group(gid) if allows => self.groups.entry(gid).or_insert(self.unnamed).apply(true, mask),
            Who::OwningGroup => self.apply_to_members(false, mask),
            Who::Group(gid) => {
                self.groups.entry(gid).or_insert(self.unnamed);
                self.apply_to_members(false, mask);
            }
            Who::Everyone => {
                self.apply_to_members(allows, mask);
                self.other.apply(allows, mask);
            }
        }
    }

    /// Applies to everybody but `other`: the unnamed callers are in none of the groups.
    fn apply_to_members(&mut self, allows: bool, mask: u32) {
        let named = self.users.values_mut().chain(self.groups.values_mut());
        let all = named.chain([&mut self.owner, &mut self.owning_group, &mut self.unnamed]);
        all.for_each(|bits| bits.apply(allows, mask));
    }

    /// Whether any entry was applied.
    pub(super) fn has_entries(&self) -> bool {
        self.has_entries
    }

    /// Whether a denial contradicts what POSIX always grants.
    pub(super) fn denies_too_much(&self) -> bool {
        let named = self.users.values().chain(self.groups.values());
        let mut all = named.chain([&self.owner, &self.owning_group, &self.other]);
        all.any(|bits| bits.denied & CANNOT_BE_DENIED != 0) || self.owner.denied & permissions::OWNER != 0
    }

    /// Takes from `other` the permissions of owner, owning group and everybody else that are not set yet; POSIX
    /// requires them.
    pub(super) fn complete_from(&mut self, other: &PosixAclBuilder) {
        let own = [&mut self.owner, &mut self.owning_group, &mut self.other];
        for (bits, from) in own.into_iter().zip([other.owner, other.owning_group, other.other]) {
            if bits.are_unknown() {
                *bits = from;
            }
        }
    }

    /// The finished ACL.
    pub(super) fn finish(&self, is_directory: bool) -> PosixAcl {
        let given = |bits: Bits| permissions::given_by(bits.allowed, is_directory);
        let users = self.users.iter().map(|(&uid, &bits)| (AclTag::User(uid), given(bits)));
        let groups = self.groups.iter().map(|(&gid, &bits)| (AclTag::Group(gid), given(bits)));
        let mut entries: Vec<(AclTag, Access)> = users.chain(groups).collect();
        let names_others = !entries.is_empty();
        entries.push((AclTag::OwningGroup, given(self.owning_group)));
        if names_others {
            let most = entries.iter().fold(Access::NONE, |sum, (_, allowed)| sum | *allowed);
            entries.push((AclTag::Mask, most));
        }
        entries.extend([(AclTag::Owner, given(self.owner)), (AclTag::Other, given(self.other))]);
        let entries = entries.into_iter().map(|(tag, allowed)| AclEntry { tag, allowed }).collect();
        PosixAcl::new(entries).expect("there is one entry for each, and a mask; NFSv4's lists are shorter than POSIX's")
    }
}
