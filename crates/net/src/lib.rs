//! Event loops that carry messages between sockets and a [`Service`].
//!
//! One loop per core; a connection belongs to one loop; a message is answered where it was received unless its answer
//! has to wait, in which case the service says so and is asked again from a thread that may wait. This crate knows
//! neither RPC nor NFS: the service says where a message ends and what to answer.

mod service;

pub use service::{Call, Frame, FrameError, Peer, Service, Transport, Verdict};
