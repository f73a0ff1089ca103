//! Whose permissions count when the server opens a file of its own.

use std::marker::PhantomData;

use nix::unistd::{Gid, Uid, setfsgid, setfsuid};

/// Changes nothing in setfsuid(2) and setfsgid(2), which then return what is in force.
const NO_ID: u32 = u32::MAX;

/// While this lives, its thread uses files as the server's own user. Then it is again whoever it was, so that code that
/// knows the thread's identity stays right.
#[derive(Debug)]
pub struct AsServer {
    user: Uid,
    group: Gid,
    /// The identity belongs to the thread.
    _is_not_send: PhantomData<*const ()>,
}

impl AsServer {
    /// Makes this thread the server. This fails only without the privilege that another identity requires as well; the
    /// next call then reports it.
    pub fn new() -> AsServer {
        let (user, group) = (setfsuid(Uid::from_raw(NO_ID)), setfsgid(Gid::from_raw(NO_ID)));
        // The user goes first: it brings back the capabilities that another group may require.
        if user != Uid::effective() {
            setfsuid(Uid::effective());
        }
        if group != Gid::effective() {
            setfsgid(Gid::effective());
        }
        AsServer { user, group, _is_not_send: PhantomData }
    }
}

impl Default for AsServer {
    fn default() -> AsServer {
        AsServer::new()
    }
}

impl Drop for AsServer {
    fn drop(&mut self) {
        if self.group != Gid::effective() {
            setfsgid(self.group);
        }
        if self.user != Uid::effective() {
            setfsuid(self.user);
        }
    }
}
