//! The protocol programs, driven by hand.

mod batches;
mod connections;
mod cookies;
mod gathering;
mod handles;
mod host;
mod malformed;
mod mount;
mod nested;
mod open_files;
mod permissions;
mod read_only_storage;
mod replay;
mod rpcbind;
mod scrambled;
mod search;
mod security;
mod sendfile;
mod storage;
mod unanswered;
mod v2_files;
mod v2_names;
mod v3_files;
mod v3_listing;
mod v3_names;
mod wcc;
