//! Access lists of POSIX 1003.1e draft 17: entries for the owner, the owning group and everybody else, for further
//! users and groups, and a mask that limits all but the owner and everybody else. A [`PosixAcl`] is always complete and
//! in order.

use crate::{Access, Attributes, Caller};

/// The maximum number of entries: they must fit in the longest extended attribute of Linux, 64 KiB.
const MAX_ENTRIES: usize = 8191;

/// The subject of an entry, in the order of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AclTag {
    /// The owner of the file.
    Owner,
    /// Another user.
    User(u32),
    /// The group of the file.
    OwningGroup,
    /// Another group.
    Group(u32),
    /// The maximum rights of other users, the owning group and other groups.
    Mask,
    /// Everybody else.
    Other,
}

/// One entry of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AclEntry {
    /// Whom it is about.
    pub tag: AclTag,
    /// What they may do.
    pub allowed: Access,
}

/// Why entries do not form a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AclError {
    /// The entry for the owner, the owning group or everybody else is missing.
    #[error("an access list needs entries for the owner, the owning group and everybody else")]
    Incomplete,
    /// Two entries have the same subject.
    #[error("two entries of an access list are about the same user or group")]
    Twice,
    /// Other users or groups are named, and there is no mask.
    #[error("an access list that names users or groups needs a mask")]
    NoMask,
    /// There are more than any list has.
    #[error("an access list has more than {MAX_ENTRIES} entries")]
    TooLong,
}

/// A list that is complete, without duplicates, and in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PosixAcl {
    entries: Vec<AclEntry>,
}

/// The access list of a file and, for a directory, the default list of new files in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acls {
    /// Who may use the file. Without a stored list, it follows from the permission bits.
    pub access: PosixAcl,
    /// The list that new files in the directory inherit.
    pub default: Option<PosixAcl>,
}

impl PosixAcl {
    /// Makes a list.
    ///
    /// # Errors
    /// An [`AclError`] when the entries do not form one.
    pub fn new(mut entries: Vec<AclEntry>) -> Result<PosixAcl, AclError> {
        if entries.len() > MAX_ENTRIES {
            return Err(AclError::TooLong);
        }
        entries.sort_by_key(|entry| entry.tag);
        if entries.is_sorted_by(|one, next| one.tag < next.tag) {
            let acl = PosixAcl { entries };
            acl.check().map(|()| acl)
        } else {
            Err(AclError::Twice)
        }
    }

    fn check(&self) -> Result<(), AclError> {
        let has = |tag| self.get(tag).is_some();
        if !(has(AclTag::Owner) && has(AclTag::OwningGroup) && has(AclTag::Other)) {
            return Err(AclError::Incomplete);
        }
        if self.names_others() && !has(AclTag::Mask) { Err(AclError::NoMask) } else { Ok(()) }
    }

