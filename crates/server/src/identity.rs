//! The identity of a caller, after squashing.

use access_rules::{ExportOptions, Squash};
use rpc::{AuthStat, AuthSys, Credential, OpaqueAuth};
use state::Principal;
use vfs::Caller;

/// The user and groups of a credential, or nobody for AUTH_NONE.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a>(Credential<'a>);

impl Identity<'static> {
    /// Nobody.
    pub(crate) const NOBODY: Identity<'static> = Identity(Credential::None);
}

impl<'a> Identity<'a> {
    /// Reads a credential.
    ///
    /// # Errors
    /// The status to reply with when the flavour is unsupported, or its body is malformed (RFC 5531 §8.2).
    pub(crate) fn of(credential: &OpaqueAuth<'a>) -> Result<Identity<'a>, AuthStat> {
        match Credential::parse(credential) {
            None => Err(AuthStat::TooWeak),
            Some(Err(_)) => Err(AuthStat::BadCredential),
            Some(Ok(credential)) => Ok(Identity(credential)),
        }
    }

    /// The same identity without borrows, for work that continues after the call.
    pub(crate) fn lasting(&self) -> Identity<'static> {
        Identity(match &self.0 {
            Credential::None => Credential::None,
            Credential::Sys(sys) => Credential::Sys(AuthSys::new(b"", sys.uid, sys.gid, sys.groups())),
        })
    }

    /// The principal of the caller, for state that belongs to one principal (RFC 8881 §2.10.8.3).
    pub(crate) fn principal(&self) -> Principal {
        match &self.0 {
            Credential::None => Principal::default(),
            Credential::Sys(sys) => Principal(sys.uid.to_be_bytes().into()),
        }
    }

    /// The caller as an export with `options` sees it.
    pub(crate) fn squashed<'s>(&'s self, options: &ExportOptions) -> Caller<'s> {
        let anonymous = Caller { uid: options.anonymous_uid, gid: options.anonymous_gid, groups: &[] };
        let Credential::Sys(sys) = &self.0 else { return anonymous };
        match options.squash {
            Squash::All => anonymous,
            // A squashed superuser also loses all groups, which are the superuser's.
            Squash::Root if sys.uid == 0 => anonymous,
            Squash::Root if sys.gid == 0 => {
                Caller { uid: sys.uid, gid: options.anonymous_gid, groups: without_root(sys.groups()) }
            }
            Squash::Root => Caller { uid: sys.uid, gid: sys.gid, groups: without_root(sys.groups()) },
            Squash::None => Caller { uid: sys.uid, gid: sys.gid, groups: sys.groups() },
        }
    }
}

/// The groups before the superuser's group. Keeping those after it would need a copy of the list, for a credential that
/// no honest client sends.
fn without_root(groups: &[u32]) -> &[u32] {
    let end = groups.iter().position(|group| *group == 0).unwrap_or(groups.len());
    &groups[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    fn squashed(squash: Squash, uid: u32, gid: u32, groups: &[u32]) -> (u32, u32, Vec<u32>) {
        let options = ExportOptions { squash, anonymous_uid: 77, anonymous_gid: 88, ..ExportOptions::default() };
        let identity = Identity(Credential::Sys(AuthSys::new(b"", uid, gid, groups)));
        let caller = identity.squashed(&options);
        (caller.uid, caller.gid, caller.groups.to_vec())
    }

    #[test]
    fn root_squash_takes_every_trace_of_the_superuser() {
        assert_eq!(squashed(Squash::Root, 0, 0, &[0, 5]), (77, 88, vec![]));
        assert_eq!(squashed(Squash::Root, 1000, 0, &[5, 0, 6]), (1000, 88, vec![5]));
        assert_eq!(squashed(Squash::Root, 1000, 100, &[5]), (1000, 100, vec![5]));
    }

    #[test]
    fn all_squash_makes_everybody_anonymous_and_no_squash_nobody() {
        assert_eq!(squashed(Squash::All, 1000, 100, &[5]), (77, 88, vec![]));
        assert_eq!(squashed(Squash::None, 0, 0, &[0, 5]), (0, 0, vec![0, 5]));
    }

    #[test]
    fn caller_without_a_credential_is_anonymous_even_without_squashing() {
        let options = ExportOptions { squash: Squash::None, ..ExportOptions::default() };
        assert_eq!(Identity(Credential::None).squashed(&options).uid, ExportOptions::NOBODY);
    }
}
