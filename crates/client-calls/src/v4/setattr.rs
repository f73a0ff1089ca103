use buffer::Buffer;
use proto::nfs4::{ArgOp, Getattr, GetattrArgs, Putfh, Setattr, SetattrArgs, Stateid, Status};
use vfs::{Attributes, SetAttributes};

use super::attributes;
use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Sets attributes under a stateid, which a change of the size requires (RFC 7530 §16.32, RFC 8881 §18.30), and returns
/// all attributes afterwards.
pub async fn setattr(caller: &impl Caller, file: &Handle, stateid: Stateid, set: &SetAttributes) -> Result<Attributes> {
    let mut buffer = Buffer::new();
    let arguments = SetattrArgs { stateid, attributes: attributes::wire_set(set, &mut buffer) };
    let request = GetattrArgs { request: attributes::ALL };
    let operations = [putfh(file), ArgOp::Setattr(arguments), ArgOp::Getattr(request)];
    let reply = caller.call(&Request::changing("SETATTR", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let status = results.next::<Setattr>()?.status;
    if status != Status::Ok {
        return Err(reply.refusal(status));
    }
    attributes::neutral(&results.ok::<Getattr, _>()?).map_err(|reason| reply.error(reason))
}
