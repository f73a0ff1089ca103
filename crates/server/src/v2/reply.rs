use buffer::Output;
use proto::nfs2::Res;
use xdr::{Encode, Encoder};

use super::status;
use crate::fault::{Fault, NoResults};

/// The result of a procedure. Failures of this version carry only a status.
pub(super) type Nfs2Result<T> = Result<T, Fault>;

/// Appends the result of a procedure.
pub(super) fn finish<T: Encode>(outcome: Nfs2Result<T>, output: &mut Output) -> Result<(), NoResults> {
    let reply = match outcome {
        Ok(ok) => Res::Ok(ok),
        Err(Fault::Defer) => return Err(NoResults::Defer),
        // There is no status for "later" (RFC 1094 §2.3.1): a client without a reply retransmits.
        Err(Fault::Recalling) => return Err(NoResults::Silent),
        Err(fault) => Res::Fail(status::of(&fault)),
    };
    reply.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}
