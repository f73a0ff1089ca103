//! Byte vectors of every operation's arguments and replies, put together by hand from the RFCs and not by the encoder.

mod mount;
mod nfs2;
mod nfs3;
mod nfs4;
mod nfsacl;
mod nlm;
mod nsm;
mod rpcbind;
mod vector;
