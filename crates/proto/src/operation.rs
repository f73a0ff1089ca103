use xdr::{Decode, Encode};

/// One procedure of one version of one program.
pub trait Operation {
    /// The program's number.
    const PROGRAM: u32;
    /// The version's number.
    const VERSION: u32;
    /// The procedure's number.
    const PROCEDURE: u32;
    /// The procedure's name, as the RFC writes it.
    const NAME: &'static str;
    /// What the client sends.
    type Arguments<'a>: Encode + Decode<'a>;
    /// What the server answers.
    type Reply<'a>: Encode + Decode<'a>;
}
