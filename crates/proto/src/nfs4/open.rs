//! OPEN opens a regular file (RFC 7530 §16.16, RFC 8881 §18.16).

use xdr::{Decode, Encode};

use super::{
    Bitmap, ChangeInfo, CompoundOperation, Delegation, Fattr, OpNumber, OpenClaim, Res, StateOwner, Stateid, Verifier,
};

/// What OPEN needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenArgs<'a> {
    /// The owner's sequence number; not looked at from 4.1 on.
    pub seqid: u32,
    /// What the owner will do: a set of the `SHARE_ACCESS_…` bits, and from 4.1 on one of the `WANT_…` values.
    pub share_access: u32,
    /// What others may not do meanwhile: a set of the `SHARE_DENY_…` bits.
    pub share_deny: u32,
    /// Who opens.
    pub owner: StateOwner<'a>,
    /// Whether to make the file.
    pub how: OpenHow<'a>,
    /// Which file, and by what right.
    pub claim: OpenClaim<'a>,
}

/// Whether to make the file (`openflag4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum OpenHow<'a> {
    /// Only open one that is there.
    #[xdr(case = 0)]
    NoCreate,
    /// Make it.
    #[xdr(case = 1)]
    Create(CreateHow<'a>),
}

/// What to do if there is such a name already (`createhow4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CreateHow<'a> {
    /// Take the file that is there.
    #[xdr(case = 0)]
    Unchecked(Fattr<'a>),
    /// Refuse.
    #[xdr(case = 1)]
    Guarded(Fattr<'a>),
    /// Refuse, unless the file was made with this very verifier.
    #[xdr(case = 2)]
    Exclusive(Verifier),
    /// As before, and with first attributes: EXCLUSIVE4_1.
    #[xdr(case = 3)]
    Exclusive41 {
        /// The verifier.
        verifier: Verifier,
        /// The first attributes.
        attributes: Fattr<'a>,
    },
}

/// What OPEN tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenOk<'a> {
    /// The open.
    pub stateid: Stateid,
    /// The directory's change attribute.
    pub change: ChangeInfo,
    /// A set of the `RESULT_…` bits.
    pub flags: u32,
    /// The attributes that were set as the file was made.
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

/// Where in `share_access` one of the wishes below stands (4.1).
pub const WANT_DELEG_MASK: u32 = 0xff00;
/// The client leaves it to the server.
pub const WANT_NO_PREFERENCE: u32 = 0x0000;
/// The client would like a delegation for reading.
pub const WANT_READ_DELEG: u32 = 0x0100;
/// The client would like a delegation for writing.
pub const WANT_WRITE_DELEG: u32 = 0x0200;
/// The client would like any delegation.
pub const WANT_ANY_DELEG: u32 = 0x0300;
/// The client does not want a delegation.
pub const WANT_NO_DELEG: u32 = 0x0400;
/// The client takes an earlier wish back.
pub const WANT_CANCEL: u32 = 0x0500;
/// The client wants to be told when the server has resources for the delegation again.
pub const WANT_SIGNAL_WHEN_AVAILABLE: u32 = 0x1_0000;
/// The client wants the delegation to be pushed when no one is in the way any more.
pub const WANT_PUSH_WHEN_UNCONTENDED: u32 = 0x2_0000;

/// The client must confirm the open (4.0).
pub const RESULT_CONFIRM: u32 = 0x02;
/// The server's locks are POSIX's.
pub const RESULT_LOCKTYPE_POSIX: u32 = 0x04;
/// A file that is removed while it is open stays until it is closed (4.1).
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
