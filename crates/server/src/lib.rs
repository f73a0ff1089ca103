//! The protocol programs of the server, over any [`vfs::FileSystem`]: NFS, MOUNT, the lock manager with its status
//! monitor, and rpcbind.
//!
//! [`Server::answer`] takes one RPC message and appends its reply. It opens no socket and reads no clock: callers pass
//! both in, so that tests drive the same code as the event loops.
//!
//! A call flows one way: message → RPC header ([`rpc::Call`]) → plain arguments (`security`) → replay cache, for calls
//! that are not idempotent → caller (`identity`) → one module per procedure (`v3/read.rs` …) → file system → reply.
#![forbid(unsafe_code)]

mod access;
mod call_remote;
mod callout;
mod change;
mod connections;
mod cookie_jar;
mod cookies;
mod counters;
mod dispatch;
mod elsewhere;
mod events;
mod exports;
mod fault;
mod handle;
mod host_locks;
mod id_map;
mod identity;
mod in_steps;
mod leases;
mod link;
mod listing;
mod make;
mod mount;
mod name_lock;
mod nlm;
mod node;
mod nsm;
mod open_files;
mod refusals;
mod remote;
mod remote_files;
mod replay;
mod request;
mod reservations;
mod rpcbind;
mod secattr;
mod security;
mod server;
mod set_attributes;
mod stable_how;
mod tally;
mod transfer;
mod unlink;
mod upkeep;
mod v2;
mod v3;
mod v4;
mod write_run;

pub use access_rules::{AccessRule, ClientPattern, ClientPatternError, DelegationPolicy, ExportOptions, Squash};
pub use callout::{Destination, Transmit};
pub use connections::{Connections, Delivery};
pub use counters::{Counters, ProcedureCount};
pub use exports::{Export, ExportRules, ExportTable, ExportTableError};
pub use handle::HandleKey;
pub use names::{IdKind, NameService};
pub use nlm::lock_host;
pub use open_files::OpenFileCounts;
pub use peer::{Peer, Transport};
pub use remote_files::{RemoteError, RemoteFile, RemoteFiles, RemoteName};
pub use replay::{MadeBefore, ReplyLog};
pub use request::{Answer, Request};
pub use rpcbind::{RegisteredService, Registry};
pub use security::{EntryRefusal, SecuredReply, SecurityFlavor, Unwrapped};
pub use server::{ReadPlusMode, Server, Settings};
pub use write_run::{RunAnswer, WrittenRun, write_data_at};
