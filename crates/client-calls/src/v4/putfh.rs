use proto::nfs4::{ArgOp, PutfhArgs};

use crate::Handle;

/// Makes a file the current one.
pub fn putfh(file: &Handle) -> ArgOp<'static> {
    ArgOp::Putfh(PutfhArgs { object: (*file).into() })
}
