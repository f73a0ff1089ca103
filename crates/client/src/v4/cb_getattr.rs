use std::time::Duration;

use buffer::Buffer;
use proto::nfs4::{Attribute, AttributeValue, Bitmap, CallbackArgOp, CbGetattrArgs, Fattr, Status};

use super::client::Client;
use super::getattr::getattr;
use crate::{Handle, Result};

/// What the holder of a delegation for writing tells of the file.
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

/// What one CB_GETATTR is answered with.
pub(super) type Answer = std::result::Result<Told, Status>;

/// The answers to those of these operations that are CB_GETATTR, each at its place.
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

/// How long a file is that is delegated for writing, and whether it was changed: then its change attribute is another one than it
/// was delegated with, and only that counts (RFC 8881 §10.4.3, §20.1).
async fn answer(args: &CbGetattrArgs, client: &Client) -> Answer {
    let file = Handle::from(args.file);
    let delegation = client.0.delegations.for_writing(&file).ok_or(Status::BadHandle)?;
    // Without an answer of the server nobody knows: it may ask again.
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

/// How long the server is waited for before it is told to ask again: other callbacks wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a file is, and whether it was changed since it had this change attribute.
async fn look(client: &Client, file: &Handle, change: u64) -> Result<(u64, bool)> {
    let mounted = client.mounted();
    if let Some(size_bytes) = mounted.as_ref().and_then(|mounted| mounted.unwritten_size(file)) {
        return Ok((size_bytes, true));
    }
    let attributes = match mounted.and_then(|mounted| mounted.last_attributes(file)) {
        Some(attributes) => attributes,
        // The holder is told what there is, and not asked.
        None => getattr(client, file).await?,
    };
    Ok((attributes.size_bytes, attributes.change != change))
}
