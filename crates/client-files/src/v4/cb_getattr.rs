use std::time::Duration;

use buffer::Buffer;
use client_calls::v4::getattr;
use proto::nfs4::{Attribute, AttributeValue, Bitmap, CallbackArgOp, CbGetattrArgs, Fattr, Status};

use super::client::Client;
use crate::{Handle, Result};

/// The attributes that the holder of a write delegation reports.
#[derive(Debug)]
pub(super) struct Told {
    mask: Bitmap,
    values: Buffer,
}

impl Told {
    pub(super) fn fattr(&self) -> Fattr<'_> {
        Fattr { mask: self.mask, values: self.values.as_slice() }
    }
}

/// The result of one CB_GETATTR.
pub(super) type Answer = std::result::Result<Told, Status>;

/// Answers each CB_GETATTR of these operations at its index.
pub(super) async fn answers(operations: &[CallbackArgOp<'_>], client: &Client) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(operations.len());
    for operation in operations {
        answers.push(match operation {
            CallbackArgOp::CbGetattr(args) => answer(args, client).await,
            _ => Err(Status::BadHandle),
        });
    }
    answers
}

/// Reports the size and the change attribute of a file delegated for writing. If the file was modified, the change
/// attribute differs from the delegated one; only that difference counts (RFC 8881 §10.4.3, §20.1).
async fn answer(args: &CbGetattrArgs, client: &Client) -> Answer {
    let file = Handle::from(args.file);
    let delegation = client.0.delegations.for_writing(&file).ok_or(Status::BadHandle)?;
    // Without a reply nobody knows the size: the server may ask again.
    let looking = tokio::time::timeout(PATIENCE, look(client, &file, delegation.change));
    let Ok(Ok((size_bytes, is_changed))) = looking.await else { return Err(Status::Delay) };
    let change = delegation.change.wrapping_add(u64::from(is_changed));
    let wanted = |attribute: Attribute| args.request.contains(attribute.number());
    let values: Vec<AttributeValue<'_>> = [AttributeValue::Change(change), AttributeValue::Size(size_bytes)]
        .into_iter()
        .filter(|value| wanted(value.attribute()))
        .collect();
    let mut buffer = Buffer::new();
    let mask = Fattr::collect(&values, &mut buffer).mask;
    Ok(Told { mask, values: buffer })
}

/// How long a CB_GETATTR may take before it fails with DELAY, since other callbacks wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

/// The file's size in bytes, and whether it changed since its change attribute was `change`.
async fn look(client: &Client, file: &Handle, change: u64) -> Result<(u64, bool)> {
    let mounted = client.mounted();
    if let Some(size_bytes) = mounted.as_ref().and_then(|mounted| mounted.unwritten_size(file)) {
        return Ok((size_bytes, true));
    }
    let attributes = match mounted.and_then(|mounted| mounted.last_attributes(file)) {
        Some(attributes) => attributes,
        // The server answers the holder's own GETATTR without a CB_GETATTR.
        None => getattr(client, file).await?,
    };
    Ok((attributes.size_bytes, attributes.change != change))
}
