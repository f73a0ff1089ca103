use proto::nfs4::*;
use vfs::{Access, AclEntry, AclTag, Acls, Attributes, Caller, FileKind, PosixAcl};

use super::to_nfs4::entries;
use super::{NumericAce, Who, to_posix};

/// The number of random ACLs in each test.
const ROUNDS: u64 = 4_000;

const ALL_DATA: u32 = ACE_READ_DATA | ACE_WRITE_DATA | ACE_APPEND_DATA | ACE_EXECUTE;

/// Pseudo-random numbers, equal in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn access(&mut self) -> Access {
        Access::from_mode_bits(self.below(8) as u32)
    }

    fn posix(&mut self) -> PosixAcl {
        use AclTag::{Group, Mask, Other, Owner, OwningGroup, User};
        let named = [User(1), User(2), Group(1), Group(2)];
        let tags = named.into_iter().filter(|_| self.below(2) == 0).collect::<Vec<_>>();
        let all = tags.into_iter().chain([Owner, OwningGroup, Mask, Other]);
        PosixAcl::new(all.map(|tag| AclEntry { tag, allowed: self.access() }).collect()).unwrap()
    }

    fn entry(&mut self) -> NumericAce {
        let who = match self.below(7) {
            0 => Who::Owner,
            1 => Who::OwningGroup,
            2 => Who::Everyone,
            3 => Who::User(1),
            4 => Who::User(2),
            5 => Who::Group(1),
            _ => Who::Group(2),
        };
        let mask = self.below(64) as u32 & ALL_DATA;
        NumericAce { allows: self.below(2) == 0, flags: 0, mask, who }
    }
}

/// Every kind of caller: users 1 to 4 in each subset of the groups 1, 2 and 9. The file belongs to user 3 and group 9,
/// or to user 1 and group 1.
fn callers() -> Vec<(u32, Vec<u32>)> {
    let groups =
        |set: u32| [1, 2, 9].into_iter().enumerate().filter(move |(bit, _)| set >> bit & 1 == 1).map(|(_, g)| g);
    (1..=4).flat_map(|uid| (0..8).map(move |set| (uid, groups(set).collect()))).collect()
}

fn file(uid: u32, gid: u32) -> Attributes {
    Attributes { uid, gid, ..Attributes::new(FileKind::Regular, 1) }
}

/// The permissions by NFSv4 rules (RFC 8881 §6.2.1): each bit by the first entry that matches the caller and contains
/// it.
fn judged(entries: &[NumericAce], file: &Attributes, caller: &Caller<'_>) -> Access {
    let is_about = |entry: &&NumericAce| match entry.who {
        Who::Owner => caller.uid == file.uid,
        Who::OwningGroup => caller.is_in_group(file.gid),
        Who::Everyone => true,
        Who::User(uid) => caller.uid == uid,
        Who::Group(gid) => caller.is_in_group(gid),
    };
    let (mut allowed, mut denied) = (0, 0);
    for entry in entries.iter().filter(is_about) {
        if entry.allows { allowed |= entry.mask & !denied } else { denied |= entry.mask & !allowed }
    }
    super::permissions::given_by(allowed, false)
}

/// Compares each caller's permissions by `entries` with those by `acl`.
fn compare(entries: &[NumericAce], acl: &PosixAcl, agree: impl Fn(Access, Access) -> bool) {
    for file in [file(3, 9), file(1, 1)] {
        for (uid, groups) in callers() {
            let caller = Caller { uid, gid: 77, groups: &groups };
            let (by_entries, by_acl) = (judged(entries, &file, &caller), acl.evaluate(&file, &caller));
            assert!(agree(by_entries, by_acl), "{uid} in {groups:?}: {by_entries:?}, {by_acl:?}; {entries:?}; {acl:?}");
        }
    }
}

#[test]
fn nfs4_acl_grants_everybody_what_the_posix_acl_grants() {
    let mut numbers = Numbers(1);
    for _ in 0..ROUNDS {
        let access = numbers.posix();
        let mapped = entries(&Acls { access: access.clone(), default: None }, false);
        compare(&mapped, &access, |by_entries, by_acl| by_entries == by_acl);
    }
}

