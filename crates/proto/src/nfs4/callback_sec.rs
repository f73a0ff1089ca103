use xdr::{Decode, Encode};

use super::{GssService, MAX_GSS_HANDLE_BYTES};

/// The credential of a server's callbacks (RFC 8881 §18.33.3, `callback_sec_parms4`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum CallbackSec<'a> {
    /// AUTH_NONE.
    #[xdr(case = 0)]
    None,
    /// AUTH_SYS.
    #[xdr(case = 1)]
    Sys(AuthSysParms<'a>),
    /// RPCSEC_GSS.
    #[xdr(case = 6)]
    Gss(GssCallbackHandles<'a>),
}

/// The numbers of AUTH_SYS (RFC 5531 appendix A, `authsys_parms`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct AuthSysParms<'a> {
    /// Any number.
    pub stamp: u32,
    /// The machine's name.
    #[xdr(max = AuthSysParms::MAX_MACHINE_NAME_BYTES)]
    pub machine_name: &'a [u8],
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// More groups.
    #[xdr(max = AuthSysParms::MAX_GIDS)]
    pub gids: Vec<u32>,
}

impl AuthSysParms<'_> {
    /// The longest name of a machine, in bytes.
    pub const MAX_MACHINE_NAME_BYTES: usize = 255;
    /// The most groups beside the first.
    pub const MAX_GIDS: usize = 16;
}

/// The contexts of RPCSEC_GSS for callbacks (`gss_cb_handles4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GssCallbackHandles<'a> {
    /// The kind of protection.
    pub service: GssService,
    /// The server's context, from an earlier request.
    #[xdr(max = MAX_GSS_HANDLE_BYTES)]
    pub from_server: &'a [u8],
    /// The client's context.
    #[xdr(max = MAX_GSS_HANDLE_BYTES)]
    pub from_client: &'a [u8],
}
