//! SECINFO returns the security flavours of a name (RFC 7530 §16.31, RFC 8881 §18.29).

use xdr::{Decode, Decoder, Encode, Encoder};

use super::{Component, CompoundOperation, MAX_FLAVORS, Oid, OpNumber, Res};

/// The arguments of SECINFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SecinfoArgs<'a> {
    /// The name in the current directory.
    pub name: Component<'a>,
}

/// The results of SECINFO and SECINFO_NO_NAME.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SecinfoOk<'a> {
    /// The flavours, best first.
    #[xdr(max = MAX_FLAVORS)]
    pub flavors: Vec<Flavor<'a>>,
}

/// A security flavour (`secinfo4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor<'a> {
    /// A flavour without parameters: AUTH_NONE, AUTH_SYS … and never RPCSEC_GSS.
    Plain(u32),
    /// RPCSEC_GSS.
    Gss(GssFlavor<'a>),
}

/// The parameters of RPCSEC_GSS (`rpcsec_gss_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct GssFlavor<'a> {
    /// The mechanism.
    pub mechanism: Oid<'a>,
    /// The quality of protection.
    pub quality: u32,
    /// The kind of protection.
    pub service: GssService,
}

/// The protection by RPCSEC_GSS (RFC 2203 §5.3.1, `rpc_gss_svc_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum GssService {
    /// Authentication only.
    None = 1,
    /// Authentication and integrity.
    Integrity = 2,
    /// Authentication, integrity and privacy.
    Privacy = 3,
}

/// The number of RPCSEC_GSS.
const RPCSEC_GSS: u32 = 6;

impl Encode for Flavor<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Flavor::Plain(number) => to.u32(*number),
            Flavor::Gss(gss) => {
                to.u32(RPCSEC_GSS);
                gss.encode(to);
            }
        }
    }
}

impl<'a> Decode<'a> for Flavor<'a> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match from.u32()? {
            RPCSEC_GSS => Flavor::Gss(GssFlavor::decode(from)?),
            number => Flavor::Plain(number),
        })
    }
}

/// SECINFO returns the security flavours of a name.
#[derive(Debug, Clone, Copy)]
pub struct Secinfo;

impl CompoundOperation for Secinfo {
    const NUMBER: OpNumber = OpNumber::Secinfo;
    type Arguments<'a> = SecinfoArgs<'a>;
    type Reply<'a> = Res<SecinfoOk<'a>>;
}
