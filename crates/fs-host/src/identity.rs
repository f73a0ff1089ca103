//! As whom a thread uses files.
//!
//! A privileged server makes and changes files as the caller, so that owners, set-group-id directories, sticky bits and
//! quotas come out as the kernel decides them. The identity belongs to the thread and stays until another one is
//! needed: consecutive calls of one caller switch once. Handles are opened and names looked up as the server's own
//! user, because a switched thread has lost the capabilities for that.
//!
//! Nothing of this uses the C library's functions, which would switch every thread of the process.

use std::cell::RefCell;

use rustix::process::Gid;
use rustix::thread::CapabilitySet;
use vfs::{Caller, Error, Result};

use crate::failure::failed;
use crate::sys;

/// The most further groups that are set: what Linux allows (`NGROUPS_MAX`).
const MAX_GROUPS: usize = 65_536;

thread_local! {
    /// One for the thread and not for each export, since the kernel's is one for the thread as well.
    static ASSUMED: RefCell<Assumed> = const { RefCell::new(Assumed::NONE) };
}

/// Whether this process can act as its callers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Impersonation {
    switches: bool,
}

/// What is known of the thread; nothing at first, because a new thread begins as whoever its maker was at that moment.
struct Assumed {
    uid: Option<u32>,
    gid: Option<u32>,
    groups: Option<Vec<u32>>,
    is_bound_by_quota: bool,
}

/// Makes this thread the server's own user again, after calls of an export may have left it a caller: for code that
/// shares the thread with them and uses files by itself. Without privileges no thread is ever switched, and this does
/// nothing.
///
/// # Errors
/// [`Error::NotPermitted`] when the process has given up the privilege to switch back.
pub fn act_as_server() -> Result<()> {
    Impersonation { switches: rustix::process::geteuid().is_root() }.own()
}

impl Impersonation {
    /// Finds out by trying.
    pub(crate) fn probe() -> Impersonation {
        const NOBODY: u32 = 65_534;
        let is_root = rustix::process::geteuid().is_root();
        let switches = is_root && sys::set_fsgid(NOBODY) && sys::set_fsuid(NOBODY);
        if is_root {
            sys::set_fsuid(0);
            sys::set_fsgid(0);
            ASSUMED.with_borrow_mut(|assumed| (assumed.uid, assumed.gid) = (Some(0), Some(0)));
        }
        Impersonation { switches }
    }

    /// Whether changes are made as the caller.
    pub(crate) fn switches(self) -> bool {
        self.switches
    }

    /// Makes this thread the server's own user.
    pub(crate) fn own(self) -> Result<()> {
        if self.switches { ASSUMED.with_borrow_mut(Assumed::own) } else { Ok(()) }
    }

    /// Makes this thread `caller`, if the process can do that.
    pub(crate) fn assume(self, caller: &Caller<'_>) -> Result<()> {
        if self.switches { ASSUMED.with_borrow_mut(|assumed| assumed.become_caller(caller)) } else { Ok(()) }
    }
}

impl Assumed {
    const NONE: Assumed = Assumed { uid: None, gid: None, groups: None, is_bound_by_quota: false };

    fn own(&mut self) -> Result<()> {
        self.set_uid(0)
    }

    fn become_caller(&mut self, caller: &Caller<'_>) -> Result<()> {
        self.obey_quota()?;
        self.set_gid(caller.gid)?;
        if !caller.is_root() {
            self.set_groups(caller.groups)?;
        }
        // The user goes last: from then on the thread has the caller's rights and no others.
        self.set_uid(caller.uid)
    }

    fn set_uid(&mut self, uid: u32) -> Result<()> {
        if self.uid != Some(uid) {
            switched(sys::set_fsuid(uid))?;
            self.uid = Some(uid);
        }
        Ok(())
    }

    fn set_gid(&mut self, gid: u32) -> Result<()> {
        if self.gid != Some(gid) {
            switched(sys::set_fsgid(gid))?;
            self.gid = Some(gid);
        }
        Ok(())
    }

    fn set_groups(&mut self, groups: &[u32]) -> Result<()> {
        if self.groups.as_deref() == Some(groups) {
            return Ok(());
        }
        if groups.len() > MAX_GROUPS || groups.contains(&u32::MAX) {
            return Err(Error::NotPermitted);
        }
        self.groups = None;
        let ids: Vec<Gid> = groups.iter().map(|&id| Gid::from_raw(id)).collect();
        rustix::thread::set_thread_groups(&ids).map_err(failed)?;
        self.groups = Some(groups.to_vec());
        Ok(())
    }

    /// The capability that lets root exceed quotas and limits would let every caller do so: this thread gives it up.
    fn obey_quota(&mut self) -> Result<()> {
        if !self.is_bound_by_quota {
            let mut sets = rustix::thread::capabilities(None).map_err(failed)?;
            sets.effective.remove(CapabilitySet::SYS_RESOURCE);
            rustix::thread::set_capabilities(None, sets).map_err(failed)?;
            self.is_bound_by_quota = true;
        }
        Ok(())
    }
}

/// Acting as somebody else than the caller would be worse than not acting.
fn switched(done: bool) -> Result<()> {
    if done { Ok(()) } else { Err(Error::NotPermitted) }
}
