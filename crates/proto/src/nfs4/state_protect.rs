//! How a client wants its state protected from others (RFC 8881 §2.10.8.3 and §18.35.3).

use xdr::{Decode, Encode};

use super::{Bitmap, MAX_ALGORITHMS, MAX_OID_BYTES};

/// What a client asks for in EXCHANGE_ID (`state_protect4_a`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum StateProtect<'a> {
    /// Nothing: SP4_NONE.
    #[xdr(case = 0)]
    None,
    /// The machine's credential for some operations: SP4_MACH_CRED.
    #[xdr(case = 1)]
    MachCred(StateProtectOps),
    /// A secret that all users of the client share: SP4_SSV.
    #[xdr(case = 2)]
    Ssv(SsvParms<'a>),
}

/// What the server grants. A server that does not support SP4_SSV has no reply with it (`state_protect4_r`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum StateProtected {
    /// Nothing: SP4_NONE.
    #[xdr(case = 0)]
    None,
    /// The machine's credential for some operations: SP4_MACH_CRED.
    #[xdr(case = 1)]
    MachCred(StateProtectOps),
}

/// Operations by their numbers (`state_protect_ops4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct StateProtectOps {
    /// Those that must come with the machine's credential.
    pub must_enforce: Bitmap,
    /// Those that may come with the machine's credential whoever the state belongs to.
    pub must_allow: Bitmap,
}

/// What a client proposes for SP4_SSV (`ssv_sp_parms4`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SsvParms<'a> {
    /// The operations that are protected.
    pub ops: StateProtectOps,
    /// The hash algorithms that the client knows.
    #[xdr(max = MAX_ALGORITHMS)]
    pub hash_algorithms: Vec<Oid<'a>>,
    /// The encryption algorithms that the client knows.
    #[xdr(max = MAX_ALGORITHMS)]
    pub encryption_algorithms: Vec<Oid<'a>>,
    /// How many versions of the secret the server keeps.
    pub window: u32,
    /// How many handles of the server's the client wants.
    pub gss_handles: u32,
}

/// The object identifier of a mechanism or an algorithm, in DER (`sec_oid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Oid<'a>(#[xdr(max = MAX_OID_BYTES)] pub &'a [u8]);
