use std::sync::Arc;

use client_calls::v4::{Request, putfh};
use proto::nfs4::{ArgOp, Close, CloseArgs, Putfh, Res, Stateid};

use super::client::Client;
use super::locku::unlock_all;
use super::open_file::OpenFile;
use super::owner::Owner;
use super::session::Session;
use super::verdicts::is_about_state;
use crate::{Handle, Result};

/// Closes a file (RFC 7530 §16.2, RFC 8881 §18.2). It releases the locks first, which some servers require.
pub(super) async fn close(file: &OpenFile) -> Result<()> {
    let _order = file.order.lock().await;
    let unlocked = unlock_all(file).await;
    let Some((owner, stateid)) = file.take_owner() else { return Ok(()) };
    close_stateid(&file.client, &file.handle, owner, stateid).await.and(unlocked)
}

/// Closes a file that was reopened while somebody closed it, in the session of the reopen.
pub(super) async fn close_in(session: &Arc<Session>, file: &OpenFile, owner: Owner, stateid: Stateid) -> Result<()> {
    let mut owner = owner;
    close_other(session, &file.client, &file.handle, stateid, &mut owner).await
}

/// Closes an open that is not wanted, and keeps its owner.
pub(super) async fn close_other(
    session: &Arc<Session>,
    client: &Client,
    handle: &Handle,
    stateid: Stateid,
    owner: &mut Owner,
) -> Result<()> {
    let operations = [putfh(handle), ArgOp::Close(CloseArgs { seqid: owner.open_seqid, open_stateid: stateid })];
    let reply = client.call_in(session, &Request::changing("CLOSE", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let result = results.next::<Close>()?;
    let is_used = matches!(result, Res::Ok(_)) || matches!(result, Res::Fail(status) if status.uses_seqid());
    owner.open_seqid = owner.open_seqid.wrapping_add(u32::from(is_used));
    Ok(())
}

/// Closes an open, and retries while the server puts that off. An open that the server does not know is closed already.
pub(super) async fn close_stateid(client: &Client, handle: &Handle, mut owner: Owner, stateid: Stateid) -> Result<()> {
    let mut patience = client.patience();
    loop {
        match close_once(client, handle, &mut owner, stateid).await {
            Err(error) if patience.allows(&error) => patience.wait().await,
            // An owner that the server does not know is dropped with the stateid.
            Err(error) if is_about_state(&error) => return Ok(()),
            Err(error) => return Err(error),
            Ok(()) => break,
        }
    }
    client.0.opens.give_back(owner);
    Ok(())
}

async fn close_once(client: &Client, handle: &Handle, owner: &mut Owner, stateid: Stateid) -> Result<()> {
    let arguments = CloseArgs { seqid: owner.open_seqid, open_stateid: stateid };
    let operations = [putfh(handle), ArgOp::Close(arguments)];
    let reply = client.call(&Request::changing("CLOSE", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    match results.next::<Close>()? {
        Res::Ok(_) => {
            owner.open_seqid = owner.open_seqid.wrapping_add(1);
            Ok(())
        }
        Res::Fail(status) => {
            owner.open_seqid = owner.open_seqid.wrapping_add(u32::from(status.uses_seqid()));
            Err(reply.refusal(status))
        }
    }
}

impl OpenFile {
    /// Closes the file. A closed file stays closed.
    pub(crate) async fn close(self: &Arc<OpenFile>) -> Result<()> {
        let file = Arc::clone(self);
        self.client.connection().to_the_end("CLOSE", async move { close(&file).await }).await
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let Some((owner, stateid)) = self.take_owner() else { return };
        let (client, handle) = (self.client.clone(), self.handle);
        let closing = self.client.0.opens.begin_close();
        self.client.connection().spawn(async move {
            let _closing = closing;
            if let Err(error) = close_stateid(&client, &handle, owner, stateid).await {
                tracing::debug!(%error, "a file that was dropped may stay open at the server");
            }
        });
    }
}
