use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use proto::nfs4::Verifier;

use crate::connection::random;

/// What the client calls itself at servers. Each mount is a client of its own, so that one which ends loses its state, and no
/// other one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// `nfs_client_id4.id` and `co_ownerid`: the same as long as the mount lives.
    pub(super) name: Vec<u8>,
    /// Another one after each start.
    pub(super) verifier: Verifier,
    /// Where a server of 4.0 may call it, if it may.
    pub(super) called_at: Option<CalledAt>,
}

/// Where a server of 4.0 calls the client, and by which number the client knows that it is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CalledAt {
    pub(super) address: SocketAddr,
    pub(super) ident: u32,
}

impl Identity {
    /// A name that no other client has: it tells people whose it is, too.
    pub(super) fn new(called_at: Option<CalledAt>) -> Identity {
        let machine = rustix::system::uname();
        let (process, number) = (std::process::id(), random());
        let name = format!("wharf/{}/{process}/{number:08x}", machine.nodename().to_string_lossy());
        Identity { name: name.into_bytes(), verifier: new_verifier(), called_at }
    }

    /// The same client after a restart, which has nothing open.
    pub(super) fn restarted(&self) -> Identity {
        Identity { name: self.name.clone(), verifier: new_verifier(), called_at: None }
    }
}

fn new_verifier() -> Verifier {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mounts_of_one_process_are_two_clients() {
        assert_ne!(Identity::new(None).name, Identity::new(None).name);
    }
}
