use std::num::NonZero;
use std::time::Duration;

use peer::Peer;

/// One message to answer, with its environment.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The RPC message.
    pub message: &'a [u8],
    /// Who sent it.
    pub peer: Peer,
    /// The thread that calls, numbered from 0 to [`Settings::workers`](crate::Settings::workers) − 1.
    pub worker: usize,
    /// Whether this thread may block.
    pub may_block: bool,
    /// The time since some moment before the server's start; it never goes back.
    pub now: Duration,
    /// The number of the batch; `None` for a single request. Requests of one worker with the same number all arrived
    /// before the first of them was answered. So attributes fetched for one of them are fresh for the others, until one
    /// of them changes the file.
    pub batch: Option<NonZero<u64>>,
    /// Whether the sender has used up its share of the server's memory. Replies then contain little data, so that each
    /// of its connections progresses and uses little memory.
    pub is_scarce: bool,
}

/// The result of answering a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The reply was appended.
    Reply,
    /// There is no reply: the call is already being processed, or its protocol has no reply.
    Silent,
    /// The call would block: ask again from a thread that may. Nothing was appended, and nothing has happened. The
    /// number is equal for all calls that wait for the same export, and 0 for others.
    WouldBlock(u64),
    /// The message is not a call. A stream that carried it can no longer be parsed.
    NotACall(rpc::CallError),
}
