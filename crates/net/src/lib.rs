//! Event loops that carry messages between sockets and a [`Service`].
//!
//! One loop per core; a connection belongs to one loop; a message is answered where it was received unless its answer
//! has to wait, in which case the service says so and is asked again from a thread that may wait. This crate knows
//! neither RPC nor NFS: the service says where a message ends and what to answer.
//!
//! What a loop decides (when to read, what to answer, what to send next, when to close) is in modules that make no
//! system call; `epoll` drives them, and another way to wait for sockets would be a second driver beside it. The bytes
//! of a connection go through its `channel`.

mod activation;
mod answer;
mod bind;
mod blocking;
mod budget;
mod calls;
mod channel;
mod close_reason;
mod complaints;
mod connection;
mod counters;
mod dial;
mod epoll;
mod error;
mod handle;
mod hub;
mod jobs;
mod lanes;
mod limits;
mod mailbox;
mod order;
mod outbox;
mod outputs;
mod release;
mod send_path;
mod server;
mod service;
mod slab;
mod spare;
#[allow(unsafe_code)]
mod sys;

pub use activation::{inherited_sockets, keep_descriptors_from_programs};
pub use bind::Bound;
pub use channel::Layer;
pub use close_reason::CloseReason;
pub use counters::Counters;
pub use error::NetError;
pub use handle::ServerHandle;
pub use limits::Limits;
pub use peer::{Peer, Transport};
pub use send_path::SendPath;
pub use server::Server;
pub use service::{Call, Delivery, Frame, FrameError, Lane, Service, ServiceError, Verdict};
pub use sys::retransmissions;
