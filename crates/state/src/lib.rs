//! The state of an NFS server's clients in one [`State`]: client IDs, sessions, opens, locks, delegations and leases,
//! for NFSv4.0, NFSv4.1 and later, and the lock protocol of NFSv2 and NFSv3.
//!
//! It has no sockets and no clock: every call gets the time, and messages to send come from [`State::poll_event`]. It
//! is independent of XDR, RPC and statuses: errors are [`StateError`], which each protocol maps. Data that must survive
//! a restart goes through [`ClientRecords`], locks that local processes must see through [`HostLocks`].
//! Delegations of files that local processes may change are kept true by [`HostLeases`].
//!
//! # Locks
//!
//! All methods are thread-safe. Locks are taken only in this order:
//!
//! 1. The *core* mutex: clients, owners, files, opens, locks, delegations, the grace period. OPEN, CLOSE, LOCK and
//!    similar calls hold it for some table look-ups; the three traits are called under it.
//! 2. One shard of a published table: sessions, stateids, or files with reservations and delegations. Only a holder of
//!    the core mutex writes to the latter two.
//! 3. One session's mutex, or that of the table of accounts, which counts the resources of origins.
//!
//! SEQUENCE reads a shard of the sessions and then locks its session. READ and WRITE with a stateid read a shard of the
//! stateids. Without one they read a shard of the reserved files, and take the core mutex only if the file is in it. An
//! atomic word renews the lease. So requests of different sessions for different files share no mutex.
//!
//! # Invariants
//!
//! - No two grants conflict: opens by their share reservations, locks by owner and range, delegations by kind.
//!   Conflicting state of an ended or overdue client is revoked first.
//! - A client is on record before it is granted anything that it could reclaim. Its record is marked before others get
//!   what it lost without its knowledge.
//! - A request on a slot, or in an NFSv4.0 owner's sequence, executes at most once.
//! - Everything has a limit in [`Limits`], and no call works on behalf of others for more than its steps.
#![forbid(unsafe_code)]

mod account;
mod back_channel;
mod back_slots;
mod client;
mod client40;
mod client41;
mod close;
mod connection;
mod core;
mod create_session;
mod delegate;
mod delegation;
mod error;
mod event;
mod expiry;
mod file;
mod forgotten;
mod grace;
mod guard;
mod host_leases;
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
mod reserve;
mod room;
mod seqid;
mod sequence;
mod session;
mod share;
mod share_conflict;
mod slot;
mod slot_targets;
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
pub use create_session::CreateSessionArgs;
pub use delegation::{DelegationAnswer, DelegationKind, DelegationWant, WhyNoDelegation, WriteDelegation};
pub use error::{Conflict, StateError};
pub use event::{Event, LockNotice, NlmGranted, Recall};
pub use grace::GraceReport;
pub use host_leases::{Gone, HostLeases, NoHostLeases};
pub use host_locks::{HostLocks, HostRefusal, NoHostLocks};
pub use ids::{ClientId, FileKey, Principal, Requester, ScopedStateid, SessionId, Stateid, StateidScope};
pub use lease::StatusFlags;
pub use limits::{Limits, ReclaimPauses};
pub use lock::{LockArgs, LockTest, Locker};
pub use lock_set::HostRange;
pub use nlm::{NlmLock, NlmMode, NlmOutcome};
pub use nlm_share::NlmShareArgs;
pub use open::{Claim, OpenArgs, Opened};
pub use origin::Origin;
pub use range::{ByteRange, InvalidRange};
pub use records::{ClientRecord, ClientRecords, NoRecords, RecordKind, RecordsError};
pub use reserve::Reserved;
pub use seqid::{OwnerTurn, SeqidOwner, SeqidTurn};
pub use sequence::{SequenceArgs, SequenceReply, Sequenced, SlotRequest, SlotTurn};
pub use session::{CallbackSecurity, ChannelAttributes, CreatedSession, Direction, Session};
pub use share::{Share, ShareAccess, ShareDeny};
pub use share_conflict::{AccessCheck, AccessKind};
pub use state::{Census, State};
pub use stateid_check::IoKind;
pub use stateid_table::StateKind;
