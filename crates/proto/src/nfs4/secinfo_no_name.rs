//! SECINFO_NO_NAME returns the security flavours of a file handle (RFC 8881 §18.45).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, SecinfoOk};

/// The file of SECINFO_NO_NAME (`secinfo_style4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum SecinfoStyle {
    /// The current one.
    CurrentFh = 0,
    /// Its parent.
    Parent = 1,
}

/// SECINFO_NO_NAME returns the security flavours of a file handle.
#[derive(Debug, Clone, Copy)]
pub struct SecinfoNoName;

impl CompoundOperation for SecinfoNoName {
    const NUMBER: OpNumber = OpNumber::SecinfoNoName;
    type Arguments<'a> = SecinfoStyle;
    type Reply<'a> = Res<SecinfoOk<'a>>;
}
