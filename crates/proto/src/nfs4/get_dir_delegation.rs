//! GET_DIR_DELEGATION requests a directory delegation (RFC 8881 §18.39).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, OpNumber, Res, Stateid, Time, Verifier};

/// The arguments of GET_DIR_DELEGATION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GetDirDelegationArgs {
    /// Whether the client wants a notification when the server has resources.
    pub signal_available: bool,
    /// The changes to report, by the numbers of `notify_type4`.
    pub notification_types: Bitmap,
    /// The longest delay of notifications about attributes of entries.
    pub child_delay: Time,
    /// The longest delay of notifications about attributes of the directory.
    pub dir_delay: Time,
    /// The attributes of entries to report.
    pub child_attributes: Bitmap,
    /// The attributes of the directory to report.
    pub dir_attributes: Bitmap,
}

/// A delegation of a directory, or none (`GET_DIR_DELEGATION4res_non_fatal`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum DirDelegation {
    /// The delegation is granted.
    #[xdr(case = 0)]
    Given(DirDelegationOk),
    /// None is available, and the COMPOUND continues.
    #[xdr(case = 1)]
    Unavailable {
        /// Whether the server will notify the client when one is available.
        will_signal: bool,
    },
}

/// A delegation of a directory (`GET_DIR_DELEGATION4resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirDelegationOk {
    /// The verifier of READDIR cookies.
    pub cookie_verifier: Verifier,
    /// The delegation.
    pub stateid: Stateid,
    /// The changes that the server will report.
    pub notification: Bitmap,
    /// The attributes of entries that it will report.
    pub child_attributes: Bitmap,
    /// The attributes of the directory that it will report.
    pub dir_attributes: Bitmap,
}

/// GET_DIR_DELEGATION requests a directory delegation.
#[derive(Debug, Clone, Copy)]
pub struct GetDirDelegation;

impl CompoundOperation for GetDirDelegation {
    const NUMBER: OpNumber = OpNumber::GetDirDelegation;
    type Arguments<'a> = GetDirDelegationArgs;
    type Reply<'a> = Res<DirDelegation>;
}
