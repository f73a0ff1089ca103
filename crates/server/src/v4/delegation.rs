//! The delegation in the reply to OPEN (RFC 7530 §10.4, RFC 8881 §10.4, §18.16.3).
//!
//! Files are delegated on file systems that only this server changes, under leases on the host's ([`crate::leases`]),
//! and anywhere where the administrator says so. The state manager decides which opens get one. An NFSv4.0 client gets
//! none for writing, since its other requests do not identify it.

use proto::nfs4::{
    self, ACE_ALLOW, Ace, Delegation, DelegationType, OpenArgs, Principal, ReadDelegation, SpaceLimit, Status,
    WhyNoDelegation, WriteDelegation,
};
use state::{DelegationAnswer, DelegationKind, DelegationWant};

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::outer;
use crate::node::{Delegability, Node};

/// The client's wish, and whether it needs a lease. If the server has the file open for writing for no call, it closes
/// it, because no file is leased that is open for writing.
pub(super) fn wish(compound: &Compound<'_>, args: &OpenArgs<'_>, node: &Node<'_>) -> (DelegationWant, bool) {
    match node.delegability() {
        Delegability::No => (DelegationWant::None, false),
        Delegability::Freely => (want(compound, args), false),
        Delegability::Leased => {
            let want = want(compound, args);
            let is_unwanted = matches!(want, DelegationWant::None | DelegationWant::Cancel | DelegationWant::Write);
            if !is_unwanted && args.share_access & nfs4::SHARE_ACCESS_WRITE == 0 {
                node.evict_open_for_writing();
            }
            (want, true)
        }
    }
}

fn want(compound: &Compound<'_>, args: &OpenArgs<'_>) -> DelegationWant {
    if !compound.progress.minor.has_sessions() {
        let reads = args.share_access & nfs4::SHARE_ACCESS_READ != 0;
        return if reads { DelegationWant::Read } else { DelegationWant::None };
    }
    match args.share_access & nfs4::WANT_DELEG_MASK {
        nfs4::WANT_READ_DELEG => DelegationWant::Read,
        nfs4::WANT_WRITE_DELEG => DelegationWant::Write,
        nfs4::WANT_ANY_DELEG => DelegationWant::Any,
        nfs4::WANT_NO_DELEG => DelegationWant::None,
        nfs4::WANT_CANCEL => DelegationWant::Cancel,
        _ => DelegationWant::NoPreference,
    }
}

/// The delegation that the client claims to have held before a restart.
pub(super) fn kind(claimed: DelegationType) -> OpResult<Option<DelegationKind>> {
    match claimed {
        DelegationType::None => Ok(None),
        DelegationType::Read => Ok(Some(DelegationKind::Read)),
        DelegationType::Write => Ok(Some(DelegationKind::Write)),
        DelegationType::NoneExt => Err(Status::Inval.into()),
    }
}

/// The delegation in the reply. A refusal has a reason only if an NFSv4.1 client stated a wish.
pub(super) fn open_delegation(
    compound: &Compound<'_>,
    share_access: u32,
    answer: &DelegationAnswer,
) -> Delegation<'static> {
    let wish = share_access & nfs4::WANT_DELEG_MASK;
    match *answer {
        DelegationAnswer::Granted { stateid, kind } => granted(outer(&stateid), kind),
        _ if !compound.progress.minor.has_sessions() || wish == nfs4::WANT_NO_PREFERENCE => Delegation::None,
        DelegationAnswer::None => Delegation::NoneExt(WhyNoDelegation::Resource { will_signal: false }),
        DelegationAnswer::Refused(why) => Delegation::NoneExt(reason(why, wish)),
    }
}

fn reason(why: state::WhyNoDelegation, wish: u32) -> WhyNoDelegation {
    match (why, wish) {
        (state::WhyNoDelegation::Cancelled, _) => WhyNoDelegation::Cancelled,
        (state::WhyNoDelegation::Contention, _) => WhyNoDelegation::Contention { will_push: false },
        (state::WhyNoDelegation::NotWanted, nfs4::WANT_NO_DELEG) => WhyNoDelegation::NotWanted,
        (state::WhyNoDelegation::NotWanted, nfs4::WANT_CANCEL) => WhyNoDelegation::Cancelled,
        // The client wants one, but the export does not allow it.
        (state::WhyNoDelegation::NotWanted, _) => WhyNoDelegation::NotSuppFileType,
        (state::WhyNoDelegation::WriteNotSupported, _) => WhyNoDelegation::WriteNotSuppFileType,
        (state::WhyNoDelegation::Resource, _) => WhyNoDelegation::Resource { will_signal: false },
    }
}

fn granted(stateid: nfs4::Stateid, kind: DelegationKind) -> Delegation<'static> {
    // Grants nobody: clients must always ask the server for permission, since they do not know it themselves.
    let permissions = Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: 0, who: Principal(b"EVERYONE@") };
    match kind {
        DelegationKind::Read => Delegation::Read(ReadDelegation { stateid, recall: false, permissions }),
        DelegationKind::Write => {
            // No space is reserved for cached writes: the client must write when it closes, to learn in time that the
            // disk is full (RFC 8881 §10.4.1).
            let space_limit = SpaceLimit::Size { size_bytes: 0 };
            Delegation::Write(WriteDelegation { stateid, recall: false, space_limit, permissions })
        }
    }
}
