use buffer::Output;
use proto::nfs3::Res;
use xdr::{Encode, Encoder};

use super::status;
use crate::fault::{Fault, FaultReply, NoResults};

/// The result of a procedure; a failure may carry data, such as attributes.
pub(super) type Nfs3Result<T, F> = Result<T, FaultReply<F>>;

/// Runs a procedure that appends its own reply, and rewinds the output when it fails.
pub(super) fn finish_in_place<F: Encode>(
    output: &mut Output,
    procedure: impl FnOnce(&mut Output) -> Nfs3Result<(), F>,
) -> Result<(), NoResults> {
    let mark = output.mark();
    match procedure(output) {
        Ok(()) => Ok(()),
        Err(failed) => {
            output.rewind(&mark);
            finish(Nfs3Result::<(), F>::Err(failed), output)
        }
    }
}

/// Appends the result of a procedure.
#[inline]
pub(super) fn finish<T: Encode, F: Encode>(outcome: Nfs3Result<T, F>, output: &mut Output) -> Result<(), NoResults> {
    let reply = match outcome {
        Ok(ok) => Res::Ok(ok),
        Err(FaultReply { fault: Fault::Defer, .. }) => return Err(NoResults::Defer),
        Err(FaultReply { fault, body }) => Res::Fail(status::of(&fault), body),
    };
    reply.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}
