//! LOCKT (RFC 7530 §16.11, RFC 8881 §18.11).

use proto::nfs4::{LocktArgs, Status};
use state::{ByteRange, ClientId, LockTest, StateError};
use vfs::FileKind;

use super::compound::Compound;
use super::failure::OpResult;
use super::lock::is_exclusive;

pub(super) fn lockt(compound: &mut Compound<'_>, args: &LocktArgs<'_>) -> OpResult<()> {
    let node = compound.current()?;
    match node.attributes()?.kind {
        FileKind::Regular => {}
        FileKind::Directory => return Err(Status::IsDir.into()),
        _ => return Err(Status::Inval.into()),
    }
    // The session identifies the client; the ID in the arguments is ignored (RFC 8881 §18.11.3).
    let client =
        if compound.progress.minor.has_sessions() { compound.client()? } else { ClientId(args.owner.client.0) };
    let wanted = LockTest {
        client,
        owner: args.owner.owner,
        file: node.file_key(),
        range: ByteRange::nfs4(args.offset, args.length).map_err(StateError::from)?,
        exclusive: is_exclusive(args.lock_type),
    };
    Ok(compound.cx.server.state.lock_test(compound.cx.request.now, &wanted)?)
}
