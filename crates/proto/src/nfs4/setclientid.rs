//! SETCLIENTID makes a client known (RFC 7530 §16.33).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, MAX_OPAQUE_BYTES, NetAddr, OpNumber, ResOr, Status, Verifier};

/// What SETCLIENTID needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetclientidArgs<'a> {
    /// Another one after each restart of the client.
    pub verifier: Verifier,
    /// What the client calls itself, always the same.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub id: &'a [u8],
    /// Where the server can call the client.
    pub callback: CallbackClient<'a>,
    /// What the server says in each CB_COMPOUND.
    pub callback_ident: u32,
}

/// Where a server can call a client (`cb_client4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CallbackClient<'a> {
    /// The number of the client's callback program.
    pub program: u32,
    /// Its address.
    pub location: NetAddr<'a>,
}

/// What SETCLIENTID tells; with CLID_INUSE it is the address of the other client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetclientidOk {
    /// The client's short name.
    pub client: ClientId,
    /// What SETCLIENTID_CONFIRM must say.
    pub confirm: Verifier,
}

/// SETCLIENTID makes a client known.
#[derive(Debug, Clone, Copy)]
pub struct Setclientid;

impl CompoundOperation for Setclientid {
    const NUMBER: OpNumber = OpNumber::Setclientid;
    type Arguments<'a> = SetclientidArgs<'a>;
    type Reply<'a> = ResOr<SetclientidOk, NetAddr<'a>, { Status::ClidInUse as u32 }>;
}
