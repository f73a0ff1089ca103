//! CB_NOTIFY_LOCK (RFC 8881 §20.11): tells a client that a refused lock may be available now.

use std::time::Duration;

use proto::nfs4::{CallbackArgOp, CallbackResOp, CbNotifyLockArgs, ClientId, FileHandle, StateOwner};
use state::LockNotice;

use super::CallbackFailure;
use crate::exports::ExportTable;
use crate::server::Server;

impl Server {
    /// Notifies a client once; if the call is lost, the client still polls by itself (RFC 8881 §18.10.4).
    pub(crate) fn notify_lock(&self, notice: &LockNotice, now: Duration) {
        let exports = self.exports.load();
        let Some(exported) = exports.showing(&notice.file) else { return };
        let handle = ExportTable::wire_handle(exported, &notice.file.node);
        let Some(file) = FileHandle::new(handle.as_bytes()) else { return };
        let owner = StateOwner { client: ClientId(notice.client.0), owner: &notice.owner };
        let operation = CallbackArgOp::CbNotifyLock(CbNotifyLockArgs { file, owner });
        let client = notice.client;
        let on_reply = move |_: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, _: Duration| {
            tracing::debug!(?client, ?result, "a client was told of a lock");
        };
        if let Err(error) = self.call_back(client, operation, now, Box::new(on_reply)) {
            tracing::debug!(?client, %error, "a client cannot be told of a lock");
        }
    }
}
