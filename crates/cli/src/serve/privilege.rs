//! The privileges of the server.

use std::path::{Path, PathBuf};

use config::Defaults;
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};

/// The privileges of this process that matter to exports.
#[derive(Debug, Clone, Copy)]
pub struct Privilege {
    uid: u32,
    gid: u32,
    can_switch: bool,
}

impl Privilege {
    /// Of this process.
    pub fn of_this_process() -> Privilege {
        let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
        let has_capabilities = capabilities(None).is_ok_and(|sets| sets.effective.contains(needed));
        Privilege {
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
            can_switch: geteuid().is_root() && has_capabilities,
        }
    }

    /// The state directory: the given one or the default of this user. It is absolute, since messages that name it are
    /// read elsewhere.
    pub fn state_dir(&self, given: Option<&Path>) -> Option<PathBuf> {
        let given = given.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()));
        given.or_else(|| daemon::default_state_dir(self.is_superuser()))
    }

    /// Whether this process runs as root.
    pub fn is_superuser(&self) -> bool {
        self.uid == 0
    }

    /// The user and group of this process.
    pub fn own(&self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    /// The defaults of exports.
    pub fn defaults(&self) -> Defaults {
        if self.can_switch { Defaults::privileged() } else { Defaults::unprivileged(self.uid, self.gid) }
    }

    /// Logs the consequences for exports.
    pub fn log(&self) {
        if !self.can_switch {
            tracing::info!(
                uid = self.uid,
                gid = self.gid,
                "this process cannot act as other users: unless an export says otherwise, all clients act as its own user"
            );
        }
    }
}
