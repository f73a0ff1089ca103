use xdr::{Decode, Encode};

/// One procedure of one version of one program.
pub trait Operation {
    /// The program's number.
    const PROGRAM: u32;
    /// The version's number.
    const VERSION: u32;
    /// The procedure's number.
    const PROCEDURE: u32;
    /// The procedure's name in the RFC.
    const NAME: &'static str;
    /// The arguments.
    type Arguments<'a>: Encode + Decode<'a>;
    /// The reply.
    type Reply<'a>: Encode + Decode<'a>;
}
