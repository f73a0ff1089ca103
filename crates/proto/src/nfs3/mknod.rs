//! MKNOD makes a device, a socket or a FIFO (RFC 1813 §3.3.11).

use xdr::{Decode, Encode};

use super::create::CreateOk;
use super::{DirOp, PROGRAM, Res, Sattr, SpecData, VERSION, WccData};
use crate::Operation;

/// The arguments of MKNOD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MknodArgs<'a> {
    /// Its directory and name.
    pub place: DirOp<'a>,
    /// The kind of file.
    pub what: MknodData,
}

/// What to make (`mknoddata3`), by the values of `ftype3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum MknodData {
    /// A regular file, which MKNOD cannot make.
    #[xdr(case = 1)]
    Regular,
    /// A directory, which MKNOD cannot make.
    #[xdr(case = 2)]
    Directory,
    /// A block device.
    #[xdr(case = 3)]
    BlockDevice(Sattr, SpecData),
    /// A character device.
    #[xdr(case = 4)]
    CharDevice(Sattr, SpecData),
    /// A symbolic link, which MKNOD cannot make.
    #[xdr(case = 5)]
    Symlink,
    /// A socket.
    #[xdr(case = 6)]
    Socket(Sattr),
    /// A FIFO.
    #[xdr(case = 7)]
    Fifo(Sattr),
}

/// MKNOD makes a device, a socket or a FIFO.
#[derive(Debug, Clone, Copy)]
pub struct Mknod;

impl Operation for Mknod {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 11;
    const NAME: &'static str = "MKNOD";
    type Arguments<'a> = MknodArgs<'a>;
    type Reply<'a> = Res<CreateOk, WccData>;
}
