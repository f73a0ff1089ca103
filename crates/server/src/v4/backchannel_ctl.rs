//! BACKCHANNEL_CTL (RFC 8881 §18.33): replaces the callback program and its credentials.

use proto::nfs4::BackchannelCtlArgs;

use super::compound::Compound;
use super::failure::OpResult;
use super::session;

pub(super) fn backchannel_ctl(compound: &mut Compound<'_>, args: &BackchannelCtlArgs<'_>) -> OpResult<()> {
    let session = compound.session()?;
    let security = session::security(&args.security);
    Ok(compound.cx.server.state.backchannel_ctl(&session, args.program, security)?)
}
