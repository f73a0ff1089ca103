//! State protection (RFC 8881 §2.10.8.3 and §18.35.3).

use xdr::{Decode, Encode};

use super::{Bitmap, MAX_ALGORITHMS, MAX_OID_BYTES};

/// The protection that a client requests in EXCHANGE_ID (`state_protect4_a`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum StateProtect<'a> {
    /// None: SP4_NONE.
    #[xdr(case = 0)]
    None,
    /// The machine's credential for some operations: SP4_MACH_CRED.
    #[xdr(case = 1)]
    MachCred(StateProtectOps),
    /// A secret that all users of the client share: SP4_SSV.
    #[xdr(case = 2)]
    Ssv(SsvParms<'a>),
}

/// The protection that the server grants; SP4_SSV is not supported (`state_protect4_r`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum StateProtected {
    /// None: SP4_NONE.
    #[xdr(case = 0)]
    None,
    /// The machine's credential for some operations: SP4_MACH_CRED.
    #[xdr(case = 1)]
    MachCred(StateProtectOps),
}

/// Operations by their numbers (`state_protect_ops4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct StateProtectOps {
    /// The operations that require the machine's credential.
    pub must_enforce: Bitmap,
    /// The operations that permit the machine's credential whoever owns the state.
    pub must_allow: Bitmap,
}

/// The parameters that a client proposes for SP4_SSV (`ssv_sp_parms4`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SsvParms<'a> {
    /// The operations that are protected.
    pub ops: StateProtectOps,
    /// The hash algorithms that the client supports.
    #[xdr(max = MAX_ALGORITHMS)]
    pub hash_algorithms: Vec<Oid<'a>>,
    /// The encryption algorithms that the client supports.
    #[xdr(max = MAX_ALGORITHMS)]
    pub encryption_algorithms: Vec<Oid<'a>>,
    /// The number of secrets that the server keeps.
    pub window: u32,
    /// The number of server handles that the client requests.
    pub gss_handles: u32,
}

/// The object identifier of a mechanism or an algorithm, in DER (`sec_oid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Oid<'a>(#[xdr(max = MAX_OID_BYTES)] pub &'a [u8]);
