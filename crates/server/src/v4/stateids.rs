//! TEST_STATEID and FREE_STATEID (RFC 8881 §18.48, §18.38).

use proto::nfs4::{FreeStateidArgs, Status, TestStateidArgs, TestStateidOk};

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::{inner, status};

pub(super) fn test(compound: &mut Compound<'_>, args: &TestStateidArgs) -> OpResult<TestStateidOk> {
    let scope = compound.stateid_scope()?;
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    let verdict = |stateid| match state.test_stateid(now, scope, &inner(stateid)) {
        Ok(_) => Status::Ok,
        Err(error) => status(&error),
    };
    Ok(TestStateidOk { statuses: args.stateids.iter().map(verdict).collect() })
}

pub(super) fn free(compound: &mut Compound<'_>, args: &FreeStateidArgs) -> OpResult<()> {
    let (scope, stateid) = (compound.stateid_scope()?, inner(&compound.stateid(&args.stateid)?));
    Ok(compound.cx.server.state.free_stateid(compound.cx.request.now, scope, &stateid)?)
}
