use xdr::{Decode, Encode};

use super::{Component, DelegationType, Stateid};

/// The claim and the file of an OPEN (RFC 7530 §16.16.5, RFC 8881 §18.16.3, `open_claim4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum OpenClaim<'a> {
    /// A new open of a name in the current directory: CLAIM_NULL.
    #[xdr(case = 0)]
    Null(Component<'a>),
    /// The current file, which was open before the server restarted: CLAIM_PREVIOUS.
    #[xdr(case = 1)]
    Previous {
        /// The delegation that the client held.
        delegation: DelegationType,
    },
    /// A name in the current directory, whose file is delegated to the client: CLAIM_DELEGATE_CUR.
    #[xdr(case = 2)]
    DelegateCur {
        /// The delegation.
        stateid: Stateid,
        /// The name.
        name: Component<'a>,
    },
    /// A name in the current directory, whose file was delegated before the client restarted: CLAIM_DELEGATE_PREV.
    #[xdr(case = 3)]
    DelegatePrev(Component<'a>),
    /// A new open of the current file: CLAIM_FH (4.1).
    #[xdr(case = 4)]
    Fh,
    /// The current file, which is delegated to the client: CLAIM_DELEG_CUR_FH (4.1).
    #[xdr(case = 5)]
    DelegCurFh {
        /// The delegation.
        stateid: Stateid,
    },
    /// The current file, which was delegated before the client restarted: CLAIM_DELEG_PREV_FH (4.1).
    #[xdr(case = 6)]
    DelegPrevFh,
}

/// The claim of a WANT_DELEGATION (RFC 8881 §18.49.3, `deleg_claim4`); a subset of [`OpenClaim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum DelegationClaim {
    /// The client held it before the server restarted: CLAIM_PREVIOUS.
    #[xdr(case = 1)]
    Previous {
        /// The delegation that it held.
        delegation: DelegationType,
    },
    /// It is a new request: CLAIM_FH.
    #[xdr(case = 4)]
    Fh,
    /// The client held it before the client restarted: CLAIM_DELEG_PREV_FH.
    #[xdr(case = 6)]
    DelegPrevFh,
}
