use buffer::Buffer;
use proto::nfs4::{ArgOp, Getattr, GetattrArgs, Putfh, Setattr, SetattrArgs, Stateid, Status};
use vfs::{Attributes, SetAttributes};

use super::client::Client;
use super::request::Request;
use super::{attributes, putfh};
use crate::{Handle, Result};

/// Sets attributes without opening the file, and returns all attributes afterwards.
pub(crate) async fn setattr(client: &Client, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
    setattr_as(client, file, Stateid::ANONYMOUS, set).await
}

/// Sets attributes under a stateid, which a change of the size requires (RFC 7530 §16.32, RFC 8881 §18.30).
pub(crate) async fn setattr_as(
    client: &Client,
    file: &Handle,
    stateid: Stateid,
    set: &SetAttributes,
) -> Result<Attributes> {
    if set.mode.is_some() || set.uid.is_some() || set.gid.is_some() {
        client.0.delegations.ask_before_opening(file);
    }
    let mut buffer = Buffer::new();
    let arguments = SetattrArgs { stateid, attributes: attributes::wire_set(set, &mut buffer) };
    let request = GetattrArgs { request: attributes::ALL };
    let operations = [putfh(file), ArgOp::Setattr(arguments), ArgOp::Getattr(request)];
    let reply = client.call(&Request::changing("SETATTR", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let status = results.next::<Setattr>()?.status;
    if status != Status::Ok {
        return Err(reply.refusal(status));
    }
    attributes::neutral(&results.ok::<Getattr, _>()?).map_err(|reason| reply.error(reason))
}
