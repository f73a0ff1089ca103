use client_calls::v4::{self as calls, CopyReply, Transfer};

use super::client::Client;
use super::offload::Offload;
use crate::{Copied, Lie, Reason, Result};

/// A copy that has ended, or that the server continues.
#[derive(Debug)]
pub(crate) enum Begun {
    Over(Copied),
    GoesOn(Offload),
}

/// Has the server copy a range, and waits for the end (RFC 7862 §15.2). The server may copy less.
pub(crate) async fn copy(client: &Client, transfer: Transfer) -> Result<Copied> {
    match copy_once(client, transfer, true).await? {
        Begun::Over(copied) => Ok(copied),
        // Dropping the copy cancels it.
        Begun::GoesOn(_) => Err(client.error("COPY", Reason::Lie(Lie::UnwantedBackground))),
    }
}

/// Starts a copy that may outlive its reply. If the caller is dropped, the copy is cancelled.
pub(crate) async fn begin_copy(client: &Client, transfer: Transfer) -> Result<Begun> {
    let own = client.clone();
    client.connection().to_the_end("COPY", async move { copy_once(&own, transfer, false).await }).await
}

async fn copy_once(client: &Client, transfer: Transfer, synchronous: bool) -> Result<Begun> {
    let _under_way = client.0.offloads.begin();
    Ok(match calls::copy(client, transfer, synchronous).await? {
        CopyReply::Over(copied) => Begun::Over(copied),
        CopyReply::GoesOn(began) => Begun::GoesOn(Offload::new(client, transfer.destination, began, transfer.count)),
    })
}
