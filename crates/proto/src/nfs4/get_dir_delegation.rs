//! GET_DIR_DELEGATION asks for a delegation of a directory (RFC 8881 §18.39).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, OpNumber, Res, Stateid, Time, Verifier};

/// What GET_DIR_DELEGATION needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GetDirDelegationArgs {
    /// Whether the client wants to be told when the server has resources for it.
    pub signal_available: bool,
    /// Of which changes the client wants to be told, by the numbers of `notify_type4`.
    pub notification_types: Bitmap,
    /// How long the server may hold notifications of the entries' attributes back.
    pub child_delay: Time,
    /// How long the server may hold notifications of the directory's attributes back.
    pub dir_delay: Time,
    /// Which attributes of entries the client wants to be told.
    pub child_attributes: Bitmap,
    /// Which attributes of the directory the client wants to be told.
    pub dir_attributes: Bitmap,
}

/// A delegation of a directory, or none (`GET_DIR_DELEGATION4res_non_fatal`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum DirDelegation {
    /// It is given.
    #[xdr(case = 0)]
    Given(DirDelegationOk),
    /// There is none to be had, and the COMPOUND goes on.
    #[xdr(case = 1)]
    Unavailable {
        /// Whether the server will tell when there is.
        will_signal: bool,
    },
}

/// A delegation of a directory (`GET_DIR_DELEGATION4resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirDelegationOk {
    /// Goes with the cookies of READDIR.
    pub cookie_verifier: Verifier,
    /// The delegation.
    pub stateid: Stateid,
    /// Of which changes the server will tell.
    pub notification: Bitmap,
    /// Which attributes of entries it will tell.
    pub child_attributes: Bitmap,
    /// Which attributes of the directory it will tell.
    pub dir_attributes: Bitmap,
}

/// GET_DIR_DELEGATION asks for a delegation of a directory.
#[derive(Debug, Clone, Copy)]
pub struct GetDirDelegation;

impl CompoundOperation for GetDirDelegation {
    const NUMBER: OpNumber = OpNumber::GetDirDelegation;
    type Arguments<'a> = GetDirDelegationArgs;
    type Reply<'a> = Res<DirDelegation>;
}
