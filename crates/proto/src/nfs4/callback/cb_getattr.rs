//! CB_GETATTR requests the attributes of a file that is delegated for writing (RFC 7530 §18.1, RFC 8881 §20.1).

use xdr::{Decode, Encode};

use crate::nfs4::{Bitmap, CallbackNumber, CallbackOperation, Fattr, FileHandle, Res};

/// The arguments of CB_GETATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbGetattrArgs {
    /// The file.
    pub file: FileHandle,
    /// The requested attributes: the change attribute and the size.
    pub request: Bitmap,
}

/// CB_GETATTR requests the attributes of a file that is delegated for writing.
#[derive(Debug, Clone, Copy)]
pub struct CbGetattr;

impl CallbackOperation for CbGetattr {
    const NUMBER: CallbackNumber = CallbackNumber::CbGetattr;
    type Arguments<'a> = CbGetattrArgs;
    type Reply<'a> = Res<Fattr<'a>>;
}
