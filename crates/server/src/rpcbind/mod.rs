use crate::fault::Stop;
use crate::node::CallContext;
pub(crate) fn run(_: &CallContext<'_>, _: &rpc::Call<'_>, _: &mut buffer::Output) -> Result<(), Stop> {
    Err(Stop::NoProcedure)
}
/// Services.
#[derive(Debug, Default)]
pub struct Registry;
