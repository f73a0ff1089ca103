//! NFSv4, driven by hand: COMPOUNDs go in as bytes and replies come out as bytes.

mod attributes;
mod client40;
mod connections;
mod courtesy;
mod delegations;
mod framing;
mod limits;
mod listing;
mod locks;
mod lost_sessions;
mod nameless;
mod nested;
mod opens;
mod overlapping;
mod owners;
mod paused;
mod races;
mod reply_size;
mod resent;
mod sendfile;
mod sessions;
mod tree;
mod truncating;
