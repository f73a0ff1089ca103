//! Dispatches operations to their functions.

use buffer::Output;
use proto::nfs4::{OpNumber, Status};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;
use super::owner_seqid::{self, HasSeqid};
use super::{
    access, allocate, backchannel_ctl, bind_conn_to_session, clone, close, commit, copy, copy_notify, create,
    create_session, delegreturn, destroy_clientid, destroy_session, exchange_id, getattr, getfh, getxattr, io_advise,
    link, listxattrs, lock, lockt, locku, lookup, lookupp, offload_cancel, offload_status, open, open_confirm,
    open_downgrade, putfh, putrootfh, read, read_plus, readdir, readlink, reclaim_complete, release_lockowner, remove,
    removexattr, rename, renew, restorefh, savefh, secinfo, seek, sequence, setattr, setclientid, setxattr, stateids,
    verify, write,
};

/// Runs one operation and appends its results if it succeeds.
pub(super) fn carry_out(
    compound: &mut Compound<'_>,
    number: OpNumber,
    from: &mut Decoder<'_>,
    output: &mut Output,
) -> OpResult<()> {
    use OpNumber as N;
    match number {
        N::Access => answer(compound, from, output, access::access),
        N::Allocate => answer(compound, from, output, allocate::allocate),
        N::Clone => answer(compound, from, output, clone::clone),
        N::Commit => answer(compound, from, output, commit::commit),
        N::Copy => answer(compound, from, output, copy::copy),
        N::CopyNotify => copy_notify::run(compound, &arguments(from)?, output),
        N::Create => answer(compound, from, output, create::create),
        N::Deallocate => answer(compound, from, output, allocate::deallocate),
        N::Getattr => getattr::run(compound, &arguments(from)?, output),
        N::Getfh => getfh::run(compound, output),
        N::Getxattr => getxattr::run(compound, &arguments(from)?, output),
        N::IoAdvise => answer(compound, from, output, io_advise::io_advise),
        N::Link => answer(compound, from, output, link::link),
        N::Listxattrs => listxattrs::run(compound, &arguments(from)?, output),
        N::Lookup => answer(compound, from, output, lookup::lookup),
        N::Lookupp => answer(compound, from, output, lookupp::lookupp),
        N::Nverify => answer(compound, from, output, verify::nverify),
        N::Putfh => putfh::run(compound, from),
        N::Putrootfh | N::Putpubfh => answer(compound, from, output, putrootfh::putrootfh),
        N::Read => read::run(compound, &arguments(from)?, output),
        N::ReadPlus => read_plus::run(compound, &arguments(from)?, output),
        N::OffloadCancel => answer(compound, from, output, offload_cancel::offload_cancel),
        N::OffloadStatus => answer(compound, from, output, offload_status::offload_status),
        N::Readdir => readdir::run(compound, &arguments(from)?, output),
        N::Readlink => readlink::run(compound, output),
        N::Remove => answer(compound, from, output, remove::remove),
        N::Removexattr => answer(compound, from, output, removexattr::removexattr),
        N::Rename => answer(compound, from, output, rename::rename),
        N::Restorefh => answer(compound, from, output, restorefh::restorefh),
        N::Savefh => answer(compound, from, output, savefh::savefh),
        N::Secinfo => secinfo::by_name(compound, &arguments(from)?, output),
        N::SecinfoNoName => secinfo::no_name(compound, &arguments(from)?, output),
        N::Seek => {
            let found = seek::seek(compound, &seek::arguments(from)?)?;
            found.encode(&mut Encoder::new(&mut output.bytes));
            Ok(())
        }
        N::Setattr => answer(compound, from, output, setattr::setattr),
        N::Setxattr => answer(compound, from, output, setxattr::setxattr),
        N::Verify => answer(compound, from, output, verify::verify),
        N::Write => answer(compound, from, output, write::write),
        // Begins nearly every COMPOUND.
        N::Sequence => sequence::run(compound, from, output),
        other => on_state(compound, other, from, output),
    }
}

/// The operations on clients, sessions, opens and locks.
fn on_state(
    compound: &mut Compound<'_>,
    number: OpNumber,
    from: &mut Decoder<'_>,
    output: &mut Output,
) -> OpResult<()> {
    use OpNumber as N;
    match number {
        N::BackchannelCtl => answer(compound, from, output, backchannel_ctl::backchannel_ctl),
        N::BindConnToSession => answer(compound, from, output, bind_conn_to_session::bind),
        N::Close => in_order(compound, from, output, encoded(close::close)),
        N::CreateSession => answer(compound, from, output, create_session::create_session),
        N::Delegreturn => answer(compound, from, output, delegreturn::delegreturn),
        N::DestroyClientid => answer(compound, from, output, destroy_clientid::destroy_clientid),
        N::DestroySession => answer(compound, from, output, destroy_session::destroy_session),
        N::ExchangeId => arguments(from).and_then(|args| exchange_id::run(compound, &args, output)),
        N::FreeStateid => answer(compound, from, output, stateids::free),
        N::Lock => in_order(compound, from, output, encoded(lock::lock)),
        N::Lockt => answer(compound, from, output, lockt::lockt),
        N::Locku => in_order(compound, from, output, encoded(locku::locku)),
        N::Open => in_order(compound, from, output, open::run),
        N::OpenConfirm => in_order(compound, from, output, encoded(open_confirm::open_confirm)),
        N::OpenDowngrade => in_order(compound, from, output, encoded(open_downgrade::open_downgrade)),
        N::ReclaimComplete => answer(compound, from, output, reclaim_complete::reclaim_complete),
        N::ReleaseLockowner => answer(compound, from, output, release_lockowner::release_lockowner),
        N::Renew => answer(compound, from, output, renew::renew),
        N::Setclientid => answer(compound, from, output, setclientid::setclientid),
        N::SetclientidConfirm => answer(compound, from, output, setclientid::confirm),
        N::TestStateid => answer(compound, from, output, stateids::test),
        _ => Err(Status::NotSupp.into()),
    }
}

/// Decodes the arguments of an operation.
fn arguments<'a, A: Decode<'a>>(from: &mut Decoder<'a>) -> OpResult<A> {
    Ok(A::decode(from).map_err(|_| Status::BadXdr)?)
}

/// Decodes the arguments, runs the operation and appends its results.
fn answer<'a, A: Decode<'a>, T: Encode>(
    compound: &mut Compound<'_>,
    from: &mut Decoder<'a>,
    output: &mut Output,
    operation: impl FnOnce(&mut Compound<'_>, &A) -> OpResult<T>,
) -> OpResult<()> {
    let results = operation(compound, &arguments(from)?)?;
    results.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

/// Decodes the arguments, and runs an operation that has an owner's seqid in NFSv4.0.
fn in_order<'a, A: Decode<'a> + HasSeqid>(
    compound: &mut Compound<'_>,
    from: &mut Decoder<'a>,
    output: &mut Output,
    operation: impl FnOnce(&mut Compound<'_>, &A, &mut Output) -> OpResult<()>,
) -> OpResult<()> {
    let args = arguments(from)?;
    if compound.progress.minor.has_sessions() {
        return operation(compound, &args, output);
    }
    owner_seqid::in_order(compound, &args, output, operation)
}

/// An operation that appends its results.
fn encoded<A, T: Encode>(
    operation: impl FnOnce(&mut Compound<'_>, &A) -> OpResult<T>,
) -> impl FnOnce(&mut Compound<'_>, &A, &mut Output) -> OpResult<()> {
    |compound, args, output| {
        operation(compound, args)?.encode(&mut Encoder::new(&mut output.bytes));
        Ok(())
    }
}
