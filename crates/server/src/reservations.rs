//! Checks accesses of NFSv2 and NFSv3 against share reservations and delegations.
//!
//! These versions have no opens, so each access is checked like one of NFSv4 with the anonymous stateid (RFC 8881
//! §8.2.3). Without reservations the check only reads a counter.
//!
//! A denied access gets ACCES and not JUKEBOX: a reservation may last forever, and a client that is told to retry would
//! hang. A delegation under recall ends soon, so it gets JUKEBOX.
//!
//! These accesses continue during the grace period, though RFC 8881 §8.4.2.1 refuses those of NFSv4 with the anonymous
//! stateid. Clients of NFSv2 and NFSv3 do not know it, deny modes are rare, and each restart would block all of them
//! until the last NFSv4 client has reclaimed.

use std::time::Duration;

use state::{AccessCheck, AccessKind, StateError};
use vfs::SetAttributes;

use crate::fault::Fault;
use crate::node::Node;

/// How often to check whether a delegation was returned, and the interval.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

impl Node<'_> {
    /// Fails if a share reservation denies the access.
    pub(crate) fn require_unreserved(&self, kind: AccessKind) -> Result<(), Fault> {
        let file = self.file_key();
        self.until_returned(|| match self.server.state.conflict_check(self.now, &file, kind, self.requester) {
            Ok(AccessCheck::Proceed) => Ok(()),
            Ok(AccessCheck::Wait) | Err(StateError::Delay) => Err(Fault::Recalling),
            Err(_) => Err(vfs::Error::AccessDenied.into()),
        })
    }

    /// Retries for a short time while a delegation is being recalled, on a thread that may block. A client that is told
    /// to retry waits far longer than the holder needs to return it.
    pub(crate) fn until_returned<T>(&self, mut look: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
        for _ in 0..LOOKS {
            match look() {
                Err(Fault::Recalling) if !self.context.may_block => return Err(Fault::Defer),
                Err(Fault::Recalling) => (self.server.settings.pause)(BETWEEN_LOOKS),
                settled => return settled,
            }
        }
        Err(Fault::Recalling)
    }

    /// Recalls delegations of other clients, which cache attributes and names, before a change (RFC 8881 §10.4).
    pub(crate) fn require_undelegated(&self) -> Result<(), Fault> {
        self.require_unreserved(AccessKind::Change)
    }

    /// Fails if a share reservation denies setting the size, which is a write; other attributes are never denied.
    pub(crate) fn require_unreserved_for(&self, set: &SetAttributes) -> Result<(), Fault> {
        if set.size_bytes.is_some() { self.require_unreserved(AccessKind::Write) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fs_mem::{MemFs, MemOptions};
    use state::{NlmShareArgs, ShareAccess, ShareDeny};
    use vfs::{Context, CreateMode, FileSystem, Name, Place};

    use super::*;
    use crate::identity::Identity;
    use crate::node::CallContext;
    use crate::{
        AccessRule, ClientPattern, Export, ExportOptions, HandleKey, Peer, Request, Server, Settings, Transport,
    };

    fn server() -> Server {
        let files = MemFs::new(MemOptions::default());
        let place = Place { dir: files.root(), name: Name::new(b"file").unwrap() };
        files.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        let clients = ClientPattern::address("192.0.2.1".parse().unwrap());
        let rules = vec![AccessRule { clients, options: ExportOptions::default() }];
        let export = Export { name: "/files".to_owned(), file_system: Arc::new(files), rules, fsid: None };
        Server::new(Settings::new(1, 1 << 32, HandleKey::new([7; 16])), vec![export]).unwrap()
    }

    /// The result of an access while another client denies `deny`.
    fn access(deny: ShareDeny, check: impl Fn(&Node<'_>) -> Result<(), Fault>) -> Result<(), Fault> {
        let server = server();
        let exports = server.exports();
        let (exported, _) = exports.by_path(b"/files").unwrap();
        let root = exported.export.file_system.root();
        let place = Place { dir: root, name: Name::new(b"file").unwrap() };
        let handle = exported.export.file_system.lookup(&Context::ROOT, place).unwrap().handle;
        let file = exported.file_key(handle);
        let (now, address) = (Duration::from_secs(1), "192.0.2.1:700".parse().unwrap());
        let share = NlmShareArgs {
            host: b"host",
            origin: state::Origin::of([192, 0, 2, 1].into()),
            owner: b"owner",
            file,
            access: Some(ShareAccess::READ),
            deny,
            reclaim: false,
        };
        server.state.nlm_share(now, &share).unwrap();
        let peer = Peer { address, local: address, transport: Transport::Tcp, connection: 1 };
        let request = Request { message: &[], peer, worker: 0, may_block: true, now, batch: None, is_scarce: false };
        let cx = CallContext::new(&server, &request, &exports, Identity::NOBODY);
        check(&cx.node_of(exported, handle).unwrap())
    }

    fn is_denied(result: Result<(), Fault>) -> bool {
        matches!(result, Err(Fault::File(vfs::Error::AccessDenied)))
    }

    #[test]
    fn reservation_denies_what_it_says_and_nothing_else() {
        assert!(is_denied(access(ShareDeny::WRITE, |node| node.require_unreserved(AccessKind::Write))));
        assert!(access(ShareDeny::WRITE, |node| node.require_unreserved(AccessKind::Read)).is_ok());
        assert!(is_denied(access(ShareDeny::READ, |node| node.require_unreserved(AccessKind::Read))));
        assert!(access(ShareDeny::NONE, |node| node.require_unreserved(AccessKind::Write)).is_ok());
    }

    #[test]
    fn setting_the_size_is_a_write_and_setting_the_mode_is_not() {
        let size = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
        let mode = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
        assert!(is_denied(access(ShareDeny::WRITE, |node| node.require_unreserved_for(&size))));
        assert!(access(ShareDeny::WRITE, |node| node.require_unreserved_for(&mode)).is_ok());
    }
}
