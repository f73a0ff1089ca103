//! OPEN opens a regular file (RFC 7530 §16.16, RFC 8881 §18.16).

use xdr::{Decode, Encode};

use super::{
    Bitmap, ChangeInfo, CompoundOperation, Delegation, Fattr, OpNumber, OpenClaim, Res, StateOwner, Stateid, Verifier,
};

/// The arguments of OPEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenArgs<'a> {
    /// The owner's sequence number; ignored from 4.1 on.
    pub seqid: u32,
    /// The access mode: a set of the `SHARE_ACCESS_…` bits, and from 4.1 on one of the `WANT_…` values.
    pub share_access: u32,
    /// The deny mode: a set of the `SHARE_DENY_…` bits.
    pub share_deny: u32,
    /// The open owner.
    pub owner: StateOwner<'a>,
    /// Whether to create the file.
    pub how: OpenHow<'a>,
    /// The file and the claim.
    pub claim: OpenClaim<'a>,
}

/// Whether to create the file (`openflag4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum OpenHow<'a> {
    /// Only open an existing file.
    #[xdr(case = 0)]
    NoCreate,
    /// Create the file.
    #[xdr(case = 1)]
    Create(CreateHow<'a>),
}

/// The mode of creation, for names that exist (`createhow4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CreateHow<'a> {
    /// Use the existing file.
    #[xdr(case = 0)]
    Unchecked(Fattr<'a>),
    /// Fail if the name exists.
    #[xdr(case = 1)]
    Guarded(Fattr<'a>),
    /// Fail if the name exists, unless the file was made with this verifier.
    #[xdr(case = 2)]
    Exclusive(Verifier),
    /// Like `Exclusive`, with initial attributes: EXCLUSIVE4_1.
    #[xdr(case = 3)]
    Exclusive41 {
        /// The verifier.
        verifier: Verifier,
        /// The initial attributes.
        attributes: Fattr<'a>,
    },
}

/// The results of OPEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenOk<'a> {
    /// The open.
    pub stateid: Stateid,
    /// The directory's change attribute.
    pub change: ChangeInfo,
    /// A set of the `RESULT_…` bits.
    pub flags: u32,
    /// The attributes that were set when the file was created.
    pub attributes_set: Bitmap,
    /// A delegation, or none.
    pub delegation: Delegation<'a>,
}

/// The owner will read.
pub const SHARE_ACCESS_READ: u32 = 0x1;
/// The owner will write.
pub const SHARE_ACCESS_WRITE: u32 = 0x2;
/// The owner will read and write.
pub const SHARE_ACCESS_BOTH: u32 = 0x3;
/// Others may read and write.
pub const SHARE_DENY_NONE: u32 = 0x0;
/// Others may not read.
pub const SHARE_DENY_READ: u32 = 0x1;
/// Others may not write.
pub const SHARE_DENY_WRITE: u32 = 0x2;
/// Others may neither read nor write.
pub const SHARE_DENY_BOTH: u32 = 0x3;

/// The bits of `share_access` for one of the values below (4.1).
pub const WANT_DELEG_MASK: u32 = 0xff00;
/// The client has no preference.
pub const WANT_NO_PREFERENCE: u32 = 0x0000;
/// The client wants a read delegation.
pub const WANT_READ_DELEG: u32 = 0x0100;
/// The client wants a write delegation.
pub const WANT_WRITE_DELEG: u32 = 0x0200;
/// The client wants any delegation.
pub const WANT_ANY_DELEG: u32 = 0x0300;
/// The client does not want a delegation.
pub const WANT_NO_DELEG: u32 = 0x0400;
/// The client withdraws an earlier request.
pub const WANT_CANCEL: u32 = 0x0500;
/// The client wants a notification when the server has resources for the delegation.
pub const WANT_SIGNAL_WHEN_AVAILABLE: u32 = 0x1_0000;
/// The client wants the delegation when the conflict ends.
pub const WANT_PUSH_WHEN_UNCONTENDED: u32 = 0x2_0000;

/// The client must confirm the open (4.0).
pub const RESULT_CONFIRM: u32 = 0x02;
/// The server's locks have POSIX semantics.
pub const RESULT_LOCKTYPE_POSIX: u32 = 0x04;
/// A removed file stays until its last open is closed (4.1).
pub const RESULT_PRESERVE_UNLINKED: u32 = 0x08;
/// The server may call CB_NOTIFY_LOCK (4.1).
pub const RESULT_MAY_NOTIFY_LOCK: u32 = 0x20;

/// OPEN opens a regular file.
#[derive(Debug, Clone, Copy)]
pub struct Open;

impl CompoundOperation for Open {
    const NUMBER: OpNumber = OpNumber::Open;
    type Arguments<'a> = OpenArgs<'a>;
    type Reply<'a> = Res<OpenOk<'a>>;
}
