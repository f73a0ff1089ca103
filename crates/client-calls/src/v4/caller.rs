use std::future::Future;

use super::reply::Reply;
use super::request::Request;
use super::resolve_owners::resolve_owners;
use super::wire::Wire;
use crate::Result;

/// Sends COMPOUNDs: bare, or in a session that it recovers. Operations do not know which.
pub trait Caller: Sync {
    /// Sends a request and waits for its reply.
    fn call(&self, request: &Request<'_>) -> impl Future<Output = Result<Reply>> + Send;

    /// The most data of a READ and of a WRITE that a call has room for, in bytes.
    fn most_data(&self) -> (u32, u32);
}

impl Caller for Wire<'_> {
    async fn call(&self, request: &Request<'_>) -> Result<Reply> {
        let reply = self.send(request, None, None).await?;
        resolve_owners(request, &reply).await;
        Ok(reply)
    }

    fn most_data(&self) -> (u32, u32) {
        (Self::MAX_DATA_BYTES, Self::MAX_DATA_BYTES)
    }
}
