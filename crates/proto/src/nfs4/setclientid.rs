//! SETCLIENTID registers a client (RFC 7530 §16.33).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, MAX_OPAQUE_BYTES, NetAddr, OpNumber, ResOr, Status, Verifier};

/// The arguments of SETCLIENTID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetclientidArgs<'a> {
    /// Changes with each restart of the client.
    pub verifier: Verifier,
    /// The client's own name, which never changes.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub id: &'a [u8],
    /// The callback address of the client.
    pub callback: CallbackClient<'a>,
    /// The identifier to send in each CB_COMPOUND.
    pub callback_ident: u32,
}

/// The callback address of a client (`cb_client4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CallbackClient<'a> {
    /// The number of the client's callback program.
    pub program: u32,
    /// Its address.
    pub location: NetAddr<'a>,
}

/// The results of SETCLIENTID; with CLID_INUSE, they are the address of the other client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetclientidOk {
    /// The client ID.
    pub client: ClientId,
    /// The verifier to send in SETCLIENTID_CONFIRM.
    pub confirm: Verifier,
}

/// SETCLIENTID registers a client.
#[derive(Debug, Clone, Copy)]
pub struct Setclientid;

impl CompoundOperation for Setclientid {
    const NUMBER: OpNumber = OpNumber::Setclientid;
    type Arguments<'a> = SetclientidArgs<'a>;
    type Reply<'a> = ResOr<SetclientidOk, NetAddr<'a>, { Status::ClidInUse as u32 }>;
}
