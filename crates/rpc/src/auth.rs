use xdr::{Decode, Decoder, Encode, Encoder};

/// Authentication flavours (RFC 5531 §8.2 and the IANA registry).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flavor(pub u32);

impl Flavor {
    /// AUTH_NONE: the caller is anonymous (§10.1).
    pub const NONE: Flavor = Flavor(0);
    /// AUTH_SYS: user and group numbers, without proof (Appendix A; formerly AUTH_UNIX).
    pub const SYS: Flavor = Flavor(1);
}

/// A credential or a verifier in a message: at most [`OpaqueAuth::MAX_BYTES`] in a flavour's own format (§8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueAuth<'a> {
    /// The flavour of the body.
    pub flavor: Flavor,
    /// The bytes.
    pub body: &'a [u8],
}

impl OpaqueAuth<'static> {
    /// The empty AUTH_NONE value.
    pub const NONE: OpaqueAuth<'static> = OpaqueAuth { flavor: Flavor::NONE, body: &[] };
}

impl OpaqueAuth<'_> {
    /// The longest body, in bytes.
    pub const MAX_BYTES: usize = 400;
}

impl Encode for OpaqueAuth<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(self.flavor.0);
        to.opaque(self.body);
    }
}

impl<'a> Decode<'a> for OpaqueAuth<'a> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(OpaqueAuth { flavor: Flavor(from.u32()?), body: from.opaque(Self::MAX_BYTES)? })
    }
}

/// The body of an AUTH_SYS credential (RFC 5531 Appendix A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSys<'a> {
    /// An arbitrary number.
    pub stamp: u32,
    /// The client's machine name.
    pub machine_name: &'a [u8],
    /// The user.
    pub uid: u32,
    /// The user's first group.
    pub gid: u32,
    groups: [u32; AuthSys::MAX_GROUPS],
    group_count: usize,
}

impl<'a> AuthSys<'a> {
    /// The longest machine name, in bytes.
    pub const MAX_MACHINE_NAME: usize = 255;
    /// The most further groups.
    pub const MAX_GROUPS: usize = 16;

    /// Makes a credential of `uid`, `gid` and the first [`AuthSys::MAX_GROUPS`] of `groups`.
    pub fn new(machine_name: &'a [u8], uid: u32, gid: u32, groups: &[u32]) -> AuthSys<'a> {
        let group_count = groups.len().min(Self::MAX_GROUPS);
        let mut all = [0; Self::MAX_GROUPS];
        all[..group_count].copy_from_slice(&groups[..group_count]);
        let machine_name = &machine_name[..machine_name.len().min(Self::MAX_MACHINE_NAME)];
        AuthSys { stamp: 0, machine_name, uid, gid, groups: all, group_count }
    }

    /// The user's further groups.
    pub fn groups(&self) -> &[u32] {
        &self.groups[..self.group_count]
    }
}

impl Encode for AuthSys<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(self.stamp);
        to.opaque(self.machine_name);
        to.u32(self.uid);
        to.u32(self.gid);
        to.array(self.groups());
    }
}

impl<'a> Decode<'a> for AuthSys<'a> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        let (stamp, machine_name) = (from.u32()?, from.opaque(Self::MAX_MACHINE_NAME)?);
        let (uid, gid) = (from.u32()?, from.u32()?);
        let group_count = from.count(Self::MAX_GROUPS)?;
        let mut groups = [0; Self::MAX_GROUPS];
        for group in &mut groups[..group_count] {
            *group = from.u32()?;
        }
        Ok(AuthSys { stamp, machine_name, uid, gid, groups, group_count })
    }
}

/// The sender of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// An anonymous caller.
    None,
    /// A user with groups.
    Sys(AuthSys<'a>),
}

impl<'a> Credential<'a> {
    /// Decodes a credential of one of the flavours above; `None` for any other flavour.
    ///
    /// # Errors
    /// When the body does not match its flavour.
    pub fn parse(auth: &OpaqueAuth<'a>) -> Option<xdr::Result<Credential<'a>>> {
        match auth.flavor {
            Flavor::NONE => Some(Ok(Credential::None)),
            Flavor::SYS => Some(AuthSys::decode(&mut Decoder::new(auth.body)).map(Credential::Sys)),
            _ => None,
        }
    }
}

impl Encode for Credential<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Credential::None => OpaqueAuth::NONE.encode(to),
            Credential::Sys(sys) => {
                to.u32(Flavor::SYS.0);
                let length = to.reserve_u32();
                let start = to.len();
                sys.encode(to);
                let body_bytes = to.len() - start;
                to.fill(length, u32::try_from(body_bytes).unwrap_or_default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use buffer::Buffer;

    #[test]
    fn auth_sys_credential_has_the_bytes_of_the_rfc() {
        let mut buffer = Buffer::new();
        Credential::Sys(AuthSys::new(b"host", 1000, 100, &[4, 27])).encode(&mut Encoder::new(&mut buffer));
        let expected =
            b"\0\0\0\x01\0\0\0\x20\0\0\0\0\0\0\0\x04host\0\0\x03\xe8\0\0\0\x64\0\0\0\x02\0\0\0\x04\0\0\0\x1b";
        // 4 stamp, 8 name, 4 uid, 4 gid, 4 count, 8 groups: 32 bytes of body.
        assert_eq!(buffer.as_slice(), expected);
    }

    #[test]
    fn seventeen_groups_are_refused() {
        let mut body = vec![0; 16];
        body.extend(17u32.to_be_bytes());
        body.extend([0; 68]);
        let auth = OpaqueAuth { flavor: Flavor::SYS, body: &body };
        assert!(matches!(Credential::parse(&auth), Some(Err(xdr::Error::TooLong { length: 17, .. }))));
    }

    #[test]
    fn unknown_flavor_is_not_an_error_of_the_message() {
        assert_eq!(Credential::parse(&OpaqueAuth { flavor: Flavor(6), body: b"" }), None);
    }
}
