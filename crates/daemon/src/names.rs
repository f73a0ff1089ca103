//! The users and groups of this machine, from its name service (`/etc/passwd`, LDAP …).

use std::io;

use nix::unistd::{Gid, Group, Uid, User};
use server::{NameService, Principal};

/// The machine's name service.
pub(crate) struct MachineNames;

impl NameService for MachineNames {
    fn name(&self, principal: Principal, id: u32) -> io::Result<Option<String>> {
        Ok(match principal {
            Principal::User => User::from_uid(Uid::from_raw(id))?.map(|user| user.name),
            Principal::Group => Group::from_gid(Gid::from_raw(id))?.map(|group| group.name),
        })
    }

    fn id(&self, principal: Principal, name: &str) -> io::Result<Option<u32>> {
        Ok(match principal {
            Principal::User => User::from_name(name)?.map(|user| user.uid.as_raw()),
            Principal::Group => Group::from_name(name)?.map(|group| group.gid.as_raw()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superuser_has_a_name_and_an_unknown_number_has_none() {
        for principal in [Principal::User, Principal::Group] {
            let name = MachineNames.name(principal, 0).unwrap().unwrap();
            assert_eq!(MachineNames.id(principal, &name).unwrap(), Some(0));
            assert_eq!(MachineNames.name(principal, 3_999_999_999).unwrap(), None);
            assert_eq!(MachineNames.id(principal, "nobody of this name").unwrap(), None);
        }
    }
}
