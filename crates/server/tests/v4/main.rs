//! NFSv4, driven by hand: COMPOUNDs go in as bytes and replies come out as bytes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "../caller/mod.rs"]
mod caller;

mod attributes;
mod client40;
mod compound;
mod connections;
mod courtesy;
mod delegations;
mod framing;
mod listing;
mod locks;
mod lost_sessions;
mod nested;
mod opens;
mod overlapping;
mod owners;
mod paused;
mod races;
mod reply_size;
mod resent;
mod sendfile;
mod session;
mod sessions;
mod tree;
