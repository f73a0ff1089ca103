use std::hash::{Hash, Hasher};
use std::sync::Arc;

use buffer::Buffer;
use rpc::{AuthSys, Credential, Procedure, Xid};
use xdr::Encoder;

/// The identity that the client claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Credentials {
    /// The user and groups of this process, by AUTH_SYS.
    #[default]
    Process,
    /// This user and these groups, by AUTH_SYS (RFC 5531 Appendix A). Groups after the sixteenth are left out.
    Sys {
        /// The user.
        uid: u32,
        /// The user's first group.
        gid: u32,
        /// The user's further groups.
        groups: Vec<u32>,
    },
    /// Nobody, by AUTH_NONE.
    None,
}

impl Credentials {
    /// Replaces [`Credentials::Process`] by the IDs of this process.
    #[doc(hidden)]
    pub fn resolve(&self) -> Credentials {
        match self {
            Credentials::Process => {
                let groups = rustix::process::getgroups().unwrap_or_default();
                Credentials::Sys {
                    uid: rustix::process::geteuid().as_raw(),
                    gid: rustix::process::getegid().as_raw(),
                    groups: groups.into_iter().map(|group| group.as_raw()).collect(),
                }
            }
            known => known.clone(),
        }
    }
}

/// Credentials for calls (RFC 5531 §8.1), with the encoded header of these calls.
#[derive(Debug)]
pub struct Principal {
    /// Never [`Credentials::Process`].
    credentials: Credentials,
    header: Vec<u8>,
}

impl Principal {
    /// The calls of these credentials; [`Credentials::Process`] is resolved now.
    pub fn new(credentials: &Credentials) -> Arc<Principal> {
        let credentials = credentials.resolve();
        let machine = rustix::system::uname();
        let credential = match &credentials {
            Credentials::Sys { uid, gid, groups } => {
                Credential::Sys(AuthSys::new(machine.nodename().to_bytes(), *uid, *gid, groups))
            }
            Credentials::Process | Credentials::None => Credential::None,
        };
        let mut buffer = Buffer::new();
        let any = Procedure { program: 0, version: 0, number: 0 };
        any.encode_call(Xid(0), &credential, &mut Encoder::new(&mut buffer));
        let header = buffer.as_slice().to_vec();
        Arc::new(Principal { credentials, header })
    }

    /// Never [`Credentials::Process`].
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The header of a call; each call sets its own numbers in it.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Principal) -> bool {
        self.credentials == other.credentials
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.credentials.hash(state);
    }
}
