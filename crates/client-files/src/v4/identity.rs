use std::net::SocketAddr;

use client_calls::random;
use proto::nfs4::Verifier;

/// The client's identity at servers. Each mount is a client of its own, so that a mount that ends loses only its own
/// state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// `nfs_client_id4.id` and `co_ownerid`: the same while the mount lives.
    pub(super) name: Vec<u8>,
    /// Differs after each start.
    pub(super) verifier: Verifier,
    /// The callback address for a 4.0 server, if it may call.
    pub(super) called_at: Option<CalledAt>,
}

/// The callback address, and the number by which the client recognizes calls for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CalledAt {
    pub(super) address: SocketAddr,
    pub(super) ident: u32,
}

impl Identity {
    /// A name that no other client has. It shows administrators the host and the process.
    pub(super) fn new(called_at: Option<CalledAt>) -> Identity {
        let machine = rustix::system::uname();
        let (process, number) = (std::process::id(), random());
        let name = format!("wharf/{}/{process}/{number:08x}", machine.nodename().to_string_lossy());
        Identity { name: name.into_bytes(), verifier: new_verifier(), called_at }
    }

    /// The same client after a restart, holding no state.
    pub(super) fn restarted(&self) -> Identity {
        Identity { name: self.name.clone(), verifier: new_verifier(), called_at: None }
    }
}

/// Differs from that of the start before (RFC 8881 §18.35.3). It is random, since a clock may be set back.
fn new_verifier() -> Verifier {
    (u64::from(random()) << u32::BITS | u64::from(random())).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mounts_of_one_process_are_two_clients() {
        assert_ne!(Identity::new(None).name, Identity::new(None).name);
    }

    #[test]
    fn client_after_a_restart_has_its_name_and_another_verifier() {
        let first = Identity::new(None);
        let second = first.restarted();
        assert_eq!(first.name, second.name);
        assert_ne!(first.verifier, second.verifier);
    }
}
