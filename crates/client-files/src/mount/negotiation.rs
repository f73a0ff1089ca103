//! Chooses the version of NFS: the newest that both sides know, if the options leave a choice.

use std::io::ErrorKind;

use client_calls::rpcbind::Service;
use rpc::Rejection;

use super::Mount;
use super::connect::Dialer;
use crate::patience::Patience;
use crate::{Error, Options, Reason, Result, Status, Version};

impl Dialer<'_> {
    /// Mounts as [`Dialer::negotiate`] does, and retries while the server asks to try later: each step of a mount may
    /// get that answer.
    pub(super) async fn negotiate_patiently(&self, path: &[u8]) -> Result<Mount> {
        let (mut patience, mut has_warned) = (Patience::new(self.options.patience(), None), false);
        loop {
            match self.negotiate(path).await {
                Err(error) if patience.allows(&error) => {
                    if error.status() == Some(Status::TryLater) && !std::mem::replace(&mut has_warned, true) {
                        tracing::warn!(server = %self.server, %error, "the server is busy; trying again");
                    }
                    patience.wait().await;
                }
                other => return other,
            }
        }
    }

    /// Mounts in the version of the options, or else in the newest older one that the server speaks and the options
    /// allow. If there is none, or the export is missing in all of them, the error is that of the newest.
    async fn negotiate(&self, path: &[u8]) -> Result<Mount> {
        let (mut options, mut first, mut is_after_export) = (self.options.clone(), None, false);
        loop {
            let dialer = Dialer { options: &options, ..*self };
            let error = match dialer.mount(path).await {
                Ok(mount) => return Ok(mount),
                Err(error) => error,
            };
            let next = match dialer.is_without_v4(&error).await {
                true => Some(Version::V3),
                false => step_down(options.version, &error),
            };
            let Some(next) = next.filter(|next| may_be(&options, *next)) else {
                return Err(if is_of_version(&error) || is_after_export { first.unwrap_or(error) } else { error });
            };
            tracing::debug!(server = %self.server, refused = %options.version, %next, "another version of NFS");
            options.version = next;
            is_after_export |= is_missing_export(&error);
            // An error about a transport that this version lacks is not worth reporting.
            first = first.or(Some(error).filter(|error| !matches!(error.reason(), Reason::NeedsStream(_))));
        }
    }
}

impl Dialer<'_> {
    /// Whether the server has no NFSv4 at its port: `error` shows that nothing listens there, and rpcbind has not
    /// registered it there. A server that is starting has registered NFSv4, or has no rpcbind yet.
    async fn is_without_v4(&self, error: &Error) -> bool {
        let Reason::Connect { source, .. } = error.reason() else { return false };
        let is_usual_port = self.options.version >= Version::V4_0 && self.options.nfs_port.is_none();
        if !is_usual_port || source.kind() != ErrorKind::ConnectionRefused {
            return false;
        }
        // GETPORT is no help: for an unknown version, rpcbind returns the port of another one.
        let usual = (proto::nfs3::PROGRAM, 4, Some(proto::nfs4::PORT));
        let is_v4 = |service: &Service| (service.program, service.version, service.port) == usual;
        self.registered().await.is_ok_and(|services| !services.iter().any(is_v4))
    }
}

fn may_be(options: &Options, version: Version) -> bool {
    options.lowest_version.is_some_and(|lowest| version >= lowest)
}

/// Whether the server only reports that it does not speak a version.
fn is_of_version(error: &Error) -> bool {
    matches!(
        error.reason(),
        Reason::Status(Status::OtherMinor)
            | Reason::Rejected(Rejection::ProgramMismatch { .. } | Rejection::ProgramUnavailable)
            | Reason::NotRegistered { .. }
    )
}

/// Whether there is no such export. The tree of NFSv4 may have other paths than MOUNT, as with `fsid=0` of exports(5).
fn is_missing_export(error: &Error) -> bool {
    matches!(error.reason(), Reason::NoExport(_))
}

/// The version to try after `error`, if it shows that the server does not speak this one, or that NFSv4 does not have
/// the export. A missing reply says nothing about versions.
fn step_down(version: Version, error: &Error) -> Option<Version> {
    let before_v4 = || if version >= Version::V4_0 { Some(Version::V3) } else { version.older() };
    match error.reason() {
        // RFC 8881 §2.7 for minor versions, RFC 5531 §9 for versions.
        Reason::Status(Status::OtherMinor) => version.older(),
        Reason::Rejected(Rejection::ProgramMismatch { .. } | Rejection::ProgramUnavailable)
        | Reason::NotRegistered { .. }
        | Reason::NeedsStream(_) => before_v4(),
        Reason::NoExport(_) if version >= Version::V4_0 => Some(Version::V3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn error(reason: Reason) -> Error {
        Error::new(&Arc::from("server"), "NULL", reason)
    }

    #[test]
    fn minor_versions_go_down_one_by_one_and_major_ones_at_once() {
        let other_minor = error(Reason::Status(Status::OtherMinor));
        assert_eq!(step_down(Version::V4_2, &other_minor), Some(Version::V4_1));
        assert_eq!(step_down(Version::V4_0, &other_minor), Some(Version::V3));
        let mismatch = error(Reason::Rejected(Rejection::ProgramMismatch { low: 2, high: 3 }));
        assert_eq!(step_down(Version::V4_2, &mismatch), Some(Version::V3));
        assert_eq!(step_down(Version::V3, &mismatch), Some(Version::V2));
        assert_eq!(step_down(Version::V2, &mismatch), None);
    }

    #[test]
    fn silence_and_refusals_of_other_kinds_are_no_reason_for_an_older_version() {
        let refused = ErrorKind::ConnectionRefused.into();
        let connect = error(Reason::Connect { address: "[::1]:2049".parse().unwrap(), source: refused });
        assert_eq!(step_down(Version::V4_2, &connect), None);
        assert_eq!(step_down(Version::V4_2, &error(Reason::Status(Status::AccessDenied))), None);
    }
}
