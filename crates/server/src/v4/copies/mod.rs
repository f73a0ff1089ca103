//! Copies that go on behind the reply to COPY (RFC 7862 §4.5, §4.8).
//!
//! A copy belongs to a client, not to a session, and ends with it. It is carried on turn by turn, by whoever calls
//! [`Server::carry_on_copy`](crate::Server::carry_on_copy): each turn is checked like a READ and a WRITE of the client, so that
//! whatever would refuse those, such as a CLOSE or an export that is gone, ends the copy. Addresses take turns,
//! whatever the number of their copies. The record of a copy that has ended is
//! kept until the client has heard of it, or for [`KEPT`].

mod ending;
mod fetch;
mod job;
mod notices;
mod table;
mod turn;

use std::time::Duration;

use job::Job;
pub(super) use job::{Asker, NewJob, Place, Source};
pub(crate) use notices::CopyNotices;
pub(super) use notices::{CopyNotice, NOTICE_LEASE};
pub(crate) use table::Copies;

/// How many copies a client ID may have in the table; beyond, COPY copies at once.
pub(super) const MAX_PER_CLIENT: usize = 16;

/// How many copies there may be in the table; those of one address may be as many as they leave free.
pub(super) const MAX_COPIES: usize = 256;

/// For how long the record of a copy that has ended is kept for a client that cannot be told of the end.
pub(super) const KEPT: Duration = Duration::from_secs(300);

/// How many bytes are copied in one turn: others have theirs then, and it is looked whether the copy may go on.
const TURN_BYTES: u64 = 8 << 20;

/// How many bytes are fetched from another server at a time.
const FETCH_BYTES: u32 = 4 << 20;

/// The most reads of one turn, since each of them may bring as little as it likes.
const MAX_FETCHES: usize = 64;

/// After how long a copy that was put off, by a delegation that is recalled for example, is tried again.
const PUT_OFF: Duration = Duration::from_secs(1);

/// How often in a row a copy is put off before it fails.
const MAX_PUT_OFFS: u32 = 180;