    fn names_others(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.tag, AclTag::User(_) | AclTag::Group(_)))
    }

    /// The list that is equal to the nine permission bits of `mode`.
    pub fn from_mode(mode: u32) -> PosixAcl {
        let entry = |tag, bits| AclEntry { tag, allowed: Access::from_mode_bits(bits) };
        let entries =
            vec![entry(AclTag::Owner, mode >> 6), entry(AclTag::OwningGroup, mode >> 3), entry(AclTag::Other, mode)];
        PosixAcl { entries }
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[AclEntry] {
        &self.entries
    }

    /// The rights of the entry of `tag`, if there is one.
    pub fn get(&self, tag: AclTag) -> Option<Access> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.allowed)
    }

    /// The maximum rights of named users, the owning group and named groups.
    pub fn mask(&self) -> Access {
        self.get(AclTag::Mask).unwrap_or(Access::ALL)
    }

    /// Whether nine permission bits can express the list.
    pub fn is_minimal(&self) -> bool {
        self.entries.len() == 3
    }

    /// The nine permission bits of a file with this list. The group's bits are the mask, if there is one.
    pub fn mode(&self) -> u32 {
        let bits = |tag| self.get(tag).unwrap_or(Access::NONE).mode_bits();
        let group = if self.get(AclTag::Mask).is_some() { AclTag::Mask } else { AclTag::OwningGroup };
        bits(AclTag::Owner) << 6 | bits(group) << 3 | bits(AclTag::Other)
    }

    /// Stores the nine bits of `mode` in the entries that [`PosixAcl::mode`] takes them from, as `chmod` does.
    pub fn set_mode(&mut self, mode: u32) {
        let has_mask = self.get(AclTag::Mask).is_some();
        for entry in &mut self.entries {
            let bits = match entry.tag {
                AclTag::Owner => mode >> 6,
                AclTag::Mask => mode >> 3,
                AclTag::OwningGroup if !has_mask => mode >> 3,
                AclTag::Other => mode,
                _ => continue,
            };
            entry.allowed = Access::from_mode_bits(bits);
        }
    }

    /// The list that a new file with `mode` inherits from this default list: only rights that both grant.
    #[must_use]
    pub fn inherited(&self, mode: u32) -> PosixAcl {
        let mut inherited = self.clone();
        inherited.set_mode(self.mode() & mode);
        inherited
    }

    /// The rights of `caller`, who is not root.
    ///
    /// A caller in several groups of the list gets the rights of all of them. (The kernel requires one group with all
    /// rights of an open. Here each right is checked on its own.)
    pub fn evaluate(&self, attributes: &Attributes, caller: &Caller<'_>) -> Access {
        if caller.uid == attributes.uid {
            return self.get(AclTag::Owner).unwrap_or(Access::NONE);
        }
        if let Some(allowed) = self.get(AclTag::User(caller.uid)) {
            return allowed & self.mask();
        }
        match self.by_groups(attributes.gid, caller) {
            Some(allowed) => allowed & self.mask(),
            None => self.get(AclTag::Other).unwrap_or(Access::NONE),
        }
    }

    fn by_groups(&self, owning_group: u32, caller: &Caller<'_>) -> Option<Access> {
        let matches = |entry: &&AclEntry| match entry.tag {
            AclTag::OwningGroup => caller.is_in_group(owning_group),
            AclTag::Group(gid) => caller.is_in_group(gid),
            _ => false,
        };
        self.entries.iter().filter(matches).map(|entry| entry.allowed).reduce(|sum, one| sum | one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileKind;

    fn acl(entries: &[(AclTag, u32)]) -> Result<PosixAcl, AclError> {
        let entry = |&(tag, bits)| AclEntry { tag, allowed: Access::from_mode_bits(bits) };
        PosixAcl::new(entries.iter().map(entry).collect())
    }

    fn with_a_user_and_a_group() -> PosixAcl {
        use AclTag::*;
        acl(&[(Other, 0), (Mask, 5), (Group(8), 7), (OwningGroup, 1), (User(7), 6), (Owner, 7)]).unwrap()
    }

    #[test]
    fn list_that_is_not_whole_is_none() {
        use AclTag::*;
        assert_eq!(acl(&[(Owner, 7), (OwningGroup, 7)]), Err(AclError::Incomplete));
        assert_eq!(acl(&[(Owner, 7), (OwningGroup, 7), (Other, 7), (User(1), 7)]), Err(AclError::NoMask));
        let twice = [(Owner, 7), (OwningGroup, 7), (Other, 7), (Mask, 7), (User(1), 7), (User(1), 0)];
        assert_eq!(acl(&twice), Err(AclError::Twice));
    }

    #[test]
    fn mask_bounds_all_but_the_owner_and_everybody_else() {
        let acl = with_a_user_and_a_group();
        let file = Attributes { uid: 1, gid: 2, ..Attributes::new(FileKind::Regular, 1) };
        let given = |uid, gid| acl.evaluate(&file, &Caller { uid, gid, groups: &[] }).mode_bits();
        assert_eq!([given(1, 9), given(7, 9), given(9, 2), given(9, 8), given(9, 9)], [7, 4, 1, 5, 0]);
    }

    #[test]
    fn mode_of_a_list_with_a_mask_shows_the_mask_and_sets_it() {
        let mut acl = with_a_user_and_a_group();
        assert_eq!(acl.mode(), 0o750);
        acl.set_mode(0o624);
        assert_eq!(acl.mode(), 0o624);
        assert_eq!(acl.get(AclTag::OwningGroup), Some(Access::EXECUTE));
        assert_eq!(acl.mask(), Access::WRITE);
    }

    #[test]
    fn new_file_gets_no_more_than_the_default_list_and_its_mode_say() {
        assert_eq!(with_a_user_and_a_group().inherited(0o666).mode(), 0o640);
        assert_eq!(PosixAcl::from_mode(0o751).inherited(0o666).mode(), 0o640);
    }
}
