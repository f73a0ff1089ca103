//! What NFSv2 and NFSv3 may do to a file that others have opened with a share reservation.
//!
//! They have no opens, so that each access is checked like one of NFSv4 with the anonymous stateid (RFC 8881 §8.2.3). A
//! file that nobody has reserved costs one look at a counter.
//!
//! An access that is denied is answered with ACCES and not JUKEBOX: a reservation lasts as long as its holder likes, and a
//! client that is told to try later would hang for as long. A delegation that is being recalled is gone soon: JUKEBOX.
//!
//! While clients of NFSv4 reclaim after a restart, these accesses go on, though RFC 8881 §8.4.2.1 refuses those of NFSv4 with
//! the anonymous stateid: clients of NFSv2 and NFSv3 know of no grace period, hardly anybody denies anything, and each restart
//! would stop all of them until the last client of NFSv4 is back.

use std::time::Duration;

use state::{AccessKind, StateError, Verdict};
use vfs::SetAttributes;

use crate::fault::Fault;
use crate::node::Node;

/// How often it is looked whether a delegation was returned, and the time between two looks.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

impl Node<'_> {
    /// Refuses what a share reservation denies.
    pub(crate) fn require_unreserved(&self, kind: AccessKind) -> Result<(), Fault> {
        let file = self.file_key();
        self.until_returned(|| match self.server.state.conflict_check(self.now, &file, kind, self.requester) {
            Ok(Verdict::Proceed) => Ok(()),
            Ok(Verdict::Wait) | Err(StateError::Delay) => Err(Fault::Recalling),
            Err(_) => Err(vfs::Error::AccessDenied.into()),
        })
    }

    /// Looks again for a little while, on a thread that may wait, when a delegation is on its way back: clients that are told to
    /// try later wait for far longer than its holder needs to return it.
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

    /// Sees to it that no other client believes to know the file's attributes or names while they are changed (RFC 8881 §10.4).
    pub(crate) fn require_undelegated(&self) -> Result<(), Fault> {
        self.require_unreserved(AccessKind::Change)
    }

    /// Refuses to set a size that a share reservation denies: that writes, and nothing else that is set does.
    pub(crate) fn require_unreserved_for(&self, set: &SetAttributes) -> Result<(), Fault> {
        if set.size_bytes.is_some() { self.require_unreserved(AccessKind::Write) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
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

    /// What becomes of an access while somebody denies `deny`.
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
        let cx = CallContext {
            server: &server,
            request: &request,
            exports: &exports,
            identity: Identity::NOBODY,
            begun: None,
            waits_for: Cell::default(),
        };
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
