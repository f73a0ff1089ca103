//! The users and groups of this machine, from its name service (`/etc/passwd`, LDAP …).

use std::io;

use nix::unistd::{Gid, Group, Uid, User};

use crate::{IdKind, NameService};

/// The machine's name service.
#[derive(Debug, Clone, Copy)]
pub struct MachineNames;

impl NameService for MachineNames {
    fn name(&self, kind: IdKind, id: u32) -> io::Result<Option<String>> {
        Ok(match kind {
            IdKind::User => User::from_uid(Uid::from_raw(id))?.map(|user| user.name),
            IdKind::Group => Group::from_gid(Gid::from_raw(id))?.map(|group| group.name),
        })
    }

    fn id(&self, kind: IdKind, name: &str) -> io::Result<Option<u32>> {
        Ok(match kind {
            IdKind::User => User::from_name(name)?.map(|user| user.uid.as_raw()),
            IdKind::Group => Group::from_name(name)?.map(|group| group.gid.as_raw()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superuser_has_a_name_and_an_unknown_number_has_none() {
        for kind in [IdKind::User, IdKind::Group] {
            let name = MachineNames.name(kind, 0).unwrap().unwrap();
            assert_eq!(MachineNames.id(kind, &name).unwrap(), Some(0));
            assert_eq!(MachineNames.name(kind, 3_999_999_999).unwrap(), None);
            assert_eq!(MachineNames.id(kind, "nobody of this name").unwrap(), None);
        }
    }
}
