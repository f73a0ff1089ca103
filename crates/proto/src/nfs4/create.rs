//! CREATE makes a file that is not regular (RFC 7530 §16.4, RFC 8881 §18.4).

use xdr::{Decode, Encode};

use super::{Bitmap, ChangeInfo, Component, CompoundOperation, Fattr, OpNumber, Res, SpecData};
use crate::MAX_ARGUMENT_BYTES;

/// The arguments of CREATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateArgs<'a> {
    /// The kind of file.
    pub kind: CreateType<'a>,
    /// Its name in the current directory.
    pub name: Component<'a>,
    /// Its initial attributes.
    pub attributes: Fattr<'a>,
}

/// What to make (`createtype4`), by the values of `nfs_ftype4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CreateType<'a> {
    /// A directory.
    #[xdr(case = 2)]
    Directory,
    /// A block device.
    #[xdr(case = 3)]
    BlockDevice(SpecData),
    /// A character device.
    #[xdr(case = 4)]
    CharDevice(SpecData),
    /// A symbolic link to this path.
    #[xdr(case = 5)]
    Symlink(#[xdr(max = MAX_ARGUMENT_BYTES)] &'a [u8]),
    /// A socket.
    #[xdr(case = 6)]
    Socket,
    /// A FIFO.
    #[xdr(case = 7)]
    Fifo,
    /// Anything else, which CREATE cannot make: the server answers BADTYPE.
    #[xdr(default = 1)]
    Other,
}

/// The results of CREATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateOk {
    /// The directory's change attribute.
    pub change: ChangeInfo,
    /// The attributes that were set.
    pub attributes_set: Bitmap,
}

/// CREATE makes a file that is not regular.
#[derive(Debug, Clone, Copy)]
pub struct Create;

impl CompoundOperation for Create {
    const NUMBER: OpNumber = OpNumber::Create;
    type Arguments<'a> = CreateArgs<'a>;
    type Reply<'a> = Res<CreateOk>;
}
