//! SEEK (RFC 7862 §15.11).

use proto::nfs4::{DataContent, SeekArgs, SeekOk, Status};
use state::IoKind;
use vfs::Seek;
use xdr::{Decode, Decoder};

use super::compound::Compound;
use super::failure::OpResult;
use crate::transfer;

/// Decodes the arguments. Another content than data and holes is one that this server does not support (RFC 7862
/// §15.11.3).
pub(super) fn arguments(from: &mut Decoder<'_>) -> OpResult<SeekArgs> {
    SeekArgs::decode(from).map_err(|error| match error {
        xdr::Error::BadValue { .. } => Status::UnionNotSupp.into(),
        _ => Status::BadXdr.into(),
    })
}

pub(super) fn seek(compound: &mut Compound<'_>, args: &SeekArgs) -> OpResult<SeekOk> {
    let node = compound.current()?;
    compound.check_io(&node, &args.stateid, IoKind::Read)?;
    let open = transfer::open_for_read(&node)?;
    let size_bytes = open.attributes.size_bytes;
    if args.offset >= size_bytes {
        return Err(Status::NxIo.into());
    }
    let what = match args.what {
        DataContent::Data => Seek::Data,
        DataContent::Hole => Seek::Hole,
    };
    // The file may have grown since its size was fetched, so an offset beyond that size is possible.
    let found = open.file.seek(&node.context, args.offset, what)?;
    let offset = found.unwrap_or(size_bytes);
    // The hole at the end of the file also sets eof: there was no hole before the last byte.
    Ok(SeekOk { eof: found.is_none() || offset >= size_bytes, offset })
}