#[test]
fn posix_acl_grants_nobody_more_than_the_nfs4_acl() {
    let mut numbers = Numbers(2);
    for _ in 0..ROUNDS {
        let count = numbers.below(7);
        let entries: Vec<NumericAce> = (0..count).map(|_| numbers.entry()).collect();
        let acls = to_posix::lists(&entries, false).unwrap();
        compare(&entries, &acls.access, |by_entries, by_acl| by_entries.contains(by_acl));
    }
}

#[test]
fn nfs4_acl_of_a_posix_acl_converts_back_to_it() {
    let mut numbers = Numbers(3);
    for _ in 0..ROUNDS {
        let acls = Acls { access: numbers.posix(), default: Some(numbers.posix()) };
        let mapped = entries(&acls, true);
        let mapped: Vec<NumericAce> = mapped
            .into_iter()
            .map(|entry| NumericAce { flags: entry.flags & !ACE_FLAG_IDENTIFIER_GROUP, ..entry })
            .collect();
        let back = to_posix::lists(&mapped, true).unwrap();
        for (before, after) in [(&acls.access, &back.access), (acls.default.as_ref().unwrap(), &back.default.unwrap())]
        {
            for (uid, groups) in callers() {
                let caller = Caller { uid, gid: 77, groups: &groups };
                let given = |acl: &PosixAcl| acl.evaluate(&file(3, 9), &caller);
                assert_eq!(given(before), given(after), "{before:?} became {after:?} for {caller:?}");
            }
        }
    }
}

fn entry(allows: bool, flags: u32, mask: u32, who: Who) -> NumericAce {
    NumericAce { allows, flags, mask, who }
}

#[test]
fn list_that_posix_cannot_hold_is_refused() {
    let refused = |entry, is_directory| to_posix::lists(&[entry], is_directory) == Err(Status::AttrNotSupp);
    let inherited = |flags| entry(true, flags, ACE_READ_DATA, Who::Everyone);
    let both = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;
    assert!(!refused(inherited(both), true) && refused(inherited(both), false));
    for flags in [
        ACE_FLAG_FILE_INHERIT,
        ACE_FLAG_DIRECTORY_INHERIT,
        ACE_FLAG_INHERIT_ONLY,
        both | ACE_FLAG_NO_PROPAGATE_INHERIT,
        both | ACE_FLAG_INHERITED,
    ] {
        assert!(refused(inherited(flags), true), "{flags:#x}");
    }
    for mask in [ACE_READ_ATTRIBUTES, ACE_READ_ACL, ACE_DELETE] {
        assert!(refused(entry(false, 0, mask, Who::User(1)), false), "{mask:#x}");
        assert!(!refused(entry(true, 0, mask, Who::User(1)), false), "{mask:#x}");
    }
    assert!(refused(entry(false, 0, ACE_WRITE_ACL, Who::Owner), false));
}

#[test]
fn inherited_entries_become_the_default_list_and_leave_the_directory_alone_when_they_say_so() {
    let both = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;
    let list = [
        entry(true, 0, ACE_READ_DATA, Who::Everyone),
        entry(true, both, ACE_EXECUTE, Who::User(1)),
        entry(true, both | ACE_FLAG_INHERIT_ONLY, ACE_READ_DATA, Who::Group(2)),
    ];
    let acls = to_posix::lists(&list, true).unwrap();
    let default = acls.default.unwrap();
    assert_eq!(acls.access.get(AclTag::User(1)), Some(Access::READ | Access::EXECUTE));
    assert_eq!(acls.access.get(AclTag::Group(2)), None);
    assert_eq!(default.get(AclTag::User(1)), Some(Access::EXECUTE));
    assert_eq!(default.get(AclTag::Group(2)), Some(Access::READ));
    assert_eq!(default.get(AclTag::Other), Some(Access::READ), "taken from the directory's own");
}
