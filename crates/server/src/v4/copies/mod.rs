//! Asynchronous copies, which continue after the reply to COPY (RFC 7862 §4.5, §4.8).
//!
//! A copy belongs to a client, not to a session, and ends with it. Calls of
//! [`Server::carry_on_copy`](crate::Server::carry_on_copy) advance it turn by turn. Each turn is checked like a READ
//! and a WRITE of the client. So a CLOSE or a removed export ends the copy. Addresses take turns, however many copies
//! each has. A copy that has ended is kept until the client knows, or for [`KEPT`].

mod ending;
mod fetch;
mod job;
mod notices;
mod table;
mod turn;

use std::time::Duration;

use job::CopyJob;
pub(super) use job::{CopyClient, CopyFile, CopyOrigin, CopyRequest};
pub(crate) use notices::CopyNotices;
pub(super) use notices::{CopyNotice, NOTICE_LEASE};
pub(crate) use table::Copies;

/// The most copies of a client ID in the table; beyond, COPY is synchronous.
pub(super) const MAX_PER_CLIENT: usize = 16;

/// The most copies in the table; one address may have as many as remain free.
pub(super) const MAX_COPIES: usize = 256;

/// The time to keep a copy that has ended for a client that cannot be called.
pub(super) const KEPT: Duration = Duration::from_secs(300);

/// The bytes to copy in one turn. Between turns, others get theirs, and the copy is checked again.
const TURN_BYTES: u64 = 8 << 20;

/// The bytes to fetch from another server at a time.
const FETCH_BYTES: u32 = 4 << 20;

/// The most reads of one turn, since each may return any number of bytes.
const MAX_FETCHES: usize = 64;

/// The interval of retrying a deferred copy, for example during a recall.
const DEFERRAL: Duration = Duration::from_secs(1);

/// The most deferrals in a row before a copy fails.
const MAX_DEFERRALS: u32 = 180;
