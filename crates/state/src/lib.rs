//! What an NFS server remembers of its clients: client ids, sessions, opens, locks, delegations and leases, for NFSv4.0,
//! NFSv4.1 and later, and the lock protocol of NFSv2 and NFSv3, in one [`State`].
//!
//! It has no sockets and no clock: every call is told the time, and what must be sent comes out of
//! [`State::poll_event`]. It knows neither XDR nor RPC nor statuses: errors are [`StateError`], which each protocol maps.
//! What must outlive a restart goes through [`ClientRecords`], what local processes must see through [`HostLocks`].
//!
//! # Locks
//!
//! Any thread may call anything. In this order, and never the other way round:
//!
//! 1. The *core* mutex: clients, owners, files, opens, locks, delegations, the grace period. OPEN, CLOSE, LOCK and the
//!    like hold it for the time of some table look-ups; the two traits are called under it.
//! 2. One shard of a published table: sessions, stateids, or files with reservations and delegations. Only who holds
//!    the core mutex writes to the latter two.
//! 3. One session's mutex, or that of the table of accounts, which counts what origins hold.
//!
//! SEQUENCE reads a shard of the sessions and then locks its session. READ and WRITE with a stateid read a shard of the
//! stateids; without one, a shard of the reserved files, and go on to the core mutex only if the file is in it. Leases are
//! renewed by an atomic word. So requests of different sessions for different files share no mutex.
//!
//! # What always holds
//!
//! - No two grants conflict: opens by their share reservations, locks by owner and range, delegations by kind — except with
//!   those of a client that is gone or overdue, which are taken away first.
//! - A client is in the record before it is granted anything that it could reclaim, and marked there before somebody
//!   else gets what it lost without knowing.
//! - A request on a slot, or in an NFSv4.0 owner's sequence, is executed at most once.
//! - Nothing grows without a limit of [`Limits`], and no call works on behalf of others for more than its steps.
#![forbid(unsafe_code)]

mod account;
mod back_channel;
mod client;
mod client40;
mod client41;
mod close;
mod connection;
mod core;
mod create_session;
mod delegation;
mod error;
mod event;
mod expiry;
mod file;
mod grace;
mod guard;
mod host_locks;
mod ids;
mod lease;
pub mod limits;
mod lock;
mod lock_set;
mod nlm;
mod nlm_idle;
mod nlm_share;
mod open;
mod open_set;
mod origin;
mod owner;
mod range;
mod range_tree;
mod recall;
mod recording;
mod records;
mod seqid;
mod sequence;
mod session;
mod share;
mod share_conflict;
mod slot;
mod state;
mod stateid_check;
mod stateid_table;
mod sync;
mod waiter;

pub use account::may_take;
pub use back_channel::{CallbackOutcome, CallbackRoute};
pub use client::Callback40;
pub use client40::SetClientIdArgs;
pub use client41::{ExchangeIdArgs, ExchangedId};
pub use create_session::{CreateSessionArgs, CreatedSession};
pub use delegation::{DelegationAnswer, DelegationKind, DelegationWant, WhyNoDelegation, WriteDelegation};
pub use error::{Conflict, StateError};
pub use event::{Event, LockNotice, NlmGranted, Recall};
pub use grace::GraceReport;
pub use host_locks::{HostLocks, HostRefusal, NoHostLocks};
pub use ids::{ClientId, Door, FileKey, Principal, Requester, SessionId, Stateid};
pub use lease::StatusFlags;
pub use limits::{Limits, ReclaimPauses};
pub use lock::{LockArgs, LockTest, Locker};
pub use lock_set::HostRange;
pub use nlm::{NlmLock, NlmMode, NlmOutcome};
pub use nlm_share::NlmShareArgs;
pub use open::{Claim, OpenArgs, Opened};
pub use origin::Origin;
pub use range::ByteRange;
pub use records::{ClientRecord, ClientRecords, NoRecords, RecordKind, RecordsError};
pub use seqid::{OwnerTurn, SeqidOwner, SeqidTurn};
pub use sequence::{SequenceArgs, SequenceReply, Sequenced, SlotRequest, SlotTurn};
pub use session::{CallbackSecurity, ChannelAttributes, Direction, Session};
pub use share::{ShareAccess, ShareDeny};
pub use share_conflict::{AccessKind, Verdict};
pub use state::{Census, State};
pub use stateid_check::IoKind;
pub use stateid_table::StateKind;
