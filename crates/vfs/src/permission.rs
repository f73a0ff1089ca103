//! Checks the permission bits of a file.

use crate::{Access, Attributes, Caller, FileKind};

/// The rights that the permission bits of a file give to `caller` (POSIX.1-2017 §4.5).
///
/// Root may do everything, but only execute a file with an execute bit.
pub fn by_mode(attributes: &Attributes, caller: &Caller<'_>) -> Access {
    if caller.is_root() {
        return superuser(attributes);
    }
    let class = if caller.uid == attributes.uid {
        attributes.mode >> 6
    } else if caller.is_in_group(attributes.gid) {
        attributes.mode >> 3
    } else {
        attributes.mode
    };
    Access::from_mode_bits(class)
}

fn superuser(attributes: &Attributes) -> Access {
    if attributes.kind == FileKind::Regular && attributes.mode & 0o111 == 0 {
        Access::READ | Access::WRITE
    } else {
        Access::ALL
    }
}

/// Whether `caller` has the rights of the file's owner: the owner or root.
pub fn is_owner(attributes: &Attributes, caller: &Caller<'_>) -> bool {
    caller.is_root() || caller.uid == attributes.uid
}

/// Whether the sticky bit of `dir` prevents `caller` from removing or renaming `victim` in it.
pub fn is_sticky_for(dir: &Attributes, victim: &Attributes, caller: &Caller<'_>) -> bool {
    dir.mode & 0o1000 != 0 && !is_owner(dir, caller) && !is_owner(victim, caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mode: u32) -> Attributes {
        Attributes { mode, uid: 10, gid: 20, ..Attributes::new(FileKind::Regular, 1) }
    }

    fn caller(uid: u32, gid: u32, groups: &[u32]) -> Caller<'_> {
        Caller { uid, gid, groups }
    }

    #[test]
    fn first_class_that_matches_decides_even_when_a_later_one_gives_more() {
        assert_eq!(by_mode(&file(0o077), &caller(10, 20, &[])), Access::NONE);
        assert_eq!(by_mode(&file(0o707), &caller(11, 20, &[])), Access::NONE);
        assert_eq!(by_mode(&file(0o704), &caller(11, 21, &[20])), Access::NONE);
        assert_eq!(by_mode(&file(0o704), &caller(11, 21, &[])), Access::READ);
    }

    #[test]
    fn superuser_runs_only_what_somebody_may_run() {
        assert!(!by_mode(&file(0o666), &Caller::ROOT).contains(Access::EXECUTE));
        assert!(by_mode(&file(0o010), &Caller::ROOT).contains(Access::ALL));
    }

    #[test]
    fn sticky_directory_protects_files_of_others() {
        let dir = Attributes { kind: FileKind::Directory, uid: 1, ..file(0o1777) };
        assert!(is_sticky_for(&dir, &file(0o644), &caller(11, 0, &[])));
        assert!(!is_sticky_for(&dir, &file(0o644), &caller(10, 0, &[])));
        assert!(!is_sticky_for(&dir, &file(0o644), &caller(1, 0, &[])));
    }
}
