//! RFC 5531 (ONC RPC version 2): messages, credentials and record marking. No sockets and no clock.
#![forbid(unsafe_code)]

mod auth;
mod call;
pub mod record;
mod reply;

pub use auth::{AuthSys, Credential, Flavor, OpaqueAuth};
pub use call::{Call, CallError, Procedure, Xid, identifying_parts};
pub use reply::{AuthStat, CallResult, Rejection, Reply, ReplyError, is_reply};

/// The version of the RPC protocol (RFC 5531 §9).
pub const RPC_VERSION: u32 = 2;

/// Message types (§9, `msg_type`).
const MESSAGE_CALL: u32 = 0;
const MESSAGE_REPLY: u32 = 1;
